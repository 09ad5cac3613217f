/** `GET /api/v1/analytics/*` of the request's tenant (admin.md §1.6). Declarations only. */
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access } from '../../auth/access.js';
import { ApiAnswer, ApiTenant } from '../../docs-api/index.js';
import { sendJsonBytes } from '../../http/answers.js';
import type { QueryValues } from '../../http/query.js';
import { Tenancy } from '../../tenancy/tenant.js';
import * as examples from './examples.js';
import { LanesService } from './lanes.service.js';
import { ApiLimit, ApiPlainRefusal, ApiTexts, ApiWindow } from './parameters.js';
import { QueueSeriesService } from './queue-series.service.js';
import * as dto from './series.dto.js';
import { WorkloadDto } from './workload.dto.js';
import { WorkloadService } from './workload.service.js';

const QUEUE = { queue: 'Exact name.' };
const LABELS = { namespace: 'Exact label; empty: without one.', task: 'Exact label.' };
const GROUP_BY = { groupBy: '`namespace`, `task` or `queue`.' };
const queryOf = (request: FastifyRequest): QueryValues => request.query as QueryValues;

@ApiTags('operations')
@ApiTenant()
@Controller('api/v1/analytics')
export class AnalyticsController {
  constructor(
    private readonly series: QueueSeriesService,
    private readonly work: WorkloadService,
    private readonly lanes: LanesService,
    private readonly tenancy: Tenancy,
  ) {}

  @Get('queue-lag')
  @Access('read-only')
  @ApiOperation({ summary: 'Lag at delivery by queue', description: 'From creation to delivery.' })
  @ApiWindow()
  @ApiTexts(QUEUE)
  @ApiAnswer({
    status: 200,
    description: 'Newest bucket first, then by queue.',
    type: [dto.QueueLagDto],
    examples: examples.QUEUE_LAG,
  })
  async queueLag(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const bytes = await this.series.lag(this.tenancy.of(request), queryOf(request));
    sendJsonBytes(reply, 200, bytes);
  }

  @Get('queue-ops')
  @Access('read-only')
  @ApiOperation({ summary: 'Operations by queue' })
  @ApiWindow()
  @ApiTexts(QUEUE)
  @ApiAnswer({
    status: 200,
    description: 'Sums and rates per bucket.',
    type: dto.QueueOpsDto,
    examples: examples.QUEUE_OPS,
  })
  async queueOps(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const bytes = await this.series.ops(this.tenancy.of(request), queryOf(request));
    sendJsonBytes(reply, 200, bytes);
  }

  @Get('queue-parked-replicas')
  @Access('read-only')
  @ApiOperation({ summary: 'Waiting pops by queue and node' })
  @ApiWindow()
  @ApiTexts(QUEUE)
  @ApiAnswer({
    status: 200,
    description: 'Average per bucket; of deleted queues too.',
    type: dto.ParkedReplicasDto,
    examples: examples.PARKED_REPLICAS,
  })
  async parkedReplicas(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const bytes = await this.series.parked(this.tenancy.of(request), queryOf(request));
    sendJsonBytes(reply, 200, bytes);
  }

  @Get('workload')
  @Access('read-only')
  @ApiOperation({ summary: 'Who does the work' })
  @ApiWindow()
  @ApiTexts({ ...GROUP_BY, ...LABELS, ...QUEUE })
  @ApiPlainRefusal('bad groupBy')
  @ApiAnswer({
    status: 200,
    description: 'Rows by key; `tenant` covers all queues.',
    type: WorkloadDto,
    examples: examples.WORKLOAD,
  })
  workload(@Req() request: FastifyRequest): Promise<WorkloadDto> {
    return this.work.workload(this.tenancy.of(request), queryOf(request));
  }

  @Get('retention')
  @Access('read-only')
  @ApiOperation({ summary: 'What retention removed' })
  @ApiWindow()
  @ApiTexts({ ...QUEUE, ...GROUP_BY })
  @ApiPlainRefusal('bad groupBy')
  @ApiAnswer({
    status: 200,
    description: 'Rows with `groupBy` only, most removed first.',
    type: dto.RetentionDto,
    examples: examples.RETENTION,
  })
  retention(@Req() request: FastifyRequest): Promise<dto.RetentionDto> {
    return this.work.retention(this.tenancy.of(request), queryOf(request));
  }

  @Get('dlq-signatures')
  @Access('read-only')
  @ApiOperation({ summary: 'What the dead letters of a queue died of' })
  @ApiTexts({ queue: 'Exact name; required.' })
  @ApiLimit(200, 1000)
  @ApiPlainRefusal('queue required')
  @ApiAnswer({
    status: 200,
    description: 'The newest dead letters, folded.',
    type: dto.DlqSignaturesDto,
    examples: examples.SIGNATURES,
  })
  signatures(@Req() request: FastifyRequest): Promise<dto.DlqSignaturesDto> {
    return this.lanes.signatures(this.tenancy.of(request), queryOf(request));
  }

  @Get('partition-liveness')
  @Access('read-only')
  @ApiOperation({ summary: 'How many lanes of each queue are alive' })
  @ApiTexts({ ...QUEUE, ...LABELS })
  @ApiLimit(20, 200)
  @ApiAnswer({
    status: 200,
    description: 'Most partitions first.',
    type: dto.LivenessDto,
    examples: examples.LIVENESS,
  })
  liveness(@Req() request: FastifyRequest): Promise<dto.LivenessDto> {
    return this.lanes.liveness(this.tenancy.of(request), queryOf(request));
  }
}
