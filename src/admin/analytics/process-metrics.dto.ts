/** Answers of the process metrics (admin.md §1.6) as the API document shows them. */
import { ApiExtraModels, ApiProperty, PickType } from '@nestjs/swagger';
import { COUNT } from '../../docs-api/index.js';
import { MILLIS_TEXT } from '../resources/resources.dto.js';
import { NEVER_HERE, WorkerDto } from '../status/status.dto.js';
import { QueueLagDto, RATE, SECONDS_TEXT, TimeRangeDto } from './series.dto.js';

const GAUGE_VALUE = { type: 'number', nullable: true } as const;

export class GaugeDto {
  @ApiProperty(GAUGE_VALUE) readonly avg!: number | null;
  @ApiProperty(GAUGE_VALUE) readonly min!: number | null;
  @ApiProperty(GAUGE_VALUE) readonly max!: number | null;
  @ApiProperty(GAUGE_VALUE) readonly last!: number | null;
}

const GAUGES_BY_NAME = {
  type: 'object' as const,
  additionalProperties: { $ref: '#/components/schemas/GaugeDto' },
};

type Gauges = Readonly<Record<string, GaugeDto>>;

@ApiExtraModels(GaugeDto)
export class SystemSampleDto {
  @ApiProperty({ ...GAUGES_BY_NAME, description: 'Hundredths of a percent of one core.' })
  readonly cpu!: Gauges;
  @ApiProperty(GAUGES_BY_NAME) readonly memory!: Gauges;
  @ApiProperty({ ...GAUGES_BY_NAME, description: 'Requests that wait for their answer.' })
  readonly registries!: Gauges;
  @ApiProperty(GAUGES_BY_NAME) readonly raft!: Gauges;
  @ApiProperty({ ...GAUGES_BY_NAME, description: 'Of former lines; null.' })
  readonly database!: Gauges;
  @ApiProperty({
    type: 'object',
    additionalProperties: GAUGES_BY_NAME,
    description: 'Of former lines; null.',
  })
  readonly threadpool!: Readonly<Record<string, Gauges>>;
  @ApiProperty(GAUGES_BY_NAME) readonly shared_state!: Gauges;
}

export class SystemPointDto {
  @ApiProperty(MILLIS_TEXT) readonly timestamp!: string;
  @ApiProperty(COUNT) readonly sampleCount!: number;
  @ApiProperty({ type: SystemSampleDto }) readonly metrics!: SystemSampleDto;
}

export class SystemReplicaDto {
  @ApiProperty({ type: 'string' }) readonly hostname!: string;
  @ApiProperty(COUNT) readonly port!: number;
  @ApiProperty({ type: 'string' }) readonly workerId!: string;
  @ApiProperty({ type: [SystemPointDto] }) readonly timeSeries!: SystemPointDto[];
}

export class SystemMetricsDto {
  @ApiProperty({ type: TimeRangeDto }) readonly timeRange!: TimeRangeDto;
  @ApiProperty(COUNT) readonly replicaCount!: number;
  @ApiProperty({ type: [SystemReplicaDto] }) readonly replicas!: SystemReplicaDto[];
  @ApiProperty(COUNT) readonly bucketMinutes!: number;
  @ApiProperty(COUNT) readonly pointCount!: number;
}

const MILLIS = { type: 'number', nullable: true } as const;

export class WorkerPointDto {
  @ApiProperty(SECONDS_TEXT) readonly timestamp!: string;
  @ApiProperty(COUNT) readonly pushMessages!: number;
  @ApiProperty(COUNT) readonly popMessages!: number;
  @ApiProperty(COUNT) readonly ackMessages!: number;
  @ApiProperty(COUNT) readonly pushRequests!: number;
  @ApiProperty(COUNT) readonly popRequests!: number;
  @ApiProperty(COUNT) readonly ackRequests!: number;
  @ApiProperty({ ...COUNT, description: 'The same as `pushRequests`.' }) readonly jobsDone!: number;
  @ApiProperty(RATE) readonly pushPerSecond!: number;
  @ApiProperty(RATE) readonly popPerSecond!: number;
  @ApiProperty(RATE) readonly ackPerSecond!: number;
  @ApiProperty(RATE) readonly avgEventLoopLagMs!: number;
  @ApiProperty(RATE) readonly maxEventLoopLagMs!: number;
  @ApiProperty(MILLIS) readonly avgLagMs!: number | null;
  @ApiProperty(MILLIS) readonly maxLagMs!: number | null;
  @ApiProperty(COUNT) readonly lagCount!: number;
  @ApiProperty(COUNT) readonly dbErrors!: number;
  @ApiProperty(COUNT) readonly ackSuccess!: number;
  @ApiProperty(COUNT) readonly ackFailed!: number;
  @ApiProperty(COUNT) readonly dlqCount!: number;
  @ApiProperty(NEVER_HERE) readonly avgFreeSlots!: null;
  @ApiProperty(NEVER_HERE) readonly minFreeSlots!: null;
  @ApiProperty(NEVER_HERE) readonly dbConnections!: null;
  @ApiProperty(NEVER_HERE) readonly avgJobQueueSize!: null;
  @ApiProperty(NEVER_HERE) readonly maxJobQueueSize!: null;
  @ApiProperty(NEVER_HERE) readonly backoffSize!: null;
}

export class WorkerQueueDto extends PickType(QueueLagDto, [
  'queueName',
  'popCount',
  'avgLagMs',
  'maxLagMs',
]) {}

export class WorkerSummaryDto {
  @ApiProperty(COUNT) readonly totalPushMessages!: number;
  @ApiProperty(COUNT) readonly totalPopMessages!: number;
  @ApiProperty(COUNT) readonly totalAckMessages!: number;
  @ApiProperty(COUNT) readonly totalPushRequests!: number;
  @ApiProperty(COUNT) readonly totalPopRequests!: number;
  @ApiProperty(COUNT) readonly totalAckRequests!: number;
  @ApiProperty(COUNT) readonly totalDbErrors!: number;
  @ApiProperty(COUNT) readonly totalAckFailed!: number;
  @ApiProperty(COUNT) readonly totalDlq!: number;
  @ApiProperty(COUNT) readonly pendingMessages!: number;
}

export class WorkerMetricsDto {
  @ApiProperty({ type: TimeRangeDto }) readonly timeRange!: TimeRangeDto;
  @ApiProperty(COUNT) readonly bucketMinutes!: number;
  @ApiProperty(COUNT) readonly pointCount!: number;
  @ApiProperty({ type: [WorkerPointDto], description: 'Newest first.' })
  readonly timeSeries!: WorkerPointDto[];
  @ApiProperty({ type: [WorkerDto], description: 'Seen in the last 5 minutes.' })
  readonly workers!: WorkerDto[];
  @ApiProperty({ type: [WorkerQueueDto], description: 'Most delivered first.' })
  readonly queues!: WorkerQueueDto[];
  @ApiProperty({ type: WorkerSummaryDto }) readonly summary!: WorkerSummaryDto;
}
