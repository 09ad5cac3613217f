/** Routes of the reads by offset. Declarations only. */
import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, ErrorDto, LOG_CODES } from '../docs-api/index.js';
import {
  CHANGED_ANSWERS,
  CHANGED_EXAMPLES,
  ChangedDto,
  ChangedRequestDto,
  FETCH_400,
  FETCH_ANSWERS,
  FETCH_EXAMPLES,
  FetchDto,
  FetchRequestDto,
  OFFSETS_ANSWERS,
  OFFSETS_EXAMPLES,
  OffsetsDto,
  OffsetsRequestDto,
} from './fetch.dto.js';
import { FetchService } from './fetch.service.js';

const REFUSALS = {
  codes: ['bad_body', 'bad_request', ...LOG_CODES],
  readsBody: true,
  shapes: [{ status: 400, type: ErrorDto, examples: FETCH_400 }],
} as const;
const answered = { status: 200, description: 'An answer per entry, in order.' } as const;

@ApiTags('consume')
@ApiTenant()
@Controller('api/v1')
export class FetchController {
  constructor(private readonly reads: FetchService) {}

  @Post('fetch')
  @HttpCode(200)
  @Access('read-only')
  @ApiOperation({
    summary: 'Read lanes by offset',
    description:
      'No lease, no cursor, no barrier. May wait for appends to exactly these lanes. An answer ends at ' +
      '64 MiB: entries beyond come back without records, `highWatermark` above their offset; ask again.',
  })
  @ApiBody({ type: FetchRequestDto, examples: FETCH_EXAMPLES })
  @ApiAnswer({ ...answered, type: FetchDto, examples: FETCH_ANSWERS })
  @ApiRefusals(REFUSALS)
  fetch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.reads.fetch(request, reply);
  }

  @Post('fetch/offsets')
  @HttpCode(200)
  @Access('read-only')
  @ApiOperation({ summary: 'First offsets at or after a time' })
  @ApiBody({ type: OffsetsRequestDto, examples: OFFSETS_EXAMPLES })
  @ApiAnswer({ ...answered, type: OffsetsDto, examples: OFFSETS_ANSWERS })
  @ApiRefusals(REFUSALS)
  offsets(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.reads.offsets(request, reply);
  }

  @Post('partitions/changed')
  @HttpCode(200)
  @Access('read-only')
  @ApiOperation({ summary: 'Lanes of queues, by name or by time of their last write' })
  @ApiBody({ type: ChangedRequestDto, examples: CHANGED_EXAMPLES })
  @ApiAnswer({ ...answered, type: ChangedDto, examples: CHANGED_ANSWERS })
  @ApiRefusals(REFUSALS)
  changed(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    return this.reads.changed(request, reply);
  }
}
