/** Routes of queues: configure, delete, list, detail, depth, sizes. Declarations only. */
import { Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, ErrorDto, LOG_CODES } from '../docs-api/index.js';
import { sendJson, sendJsonBytes } from '../http/answers.js';
import { jsonObjectBody } from '../http/json-body.js';
import type { QueryValues } from '../http/query.js';
import { textOrUndefined } from '../http/query.js';
import { Tenancy } from '../tenancy/tenant.js';
import { parseQueueFilter } from './queue-filter.js';
import {
  CONFIGURE_ANSWERS,
  CONFIGURE_EXAMPLES,
  ConfiguredDto,
  ConfigureRequestDto,
  DELETE_ANSWERS,
  DeletedQueueDto,
} from './configure.dto.js';
import {
  DEPTH_ANSWERS,
  DETAIL_ANSWERS,
  LIST_ANSWERS,
  NOT_FOUND as NOT_FOUND_ANSWERS,
  SIZES_ANSWERS,
} from './queue-read-examples.js';
import {
  QueueDepthDto,
  QueueDetailDto,
  QueueLanesDto,
  QueueListDto,
  QueueListQueryDto,
  QueueNotFoundDto,
  QueueSizesDto,
} from './queue-reads.dto.js';
import { QueueReadsService } from './queue-reads.service.js';
import { ModeRefusal, QueuesService } from './queues.service.js';

const NOT_FOUND = { error: 'Queue not found' };

const MODE_REFUSAL = { error: 'mode must be "merge" or "replace", got "patch"' };
const NAME = { type: 'string', minLength: 1 };
const QUEUE_PARAM = {
  ...{ name: 'queue', description: 'Name of the queue.', example: 'orders' },
  schema: NAME,
};
const ABSENT = { status: 404, type: QueueNotFoundDto, examples: NOT_FOUND_ANSWERS };

@ApiTags('queues')
@ApiTenant()
@Controller('api/v1')
export class QueuesController {
  constructor(
    private readonly queues: QueuesService,
    private readonly reads: QueueReadsService,
    private readonly tenancy: Tenancy,
  ) {}

  @Post('configure')
  @HttpCode(200)
  @Access('read-write')
  @ApiOperation({
    summary: 'Create a queue or change its options',
    description: 'Changes hold for future pushes and pops; live leases keep their expiry.',
  })
  @ApiBody({ type: ConfigureRequestDto, examples: CONFIGURE_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'The options now in force.',
    type: ConfiguredDto,
    examples: CONFIGURE_ANSWERS,
  })
  @ApiRefusals({
    codes: ['bad_body', 'bad_request', 'name_too_long', ...LOG_CODES],
    readsBody: true,
    shapes: [{ status: 400, type: ErrorDto, examples: { 'unknown mode': MODE_REFUSAL } }],
  })
  async configure(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    try {
      sendJson(
        reply,
        200,
        await this.queues.configure(this.tenancy.of(request), jsonObjectBody(request)),
      );
    } catch (error) {
      if (!(error instanceof ModeRefusal)) throw error;
      sendJson(reply, 400, { error: error.message });
    }
  }

  @Delete('resources/queues/:queue')
  @Access('admin')
  @ApiOperation({
    summary: 'Delete a queue with everything in it',
    description: 'A later push creates it anew, empty. Parked pops are answered empty.',
  })
  @ApiParam(QUEUE_PARAM)
  @ApiAnswer({
    status: 200,
    description: 'Whether there was one.',
    type: DeletedQueueDto,
    examples: DELETE_ANSWERS,
  })
  @ApiRefusals({ codes: ['name_too_long', ...LOG_CODES] })
  remove(@Req() request: FastifyRequest, @Param('queue') queue: string): Promise<unknown> {
    return this.queues.remove(this.tenancy.of(request), queue);
  }

  @Get('resources/queues')
  @Access('read-only')
  @ApiOperation({ summary: 'List the queues, newest first' })
  @ApiQuery({ type: QueueListQueryDto })
  @ApiAnswer({
    status: 200,
    description: 'The queues of the tenant that match.',
    type: { oneOf: [QueueListDto, QueueLanesDto] },
    examples: LIST_ANSWERS,
  })
  @ApiRefusals({ codes: LOG_CODES })
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    const query = request.query as QueryValues;
    const filter = parseQueueFilter(query);
    const lanes = query['stats'] === 'lanes';
    sendFound(
      reply,
      lanes ? await this.reads.lanes(tenant, filter) : await this.reads.list(tenant, filter),
    );
  }

  @Get('resources/queues/:queue')
  @Access('read-only')
  @ApiOperation({ summary: 'One queue with its partitions' })
  @ApiParam(QUEUE_PARAM)
  @ApiAnswer({
    status: 200,
    description: 'Options, partitions by name, totals.',
    type: QueueDetailDto,
    examples: DETAIL_ANSWERS,
  })
  @ApiRefusals({ codes: LOG_CODES, shapes: [ABSENT] })
  async detail(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('queue') queue: string,
  ): Promise<void> {
    sendFound(reply, await this.reads.detail(this.tenancy.of(request), queue));
  }

  @Get('resources/queues/:queue/depth')
  @Access('read-only')
  @ApiOperation({
    summary: 'How much is waiting',
    description: 'For one group, or per partition for the slowest named group.',
  })
  @ApiParam(QUEUE_PARAM)
  @ApiQuery({
    name: 'group',
    required: false,
    description: 'Consumer group; absent or empty: the worst named group.',
    schema: { type: 'string' },
  })
  @ApiAnswer({
    status: 200,
    description: 'Sums and rows by partition name.',
    type: QueueDepthDto,
    examples: DEPTH_ANSWERS,
  })
  @ApiRefusals({ codes: LOG_CODES, shapes: [ABSENT] })
  async depth(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { queue } = request.params as { queue: string };
    const group = textOrUndefined(request.query as QueryValues, 'group');
    sendFound(reply, await this.reads.depth(this.tenancy.of(request), queue, group));
  }

  @Get('resources/queues/:queue/sizes')
  @Access('read-only')
  @ApiOperation({ summary: 'Retained bytes of each partition' })
  @ApiParam(QUEUE_PARAM)
  @ApiAnswer({
    status: 200,
    description: 'Bytes by partition name.',
    type: QueueSizesDto,
    examples: SIZES_ANSWERS,
  })
  @ApiRefusals({ codes: LOG_CODES, shapes: [ABSENT] })
  async sizes(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('queue') queue: string,
  ): Promise<void> {
    sendFound(reply, await this.reads.sizes(this.tenancy.of(request), queue));
  }
}

function sendFound(reply: FastifyReply, body: Uint8Array | null): void {
  if (body === null) sendJson(reply, 404, NOT_FOUND);
  else sendJsonBytes(reply, 200, body);
}
