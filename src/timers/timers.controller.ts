/** Routes of the timer plane. Declarations only. Keys may contain slashes: they are the path's rest. */
import { Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, stateShapes } from '../docs-api/index.js';
import { sendJson } from '../http/answers.js';
import type { QueryValues } from '../http/query.js';
import * as examples from './examples.js';
import { operationsOf } from './timer-body.js';
import { badRequest } from './timer-operations.js';
import { TimerReadsService } from './timer-reads.service.js';
import {
  MissingTimerDto,
  PeekedTimerDto,
  TimerCountDto,
  TimerPageDto,
  TimerResultDto,
  TimerResultsDto,
  TimersRequestDto,
} from './timers.dto.js';
import { TimersService } from './timers.service.js';

const NAME = { type: 'string', minLength: 1 };
const QUEUE = { name: 'queue', schema: NAME, example: 'orders' };
const KEY = { name: 'timerKey', schema: NAME, example: 'order-1/reminder' };
const CALL_REFUSALS = {
  codes: ['name_too_long', 'overloaded', 'storage_full'],
  readsBody: true,
  shapes: stateShapes(examples.CALL_REFUSALS),
} as const;

@ApiTags('timers')
@ApiTenant()
@Controller('api/v1/timers')
export class TimersController {
  constructor(
    private readonly timers: TimersService,
    private readonly reads: TimerReadsService,
  ) {}

  @Post()
  @HttpCode(200)
  @RouteConfig({ growing: true })
  @Access('write-only')
  @ApiOperation({
    summary: 'Schedule, reschedule and cancel timers',
    description:
      'A due timer becomes a message of its queue. All operations of a call take effect together; ' +
      'the status says nothing about single ones.',
  })
  @ApiBody({ type: TimersRequestDto, examples: examples.CALLS })
  @ApiAnswer({
    status: 200,
    description: 'What became of each operation.',
    type: TimerResultsDto,
    examples: examples.RESULTS,
  })
  @ApiRefusals(CALL_REFUSALS)
  async call(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const results = await this.timers.batch(request, reply, operationsOf(request));
    sendJson(reply, 200, { results });
  }

  @Delete(':queue/*')
  @Access('read-write')
  @ApiOperation({
    summary: 'Cancel a timer',
    description:
      'Works under every switch, quota and rate. Nothing to cancel is an answer, not an error.',
  })
  @ApiParam(QUEUE)
  @ApiParam(KEY)
  @ApiQuery({ name: 'txn', required: false, schema: { type: 'string' } })
  @ApiAnswer({
    status: 200,
    description: 'What was there.',
    type: TimerResultDto,
    examples: examples.CANCELLED,
  })
  @ApiRefusals({ codes: ['name_too_long'], shapes: stateShapes(examples.KEY_REFUSALS) })
  async cancel(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('queue') queue: string,
  ): Promise<void> {
    const txn = (request.query as QueryValues)['txn'] ?? null;
    const timer = { queue, timerKey: pathKey(request), txn };
    sendJson(reply, 200, await this.timers.cancel(request, timer));
  }

  @Get(':queue')
  @Access('read-only')
  @ApiOperation({ summary: 'List or count the timers of a queue, in key order' })
  @ApiParam(QUEUE)
  @ApiQuery({ name: 'mode', required: false, schema: { type: 'string', enum: ['list', 'count'] } })
  @ApiQuery({ name: 'after', required: false, schema: { type: 'string' } })
  @ApiQuery({ name: 'limit', required: false, schema: { type: 'string' }, example: '100' })
  @ApiQuery({ name: 'prefix', required: false, schema: { type: 'string' } })
  @ApiAnswer({
    status: 200,
    description: 'One page; with `mode=count` how many start with the prefix.',
    type: { oneOf: [TimerPageDto, TimerCountDto] },
    examples: examples.READS,
  })
  @ApiRefusals({ codes: [], shapes: stateShapes(examples.READ_REFUSALS) })
  async read(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('queue') queue: string,
  ): Promise<void> {
    sendJson(reply, 200, await this.reads.read(request, queue));
  }

  @Get(':queue/*')
  @Access('read-only')
  @ApiOperation({ summary: 'Look at a timer' })
  @ApiParam(QUEUE)
  @ApiParam(KEY)
  @ApiAnswer({
    status: 200,
    description: 'The timer with its payload.',
    type: { oneOf: [PeekedTimerDto, MissingTimerDto] },
    examples: examples.PEEKED,
  })
  @ApiRefusals({ codes: [], shapes: stateShapes(examples.KEY_REFUSALS) })
  async peek(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('queue') queue: string,
  ): Promise<void> {
    sendJson(reply, 200, await this.reads.peek(request, queue, pathKey(request)));
  }
}

/** The rest of the path, decoded; it may contain slashes. */
function pathKey(request: FastifyRequest): string {
  const key = (request.params as Readonly<Record<string, string | undefined>>)['*'] ?? '';
  if (key === '') throw badRequest('timerKey must not be empty');
  return key;
}
