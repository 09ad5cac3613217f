/** Routes of ephemeral queues. Declarations only. */
import { Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, LOG_CODES } from '../docs-api/index.js';
import { EphemeralAckService } from './ephemeral-ack.service.js';
import * as dto from './ephemeral.dto.js';
import { EphemeralPopService } from './ephemeral-pop.service.js';
import { EphemeralPushService } from './ephemeral-push.service.js';
import { EphemeralQueuesService } from './ephemeral-queues.service.js';
import * as examples from './examples.js';

const QUEUE_PARAM = {
  ...{ name: 'queue', description: 'Name of the ephemeral queue.', example: 'presence' },
  schema: { type: 'string', minLength: 1 },
};
const GATE_CODES = ['ephemeral_bad_request', 'feature_gated', 'ephemeral_disabled'] as const;
const RELAY_CODES = ['owner_moved', 'ephemeral_forward_failed'] as const;

@ApiTags('ephemeral')
@ApiTenant()
@Controller('api/v1/ephemeral')
export class EphemeralController {
  constructor(
    private readonly pushes: EphemeralPushService,
    private readonly pops: EphemeralPopService,
    private readonly acks: EphemeralAckService,
    private readonly queues: EphemeralQueuesService,
  ) {}

  @Post('push')
  @HttpCode(201)
  @RouteConfig({ growing: true })
  @Access('write-only')
  @ApiOperation({
    summary: 'Write messages that live in memory only',
    description: 'One queue and partition per call; all messages are taken or none.',
  })
  @ApiBody({ type: dto.EphemeralPushDto, examples: examples.PUSH_EXAMPLES })
  @ApiAnswer({
    ...{ status: 201, description: 'How many were taken.', type: dto.EphemeralPushedDto },
    examples: examples.PUSH_ANSWERS,
  })
  @ApiRefusals({
    codes: [
      ...GATE_CODES,
      ...RELAY_CODES,
      ...(['queue_full', 'rate_limited', 'overloaded'] as const),
      ...(['ephemeral_quota_exceeded', 'ephemeral_unavailable'] as const),
    ],
    readsBody: true,
  })
  push(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.pushes.serve(request, reply);
  }

  @Get('pop')
  @Access('read-write')
  @ApiOperation({
    summary: 'Take messages',
    description:
      'Creates the queue, the named partition and the group. Always 200, also when empty.',
  })
  @ApiQuery({ type: dto.EphemeralPopQueryDto })
  @ApiAnswer({
    ...{ status: 200, description: 'What there was.', type: dto.EphemeralPoppedDto },
    examples: examples.POP_ANSWERS,
  })
  @ApiRefusals({ codes: [...GATE_CODES, ...RELAY_CODES] })
  pop(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.pops.serve(request, reply);
  }

  @Post('ack')
  @HttpCode(200)
  @Access('read-write')
  @ApiOperation({ summary: 'Acknowledge messages', description: 'With the group of the pop.' })
  @ApiBody({ type: dto.EphemeralAckDto, examples: examples.ACK_EXAMPLES })
  @ApiAnswer({
    ...{ status: 200, description: 'An outcome per ack, in order.', type: dto.EphemeralAckedDto },
    examples: examples.ACK_ANSWERS,
  })
  @ApiRefusals({ codes: [...GATE_CODES, ...RELAY_CODES], readsBody: true })
  ack(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.acks.serve(request, reply);
  }

  @Post('configure')
  @HttpCode(201)
  @Access('read-write')
  @ApiOperation({
    summary: 'Declare a queue, or replace its options',
    description: 'The declaration is replicated and survives restarts; the contents do not.',
  })
  @ApiBody({ type: dto.EphemeralConfigureDto, examples: examples.CONFIGURE_EXAMPLES })
  @ApiAnswer({
    ...{ status: 201, description: 'The declaration.', type: dto.EphemeralConfiguredDto },
    examples: examples.CONFIGURE_ANSWERS,
  })
  @ApiRefusals({ codes: [...GATE_CODES, ...LOG_CODES], readsBody: true })
  configure(@Req() request: FastifyRequest): Promise<unknown> {
    return this.queues.configure(request);
  }

  @Post('reset')
  @HttpCode(200)
  @Access('read-write')
  @ApiOperation({
    summary: 'Drop all messages of a queue',
    description: 'Leases are void and every group stands at the tail; other nodes follow at once.',
  })
  @ApiBody({ type: dto.EphemeralResetDto, examples: examples.RESET_EXAMPLES })
  @ApiAnswer({
    ...{ status: 200, description: 'What the asked node dropped.' },
    ...{ type: dto.EphemeralResetDoneDto, examples: examples.RESET_ANSWERS },
  })
  @ApiRefusals({ codes: GATE_CODES, readsBody: true })
  reset(@Req() request: FastifyRequest): Promise<unknown> {
    return this.queues.reset(request);
  }

  @Delete('queue/:queue')
  @Access('read-write')
  @ApiOperation({ summary: 'Remove a queue: its declaration and its contents on every node' })
  @ApiParam(QUEUE_PARAM)
  @ApiAnswer({
    ...{ status: 200, description: 'Never 404.', type: dto.EphemeralDeletedDto },
    examples: examples.DELETE_ANSWERS,
  })
  @ApiRefusals({ codes: [...GATE_CODES, ...LOG_CODES] })
  remove(@Req() request: FastifyRequest, @Param('queue') queue: string): Promise<unknown> {
    return this.queues.remove(request, queue);
  }

  @Get('queues')
  @Access('read-only')
  @ApiOperation({ summary: 'List ephemeral queues: declared ones, and what the asked node holds' })
  @ApiAnswer({
    ...{ status: 200, description: 'By name.', type: dto.EphemeralQueueListDto },
    examples: examples.LIST_ANSWERS,
  })
  @ApiRefusals({ codes: GATE_CODES })
  list(@Req() request: FastifyRequest): Promise<unknown> {
    return this.queues.list(request);
  }

  @Get('queues/:queue/depth')
  @Access('read-only')
  @ApiOperation({ summary: 'Depth of a queue by partition and group, on the asked node' })
  @ApiParam(QUEUE_PARAM)
  @ApiQuery({ name: 'group', required: false, schema: { type: 'string' } })
  @ApiAnswer({
    ...{ status: 200, description: 'The share of the asked node.', type: dto.EphemeralDepthDto },
    examples: examples.DEPTH_ANSWERS,
  })
  @ApiRefusals({ codes: [...GATE_CODES, 'ephemeral_queue_not_found'] })
  depth(@Req() request: FastifyRequest, @Param('queue') queue: string): Promise<unknown> {
    return this.queues.depth(request, queue);
  }
}
