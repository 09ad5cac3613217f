/** `POST /api/v1/transaction`. Declaration only. */
import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, LOG_CODES } from '../docs-api/index.js';
import { BAD_TRANSACTIONS, TRANSACTION_ANSWERS, TRANSACTION_EXAMPLES } from './examples.js';
import { CommittedDto, RolledBackDto, TransactionDto } from './transaction.dto.js';
import { TransactionsService } from './transactions.service.js';

@ApiTags('transactions')
@ApiTenant()
@Controller('api/v1')
export class TransactionsController {
  constructor(private readonly transactions: TransactionsService) {}

  @Post('transaction')
  @HttpCode(200)
  @RouteConfig({ growing: true })
  @Access('read-write')
  @ApiOperation({
    summary: 'Do several things together or none of them',
    description:
      'Acks, pushes, positions, key-value and timer operations become one log entry. 200 says only ' +
      'that a verdict was reached: read `success`. A repeat is a new transaction; a fenced ack, a ' +
      'transactionId of your own or a required key-value operation makes it harmless.',
  })
  @ApiBody({ type: TransactionDto, examples: TRANSACTION_EXAMPLES })
  @ApiAnswer({
    status: 200,
    description: 'Committed, with a result per operation; or rolled back, with the reason.',
    type: { oneOf: [CommittedDto, RolledBackDto] },
    examples: TRANSACTION_ANSWERS,
  })
  @ApiRefusals({
    codes: ['bad_request', 'name_too_long', 'overloaded', 'storage_full', ...LOG_CODES],
    readsBody: true,
    shapes: [{ status: 400, type: RolledBackDto, examples: BAD_TRANSACTIONS }],
  })
  run(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.transactions.serve(request, reply);
  }
}
