/** Reads of queues under `/api/v1/status` (admin.md §1.1), for dashboards. Declarations only. */
import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, LOG_CODES } from '../docs-api/index.js';
import { sendJson, sendJsonBytes } from '../http/answers.js';
import { Tenancy } from '../tenancy/tenant.js';
import { parseQueueFilter } from './queue-filter.js';
import { LIST_ANSWERS, NOT_FOUND, STATUS_ANSWERS } from './queue-read-examples.js';
import { QueueListDto, QueueNotFoundDto, QueueStatusDto } from './queue-reads.dto.js';
import { QueueReadsService } from './queue-reads.service.js';

@ApiTags('queues')
@ApiTenant()
@Controller('api/v1/status/queues')
export class QueueStatusController {
  constructor(
    private readonly reads: QueueReadsService,
    private readonly tenancy: Tenancy,
  ) {}

  @Get()
  @Access('read-only')
  @ApiOperation({
    summary: 'List the queues with their counts',
    description: 'The rows of `GET /api/v1/resources/queues`; no parameters.',
  })
  @ApiAnswer({
    status: 200,
    description: 'All queues of the tenant, newest first.',
    type: QueueListDto,
    examples: { 'one queue': LIST_ANSWERS['one queue'] },
  })
  @ApiRefusals({ codes: LOG_CODES })
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const all = parseQueueFilter({});
    sendJsonBytes(reply, 200, await this.reads.list(this.tenancy.of(request), all));
  }

  @Get(':queue')
  @Access('read-only')
  @ApiOperation({ summary: 'One queue: options, partitions, totals' })
  @ApiParam({ name: 'queue', schema: { type: 'string', minLength: 1 }, example: 'orders' })
  @ApiAnswer({
    status: 200,
    description: 'Pending includes what is leased.',
    type: QueueStatusDto,
    examples: STATUS_ANSWERS,
  })
  @ApiRefusals({
    codes: LOG_CODES,
    shapes: [{ status: 404, type: QueueNotFoundDto, examples: NOT_FOUND }],
  })
  async detail(
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
    @Param('queue') queue: string,
  ): Promise<void> {
    const body = await this.reads.status(this.tenancy.of(request), queue);
    if (body === null) sendJson(reply, 404, { error: 'Queue not found' });
    else sendJsonBytes(reply, 200, body);
  }
}
