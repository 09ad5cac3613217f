/** Routes that browse messages. Declarations only; what changes dead letters stands in `dlq`. */
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, LOG_CODES } from '../docs-api/index.js';
import { sendJson, sendJsonBytes } from '../http/answers.js';
import type { QueryValues } from '../http/query.js';
import { Tenancy } from '../tenancy/tenant.js';
import type { MessagePath } from './message-detail.js';
import {
  DETAIL_ANSWERS,
  LIST_ANSWERS,
  MessageDetailDto,
  MessageListDto,
  MessageNotFoundDto,
  MessageQueryDto,
  NOT_FOUND,
  NOT_FOUND_ANSWERS,
} from './messages.dto.js';
import { MessagesService } from './messages.service.js';

const NAME = { type: 'string', minLength: 1 };

@ApiTags('queues')
@ApiTenant()
@Controller('api/v1/messages')
export class MessagesController {
  constructor(
    private readonly messages: MessagesService,
    private readonly tenancy: Tenancy,
  ) {}

  @Get()
  @Access('read-only')
  @ApiOperation({ summary: 'Browse messages, newest first' })
  @ApiQuery({ type: MessageQueryDto })
  @ApiAnswer({
    status: 200,
    description:
      'One page; go on while pages are full. About 32 MiB of payloads are shown: the rows after that ' +
      'have `data` and `payload` null and `payloadAvailable: false`.',
    type: MessageListDto,
    examples: LIST_ANSWERS,
  })
  @ApiRefusals({ codes: LOG_CODES })
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = request.query as QueryValues;
    sendJsonBytes(reply, 200, await this.messages.list(this.tenancy.of(request), query));
  }

  @Get(':partitionId/:transactionId')
  @Access('read-only')
  @ApiOperation({ summary: 'One message with its readers' })
  @ApiParam({ name: 'partitionId', description: 'UUID or decimal number.', schema: NAME })
  @ApiParam({ name: 'transactionId', schema: NAME })
  @ApiAnswer({
    status: 200,
    description: 'The first retained message of the lane with this transactionId.',
    type: MessageDetailDto,
    examples: DETAIL_ANSWERS,
  })
  @ApiRefusals({
    codes: LOG_CODES,
    shapes: [{ status: 404, type: MessageNotFoundDto, examples: NOT_FOUND_ANSWERS }],
  })
  async detail(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const path = request.params as MessagePath;
    const detail = await this.messages.detail(this.tenancy.of(request), path);
    if (detail === null) sendJson(reply, 404, NOT_FOUND);
    else sendJsonBytes(reply, 200, detail);
  }
}
