/** Routes of consumption: the three pops, ack, batch ack, lease extend. Declarations only. */
import { Controller, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import {
  ApiAnswer,
  ApiEmptyAnswer,
  ApiRefusals,
  ApiTenant,
  LOG_CODES,
  UUID_TEXT,
} from '../docs-api/index.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { Tenancy } from '../tenancy/tenant.js';
import { ACK_ANSWERS, AckVerdictDto, ApiAckBody } from './ack.dto.js';
import { AckService } from './ack.service.js';
import {
  EXTEND_ANSWERS,
  EXTEND_EXAMPLES,
  ExtendedLeaseDto,
  ExtendRequestDto,
} from './lease.dto.js';
import { LeaseService } from './lease.service.js';
import { DiscoveryPopQueryDto, PartitionPopQueryDto, QueuePopQueryDto } from './pop-query.dto.js';
import {
  DISCOVERY_ANSWERS,
  DISCOVERY_REFUSALS,
  POP_ANSWERS,
  POP_REFUSALS,
  PopDto,
  PopRefusalDto,
} from './pop.dto.js';
import { PopService } from './pop.service.js';

const NAME = { type: 'string', minLength: 1 };
const QUEUE_PARAM = {
  ...{ name: 'queue', description: 'Name of the queue.', example: 'orders' },
  schema: NAME,
};
const PARTITION_PARAM = {
  ...{ name: 'partition', description: 'Its lane.', example: 'customer-9' },
  schema: NAME,
};
const QUERY_TEXT = 'Failed to deserialize query string: batch: expected i32';
const NOTHING = 'Nothing to deliver within the timeout.';
const DELIVERED = {
  status: 200,
  description: 'Messages by claim; empty only for a conflating group.',
  type: PopDto,
  examples: POP_ANSWERS,
};
const POP_CODES = ['bad_request', 'name_too_long', ...LOG_CODES] as const;
const pop400 = (examples: object) => [
  { status: 400, type: PopRefusalDto, examples: { ...examples } },
];
const ACKNOWLEDGED = {
  status: 200,
  description: 'A verdict per item, in order; the call succeeds even when every item failed.',
  type: [AckVerdictDto],
  examples: ACK_ANSWERS,
} as const;
const ACK_REFUSALS = {
  codes: ['bad_body', 'name_too_long', ...LOG_CODES, 'outcome_unknown'],
  readsBody: true,
} as const;

@ApiTags('consume')
@ApiTenant()
@Controller('api/v1')
export class LeasesController {
  constructor(
    private readonly pops: PopService,
    private readonly acks: AckService,
    private readonly leases: LeaseService,
    private readonly tenancy: Tenancy,
  ) {}

  @Get('pop/queue/:queue')
  @Access('read-write')
  @ApiOperation({
    summary: 'Take messages from any partition of a queue',
    description: 'Creates a missing queue and registers the group, then delivers in arrival order.',
  })
  @ApiParam(QUEUE_PARAM)
  @ApiQuery({ type: QueuePopQueryDto })
  @ApiAnswer(DELIVERED)
  @ApiEmptyAnswer(NOTHING)
  @ApiRefusals({ codes: POP_CODES, texts: { 400: QUERY_TEXT }, shapes: pop400(POP_REFUSALS) })
  popQueue(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('queue') queue: string,
  ): Promise<void> {
    return this.pops.serve({ scope: 'queue', queue, partition: '' }, request, reply);
  }

  @Get('pop/queue/:queue/partition/:partition')
  @Access('read-write')
  @ApiOperation({
    summary: 'Take messages from one partition',
    description: 'Never creates; a missing partition is empty, or waited for with `wait`.',
  })
  @ApiParam(QUEUE_PARAM)
  @ApiParam(PARTITION_PARAM)
  @ApiQuery({ type: PartitionPopQueryDto })
  @ApiAnswer(DELIVERED)
  @ApiEmptyAnswer(NOTHING)
  @ApiRefusals({ codes: POP_CODES, texts: { 400: QUERY_TEXT }, shapes: pop400(POP_REFUSALS) })
  popPartition(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { queue, partition } = request.params as { queue: string; partition: string };
    return this.pops.serve({ scope: 'partition', queue, partition }, request, reply);
  }

  @Get('pop')
  @Access('read-write')
  @ApiOperation({
    summary: 'Take messages from every queue with a label',
    description: 'Queues are walked one after another and share the budget. Never creates a queue.',
  })
  @ApiQuery({ type: DiscoveryPopQueryDto })
  @ApiAnswer({ ...DELIVERED, examples: DISCOVERY_ANSWERS })
  @ApiEmptyAnswer(NOTHING)
  @ApiRefusals({ codes: POP_CODES, texts: { 400: QUERY_TEXT }, shapes: pop400(DISCOVERY_REFUSALS) })
  popDiscovery(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.pops.serve({ scope: 'discovery', queue: '', partition: '' }, request, reply);
  }

  @Post('ack')
  @HttpCode(200)
  @Access('read-write')
  @ApiOperation({
    summary: 'Acknowledge one message or a batch',
    description:
      'Both ack routes take both forms. An ack completes everything below it in the batch.',
  })
  @ApiAckBody()
  @ApiAnswer(ACKNOWLEDGED)
  @ApiRefusals(ACK_REFUSALS)
  ack(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.acks.serve(request, reply);
  }

  @Post('ack/batch')
  @HttpCode(200)
  @Access('read-write')
  @ApiOperation({
    summary: 'Acknowledge a batch or one message',
    description: 'The same call as `/ack`, under the name clients use for batches.',
  })
  @ApiAckBody()
  @ApiAnswer(ACKNOWLEDGED)
  @ApiRefusals(ACK_REFUSALS)
  ackBatch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.acks.serve(request, reply);
  }

  @Post('lease/:leaseId/extend')
  @HttpCode(200)
  @Access('read-write')
  @ApiOperation({
    summary: 'Keep a lease longer',
    description:
      'Every live lease of the id, that is every lane of the pop. The body may be empty.',
  })
  @ApiParam({
    name: 'leaseId',
    description: 'Of a pop.',
    schema: UUID_TEXT,
    example: '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff',
  })
  @ApiBody({ type: ExtendRequestDto, required: false, examples: EXTEND_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'What was extended; nothing when the lease is unknown or over.',
    type: ExtendedLeaseDto,
    examples: EXTEND_ANSWERS,
  })
  @ApiRefusals({ codes: LOG_CODES, readsBody: true })
  extend(@Req() request: FastifyRequest, @Param('leaseId') leaseId: string): Promise<unknown> {
    return this.leases.extend(this.tenancy.of(request), leaseId, bodyBytes(request));
  }
}
