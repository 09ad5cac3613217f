/** Reads of consumer groups: list, lagging, positions, detail. Declarations only. */
import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import {
  ApiBody,
  ApiExtraModels,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiResponse,
  ApiTags,
  getSchemaPath,
} from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, LOG_CODES } from '../docs-api/index.js';
import { sendJson, sendJsonBytes } from '../http/answers.js';
import { jsonObjectBody } from '../http/json-body.js';
import type { QueryValues } from '../http/query.js';
import { lenientInteger } from '../http/query.js';
import { Tenancy } from '../tenancy/tenant.js';
import {
  ConsumerGroupRowDto,
  GroupNotFoundDto,
  GroupOnQueueDto,
  LaggingRowDto,
  PositionsDto,
  PositionsRequestDto,
} from './consumer-groups.dto.js';
import {
  DETAIL_ANSWERS,
  LAGGING_ANSWERS,
  LIST_ANSWERS,
  NOT_FOUND_ANSWERS,
  POSITIONS_ANSWERS,
  POSITIONS_EXAMPLES,
} from './examples.js';
import { GroupLagService } from './group-lag.service.js';
import { PositionsService } from './positions.service.js';

const NOT_FOUND = { error: 'Consumer group not found' };
/** The lagging lanes are a bare array, which has no place to say it. */
const TRUNCATED_HEADER = 'x-queen-truncated';
const LAG_RULE = { fallback: 3600, min: 0, max: Number.MAX_SAFE_INTEGER };

@ApiTags('consume')
@ApiTenant()
@Controller('api/v1/consumer-groups')
export class ConsumerGroupsController {
  constructor(
    private readonly lag: GroupLagService,
    private readonly positions: PositionsService,
    private readonly tenancy: Tenancy,
  ) {}

  @Get()
  @Access('read-only')
  @ApiOperation({ summary: 'List the consumer groups with their lag' })
  @ApiAnswer({
    status: 200,
    description: 'A row per group and queue that has a cursor, by group, then queue.',
    type: [ConsumerGroupRowDto],
    examples: LIST_ANSWERS,
  })
  @ApiRefusals({ codes: LOG_CODES })
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    sendJsonBytes(reply, 200, await this.lag.list(this.tenancy.of(request)));
  }

  @Get('lagging')
  @Access('read-only')
  @ApiOperation({ summary: 'Lanes that a group reads too slowly, worst first' })
  @ApiQuery({
    name: 'minLagSeconds',
    required: false,
    description: 'Only lanes further behind than this.',
    schema: { type: 'integer', default: 3600, minimum: 0 },
  })
  @ApiAnswer({
    status: 200,
    description: 'A row per lane and group, queue mode included.',
    type: [LaggingRowDto],
    examples: LAGGING_ANSWERS,
    headers: {
      [TRUNCATED_HEADER]:
        '`true` when more lanes than `QUEEN_DASH_SIZES_MAX` are behind: those listed are not all.',
    },
  })
  @ApiRefusals({ codes: LOG_CODES })
  async lagging(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const seconds = lenientInteger(request.query as QueryValues, 'minLagSeconds', LAG_RULE);
    const { bytes, isTruncated } = await this.lag.lagging(this.tenancy.of(request), seconds);
    if (isTruncated) void reply.header(TRUNCATED_HEADER, 'true');
    sendJsonBytes(reply, 200, bytes);
  }

  @Post('positions')
  @HttpCode(200)
  @Access('read-only')
  @ApiOperation({
    summary: 'Where a group reads on',
    description: 'For raw readers; in the order of the entries.',
  })
  @ApiBody({ type: PositionsRequestDto, examples: POSITIONS_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'A position per entry.',
    type: PositionsDto,
    examples: POSITIONS_ANSWERS,
  })
  @ApiRefusals({ codes: ['bad_body', 'bad_request', ...LOG_CODES], readsBody: true })
  async readPositions(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    sendJsonBytes(reply, 200, await this.positions.read(tenant, jsonObjectBody(request)));
  }

  @Get(':group')
  @Access('read-only')
  @ApiOperation({ summary: 'One consumer group, lane by lane' })
  @ApiParam({ name: 'group', schema: { type: 'string' }, example: 'billing' })
  @ApiExtraModels(GroupOnQueueDto)
  @ApiResponse({
    status: 200,
    description: 'Lanes by queue.',
    content: {
      'application/json': {
        schema: {
          type: 'object',
          additionalProperties: { $ref: getSchemaPath(GroupOnQueueDto) },
        },
        examples: { 'one queue': { value: DETAIL_ANSWERS['one queue'] } },
      },
    },
  })
  @ApiRefusals({
    codes: LOG_CODES,
    shapes: [{ status: 404, type: GroupNotFoundDto, examples: NOT_FOUND_ANSWERS }],
  })
  async detail(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('group') group: string,
  ): Promise<void> {
    const detail = await this.lag.detail(this.tenancy.of(request), group);
    if (detail === null) sendJson(reply, 404, NOT_FOUND);
    else sendJsonBytes(reply, 200, detail);
  }
}
