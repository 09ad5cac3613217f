/** Routes of traces. Declarations only. */
import { Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, LOG_CODES } from '../docs-api/index.js';
import { sendJson } from '../http/answers.js';
import { jsonObjectBody } from '../http/json-body.js';
import type { QueryValues } from '../http/query.js';
import { Tenancy } from '../tenancy/tenant.js';
import * as dto from './traces.dto.js';
import { TraceKeyTooLong } from './trace-body.js';
import type { TracePath, Written } from './traces.service.js';
import { TracesService } from './traces.service.js';

const NAME = { type: 'string', minLength: 1 };
const LISTED = {
  status: 200,
  description: 'One page, newest first; nothing known is an empty one.',
  type: dto.TraceListDto,
  examples: dto.LIST,
} as const;

@ApiTags('traces')
@ApiTenant()
@Controller('api/v1/traces')
export class TracesController {
  constructor(
    private readonly traces: TracesService,
    private readonly tenancy: Tenancy,
  ) {}

  @Post()
  @HttpCode(201)
  @RouteConfig({ growing: true })
  @Access('read-write')
  @ApiOperation({ summary: 'Note what happened to a message' })
  @ApiBody({ type: dto.TraceRequestDto, examples: dto.TRACE_EXAMPLES })
  @ApiAnswer({
    status: 201,
    description: 'Kept for `QUEEN_RAFT_TRACE_RETENTION_S`.',
    type: dto.TraceWrittenDto,
    examples: dto.WRITTEN,
  })
  @ApiRefusals({
    codes: ['bad_body', 'bad_request', 'overloaded', 'storage_full', ...LOG_CODES],
    readsBody: true,
    shapes: [
      {
        status: 400,
        type: dto.TraceRefusalDto,
        examples: { 'no transactionId': dto.NO_TRANSACTION_ID },
      },
      { status: 404, type: dto.TraceRefusalDto, examples: { 'no partition': dto.NO_PARTITION } },
    ],
  })
  async write(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    try {
      const body = jsonObjectBody(request);
      answer(reply, await this.traces.write(this.tenancy.of(request), body));
    } catch (error) {
      if (!(error instanceof TraceKeyTooLong)) throw error;
      sendJson(reply, 400, { error: error.message, code: 'name_too_long' });
    }
  }

  @Get('names')
  @Access('read-only')
  @ApiOperation({ summary: 'Names of traces' })
  @ApiQuery({ type: dto.TracePageQueryDto })
  @ApiAnswer({
    status: 200,
    description: 'One page, by name.',
    type: dto.TraceNamesDto,
    examples: dto.NAMES_LIST,
  })
  @ApiRefusals({ codes: LOG_CODES })
  async names(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = request.query as QueryValues;
    sendJson(reply, 200, await this.traces.names(this.tenancy.of(request), query));
  }

  @Get('by-name/:name')
  @Access('read-only')
  @ApiOperation({ summary: 'Traces of a name' })
  @ApiParam({ name: 'name', schema: NAME })
  @ApiQuery({ type: dto.TracePageQueryDto })
  @ApiAnswer(LISTED)
  @ApiRefusals({ codes: LOG_CODES })
  async byName(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { name } = request.params as { name: string };
    const query = request.query as QueryValues;
    sendJson(reply, 200, await this.traces.byName(this.tenancy.of(request), name, query));
  }

  @Get(':partitionId/:transactionId')
  @Access('read-only')
  @ApiOperation({ summary: 'Traces of a message' })
  @ApiParam({ name: 'partitionId', description: 'UUID or decimal number.', schema: NAME })
  @ApiParam({ name: 'transactionId', schema: NAME })
  @ApiQuery({ type: dto.TracePageQueryDto })
  @ApiAnswer(LISTED)
  @ApiRefusals({ codes: LOG_CODES })
  async byMessage(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const path = request.params as TracePath;
    const query = request.query as QueryValues;
    sendJson(reply, 200, await this.traces.byMessage(this.tenancy.of(request), path, query));
  }
}

function answer(reply: FastifyReply, written: Written): void {
  if ('traceId' in written) sendJson(reply, 201, { success: true, ...written });
  else if (written.refusal === 'no_partition') sendJson(reply, 404, dto.NO_PARTITION);
  else sendJson(reply, 400, dto.NO_TRANSACTION_ID);
}
