/** Routes of the streams plane. Declarations only. */
import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, LOG_CODES } from '../docs-api/index.js';
import { sendJsonBytes } from '../http/answers.js';
import * as examples from './examples.js';
import {
  CommittedCycleDto,
  CycleDto,
  QueryDeniedDto,
  QueryMismatchDto,
  ReadStateDto,
  RefusedCycleDto,
  RegisteredQueryDto,
  RegisterQueryDto,
  StateRowsDto,
  StreamNotFoundDto,
} from './streams.dto.js';
import { StreamsService } from './streams.service.js';
import type { StreamAnswer } from './streams.service.js';

@ApiTags('streams')
@ApiTenant()
@Controller('streams/v1')
export class StreamsController {
  constructor(private readonly streams: StreamsService) {}

  @Post('queries')
  @HttpCode(200)
  @RouteConfig({ growing: true })
  @Access('read-write')
  @ApiOperation({ summary: 'Register a windowed query, or reset it' })
  @ApiBody({ type: RegisterQueryDto, examples: examples.REGISTER })
  @ApiAnswer({
    status: 200,
    description: 'Its id is stable.',
    type: RegisteredQueryDto,
    examples: examples.REGISTERED,
  })
  @ApiRefusals({
    codes: [
      ...(['bad_body', 'bad_request', 'name_too_long', 'overloaded', 'storage_full'] as const),
      ...LOG_CODES,
    ],
    readsBody: true,
    shapes: [
      { status: 403, type: QueryDeniedDto, examples: examples.DENIED },
      { status: 409, type: QueryMismatchDto, examples: examples.MISMATCH },
    ],
  })
  async register(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    send(reply, await this.streams.register(request));
  }

  @Post('state/get')
  @HttpCode(200)
  @Access('read-only')
  @ApiOperation({
    summary: 'Read the state of a query on one source partition',
    description:
      'Without `limit` every row that matches, up to 16 MiB of them, else 413; with it a page, and ' +
      '`next_after` says where the next one starts.',
  })
  @ApiBody({ type: ReadStateDto, examples: examples.READ })
  @ApiAnswer({
    status: 200,
    description: 'Rows in key order.',
    type: StateRowsDto,
    examples: examples.ROWS,
  })
  @ApiRefusals({
    codes: ['bad_body', 'bad_request', 'payload_too_large', ...LOG_CODES],
    readsBody: true,
    shapes: [{ status: 404, type: StreamNotFoundDto, examples: examples.NOT_FOUND }],
  })
  async state(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    send(reply, await this.streams.readState(request));
  }

  @Post('cycle')
  @HttpCode(200)
  @RouteConfig({ growing: true })
  @Access('read-write')
  @ApiOperation({
    summary: 'Commit a cycle: messages, state and acknowledgement together',
    description: 'A cycle that is refused answers 200 with `success: false`; nothing was written.',
  })
  @ApiBody({ type: CycleDto, examples: examples.CYCLE })
  @ApiAnswer({
    status: 200,
    description: 'All of it, or none.',
    type: { oneOf: [CommittedCycleDto, RefusedCycleDto] },
    examples: examples.COMMITTED,
  })
  @ApiRefusals({
    codes: [
      ...(['bad_body', 'bad_request', 'name_too_long', 'overloaded', 'storage_full'] as const),
      ...LOG_CODES,
    ],
    readsBody: true,
    shapes: [{ status: 404, type: StreamNotFoundDto, examples: examples.NO_CYCLE }],
  })
  async cycle(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    send(reply, await this.streams.cycle(request));
  }
}

function send(reply: FastifyReply, { status, body }: StreamAnswer): void {
  sendJsonBytes(reply, status, body);
}
