/** Routes of dead letters, also of those addressed by message. Declarations only. */
import { Controller, Delete, Get, HttpCode, Param, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, LOG_CODES } from '../docs-api/index.js';
import { sendJson, sendJsonBytes } from '../http/answers.js';
import { jsonObjectBody } from '../http/json-body.js';
import type { QueryValues } from '../http/query.js';
import { textOrUndefined } from '../http/query.js';
import { Tenancy } from '../tenancy/tenant.js';
import { parseLetterFilter } from './dead-letter-list.js';
import { DeadLettersService } from './dead-letters.service.js';
import type { MessagePath } from './dead-letters.service.js';
import {
  DeadLetterListDto,
  DeletedLettersDto,
  LetterQueryDto,
  LettersNotFoundDto,
  PurgedDto,
  PurgeRefusalDto,
  ReplayedDto,
  ReplayRefusalDto,
  ReplayRequestDto,
} from './dlq.dto.js';
import * as examples from './examples.js';
import type { ReplayAnswer } from './replay-answer.js';
import { EMPTY_OVERRIDE, parseOverrides } from './replay-answer.js';
import type { ReplayOverrides } from './replay.service.js';
import { ReplayService } from './replay.service.js';

const NAME = { type: 'string', minLength: 1 };
const PARTITION_PARAM = {
  ...{ name: 'partitionId', description: 'UUID or decimal number.', schema: NAME, example: '17' },
};
const TRANSACTION_PARAM = { name: 'transactionId', schema: NAME, example: 'order-1' };
const REPLAYED = {
  status: 200,
  description: 'The copy; the letter stays when it is a duplicate.',
  type: ReplayedDto,
  examples: examples.REPLAY_ANSWERS,
} as const;
const REPLAY_BODY = {
  type: ReplayRequestDto,
  required: false,
  examples: examples.REPLAY_EXAMPLES,
};
const REPLAY_REFUSALS = {
  codes: ['bad_body', 'name_too_long', 'overloaded', 'storage_full', ...LOG_CODES],
  readsBody: true,
  shapes: [
    { status: 400, type: ReplayRefusalDto, examples: examples.REPLAY_400 },
    { status: 404, type: ReplayRefusalDto, examples: examples.REPLAY_404 },
    { status: 409, type: ReplayRefusalDto, examples: examples.REPLAY_409 },
  ],
} as const;

@ApiTags('consume')
@ApiTenant()
@Controller('api/v1')
export class DlqController {
  constructor(
    private readonly letters: DeadLettersService,
    private readonly replays: ReplayService,
    private readonly tenancy: Tenancy,
  ) {}

  @Get('dlq')
  @Access('read-only')
  @ApiOperation({ summary: 'List dead letters, newest failure first' })
  @ApiQuery({ type: LetterQueryDto })
  @ApiAnswer({
    status: 200,
    description: 'One page, and how many match in all.',
    type: DeadLetterListDto,
    examples: examples.LIST_ANSWERS,
  })
  @ApiRefusals({ codes: LOG_CODES })
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const filter = parseLetterFilter(request.query as QueryValues);
    sendJsonBytes(reply, 200, await this.letters.list(this.tenancy.of(request), filter));
  }

  @Delete('dlq')
  @Access('admin')
  @ApiOperation({ summary: 'Purge the dead letters of a queue' })
  @ApiQuery({ name: 'queue', required: true, schema: NAME, example: 'orders' })
  @ApiQuery({ name: 'consumerGroup', required: false, schema: { type: 'string' } })
  @ApiAnswer({
    status: 200,
    description: 'How many were there.',
    type: PurgedDto,
    examples: examples.PURGE_ANSWERS,
  })
  @ApiRefusals({
    codes: LOG_CODES,
    shapes: [{ status: 400, type: PurgeRefusalDto, examples: examples.PURGE_400 }],
  })
  async purge(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    const query = request.query as QueryValues;
    const queue = textOrUndefined(query, 'queue');
    if (queue === undefined) {
      sendJson(reply, 400, examples.NO_QUEUE);
      return;
    }
    const consumerGroup = textOrUndefined(query, 'consumerGroup');
    const deleted = await this.letters.purge(tenant, queue, consumerGroup);
    const answer = { success: true, queue, consumerGroup: consumerGroup ?? null, deleted };
    sendJson(reply, 200, answer);
  }

  @Post('dlq/:id/replay')
  @HttpCode(200)
  @RouteConfig({ growing: true })
  @Access('read-write')
  @ApiOperation({
    summary: 'Send a dead letter through its queue again',
    description: 'A copy goes to the end of the lane, for every group; the letter is removed.',
  })
  @ApiParam({ name: 'id', description: 'Of the dead letter.', schema: NAME })
  @ApiBody(REPLAY_BODY)
  @ApiAnswer(REPLAYED)
  @ApiRefusals(REPLAY_REFUSALS)
  replay(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('id') id: string,
  ): Promise<void> {
    const tenant = this.tenancy.of(request);
    return answerReplay(request, reply, (over) => this.replays.byId(tenant, id, over));
  }

  @Post('messages/:partitionId/:transactionId/retry')
  @HttpCode(200)
  @RouteConfig({ growing: true })
  @Access('read-write')
  @ApiOperation({ summary: 'Replay the first dead letter of a message' })
  @ApiParam(PARTITION_PARAM)
  @ApiParam(TRANSACTION_PARAM)
  @ApiBody(REPLAY_BODY)
  @ApiAnswer(REPLAYED)
  @ApiRefusals(REPLAY_REFUSALS)
  retry(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const tenant = this.tenancy.of(request);
    const path = request.params as MessagePath;
    return answerReplay(request, reply, (over) => this.replays.byMessage(tenant, path, over));
  }

  @Delete('messages/:partitionId/:transactionId')
  @Access('read-write')
  @ApiOperation({
    summary: 'Delete the dead letters of a message',
    description: 'Those of every group. Messages of the log cannot be deleted.',
  })
  @ApiParam(PARTITION_PARAM)
  @ApiParam(TRANSACTION_PARAM)
  @ApiAnswer({
    status: 200,
    description: 'How many were deleted.',
    type: DeletedLettersDto,
    examples: examples.DELETE_ANSWERS,
  })
  @ApiRefusals({
    codes: LOG_CODES,
    shapes: [{ status: 404, type: LettersNotFoundDto, examples: examples.DELETE_404 }],
  })
  async remove(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { partitionId, transactionId } = request.params as MessagePath;
    const path = { partitionId, transactionId };
    const deleted = await this.letters.removeOfMessage(this.tenancy.of(request), path);
    if (deleted > 0) sendJson(reply, 200, { success: true, ...path, deleted });
    else sendJson(reply, 404, examples.lettersNotFound(partitionId, transactionId));
  }
}

async function answerReplay(
  request: FastifyRequest,
  reply: FastifyReply,
  replay: (over: ReplayOverrides) => Promise<ReplayAnswer>,
): Promise<void> {
  const over = parseOverrides(jsonObjectBody(request, {}));
  const answer = over === null ? EMPTY_OVERRIDE : await replay(over);
  sendJson(reply, answer.status, answer.body);
}
