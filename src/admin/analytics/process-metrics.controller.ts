/** Analytics of the processes of the whole cell (admin.md §1.6). Declarations only. */
import { Controller, Get, Req } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Access } from '../../auth/access.js';
import { ApiAnswer, ApiTenant } from '../../docs-api/index.js';
import type { QueryValues } from '../../http/query.js';
import { Tenancy } from '../../tenancy/tenant.js';
import { SYSTEM_METRICS, WORKER_METRICS } from './examples.js';
import { ApiTexts, ApiWindow } from './parameters.js';
import { SystemMetricsDto, WorkerMetricsDto } from './process-metrics.dto.js';
import { ProcessMetricsService } from './process-metrics.service.js';

@ApiTags('operations')
@ApiTenant()
@Controller('api/v1/analytics')
export class ProcessMetricsController {
  constructor(
    private readonly metrics: ProcessMetricsService,
    private readonly tenancy: Tenancy,
  ) {}

  @Get('system-metrics')
  @Access('read-only')
  @ApiOperation({ summary: 'Gauges of every node', description: 'CPU, memory, log.' })
  @ApiWindow()
  @ApiTexts({ hostname: 'Exact name.', workerId: 'Exact text: `worker-0`.' })
  @ApiAnswer({
    status: 200,
    description: 'A replica per node that answered in time.',
    type: SystemMetricsDto,
    examples: SYSTEM_METRICS,
  })
  system(@Req() request: FastifyRequest): Promise<SystemMetricsDto> {
    return this.metrics.system(request.query as QueryValues);
  }

  @Get('worker-metrics')
  @Access('read-only')
  @ApiOperation({ summary: 'Counters of every node as one series' })
  @ApiWindow()
  @ApiTexts({ hostname: 'Exact name.', workerId: 'An integer: `0`; other text is 500.' })
  @ApiAnswer({
    status: 200,
    description: 'Newest bucket first.',
    type: WorkerMetricsDto,
    examples: WORKER_METRICS,
  })
  workers(@Req() request: FastifyRequest): Promise<WorkerMetricsDto> {
    return this.metrics.workers(this.tenancy.of(request), request.query as QueryValues);
  }
}
