/** Sums over queues: overview, namespaces, tasks, busiest partitions. Declarations only. */
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiQuery, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../auth/access.js';
import { ApiAnswer, ApiRefusals, ApiTenant, LOG_CODES } from '../../docs-api/index.js';
import { sendJson } from '../../http/answers.js';
import { lenientInteger, textOrUndefined, type QueryValues } from '../../http/query.js';
import { Tenancy } from '../../tenancy/tenant.js';
import * as dto from './resources.dto.js';
import { ResourcesService } from './resources.service.js';

const LIMIT = { fallback: 610, min: 1, max: 5000 };

@ApiTags('queues')
@ApiTenant()
@Controller('api/v1/resources')
export class ResourcesController {
  constructor(
    private readonly resources: ResourcesService,
    private readonly tenancy: Tenancy,
  ) {}

  @Get('overview')
  @Access('read-only')
  @ApiOperation({ summary: 'All queues in one glance' })
  @ApiAnswer({
    status: 200,
    description: 'Sums over the queues of the tenant.',
    type: dto.OverviewDto,
    examples: dto.OVERVIEW_ANSWERS,
  })
  @ApiRefusals({ codes: LOG_CODES })
  overview(@Req() request: FastifyRequest): Promise<dto.OverviewDto> {
    return this.resources.overview(this.tenancy.of(request));
  }

  @Get('namespaces')
  @Access('read-only')
  @ApiOperation({ summary: 'Queues by namespace' })
  @ApiAnswer({
    status: 200,
    description: 'By label; queues without one are left out.',
    type: dto.NamespacesDto,
    examples: dto.NAMESPACE_ANSWERS,
  })
  @ApiRefusals({ codes: LOG_CODES })
  async namespaces(@Req() request: FastifyRequest): Promise<object> {
    return { namespaces: await this.resources.labels(this.tenancy.of(request), 'namespace') };
  }

  @Get('tasks')
  @Access('read-only')
  @ApiOperation({ summary: 'Queues by task' })
  @ApiAnswer({
    status: 200,
    description: 'By label; queues without one are left out.',
    type: dto.TasksDto,
    examples: dto.TASK_ANSWERS,
  })
  @ApiRefusals({ codes: LOG_CODES })
  async tasks(@Req() request: FastifyRequest): Promise<object> {
    return { tasks: await this.resources.labels(this.tenancy.of(request), 'task') };
  }

  @Get('partitions')
  @Access('read-only')
  @ApiOperation({ summary: 'Lanes with most pending first' })
  @ApiQuery({ name: 'queue', required: false, schema: { type: 'string' } })
  @ApiQuery({
    name: 'limit',
    required: false,
    schema: { type: 'integer', default: 610, minimum: 1, maximum: 5000 },
  })
  @ApiAnswer({
    status: 200,
    description: 'Ties by queue, then name.',
    type: dto.TopPartitionsDto,
    examples: dto.PARTITION_ANSWERS,
  })
  @ApiRefusals({
    codes: LOG_CODES,
    shapes: [
      {
        status: 404,
        type: dto.NoSuchQueueDto,
        examples: { 'no such queue': dto.NO_SUCH_QUEUE },
      },
    ],
  })
  async partitions(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = request.query as QueryValues;
    const found = await this.resources.partitions(this.tenancy.of(request), {
      queue: textOrUndefined(query, 'queue'),
      limit: lenientInteger(query, 'limit', LIMIT),
    });
    sendJson(reply, found === null ? 404 : 200, found ?? dto.NO_SUCH_QUEUE);
  }
}
