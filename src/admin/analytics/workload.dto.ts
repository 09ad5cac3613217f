/** Answer of the workload (admin.md §1.6) as the API document shows it. */
import { ApiExtraModels, ApiProperty } from '@nestjs/swagger';
import { COUNT } from '../../docs-api/index.js';
import { RATE, SECONDS_TEXT, TimeRangeDto } from './series.dto.js';

const MILLIS = { type: 'number', nullable: true } as const;
const SERIES = {
  type: 'array',
  items: { type: 'number', nullable: true },
  description: 'Along `buckets`; null in a bucket without any row.',
} as const;

export class WorkloadWindowDto {
  @ApiProperty(COUNT) readonly pushMessages!: number;
  @ApiProperty(COUNT) readonly pushRequests!: number;
  @ApiProperty(COUNT) readonly popMessages!: number;
  @ApiProperty(COUNT) readonly popEmpty!: number;
  @ApiProperty(COUNT) readonly ackRequests!: number;
  @ApiProperty(COUNT) readonly ackSuccess!: number;
  @ApiProperty(COUNT) readonly ackFailed!: number;
  @ApiProperty(COUNT) readonly transactions!: number;
  @ApiProperty(COUNT) readonly conflated!: number;
  @ApiProperty(COUNT) readonly partitionsCreated!: number;
  @ApiProperty(COUNT) readonly partitionsDeleted!: number;
  @ApiProperty(RATE) readonly parkedAvg!: number;
  @ApiProperty(MILLIS) readonly avgLagMs!: number | null;
  @ApiProperty(MILLIS) readonly maxLagMs!: number | null;
}

type Points = readonly (number | null)[];

export class WorkloadSeriesDto {
  @ApiProperty(SERIES) readonly push!: Points;
  @ApiProperty(SERIES) readonly pop!: Points;
  @ApiProperty(SERIES) readonly popEmpty!: Points;
  @ApiProperty(SERIES) readonly ackFailed!: Points;
  @ApiProperty(SERIES) readonly parked!: Points;
  @ApiProperty(SERIES) readonly avgLagMs!: Points;
  @ApiProperty(SERIES) readonly maxLagMs!: Points;
}

export class WorkloadNowDto {
  @ApiProperty({ ...COUNT, description: 'Leased ones included.' }) readonly pending!: number;
  @ApiProperty(COUNT) readonly processing!: number;
  @ApiProperty(COUNT) readonly deadLetter!: number;
  @ApiProperty(COUNT) readonly retainedBytes!: number;
  @ApiProperty(COUNT) readonly partitions!: number;
  @ApiProperty({ ...COUNT, description: 'Registrations of groups on queues.' })
  readonly groups!: number;
  @ApiProperty(COUNT) readonly queuesWithoutGroup!: number;
  @ApiProperty(COUNT) readonly pendingWithoutGroup!: number;
  @ApiProperty(COUNT) readonly queuesTouched!: number;
  @ApiProperty(COUNT) readonly queuesActive!: number;
}

export class WorkloadTenantDto {
  @ApiProperty(COUNT) readonly queues!: number;
  @ApiProperty({ type: WorkloadWindowDto }) readonly window!: WorkloadWindowDto;
  @ApiProperty({ type: WorkloadSeriesDto }) readonly series!: WorkloadSeriesDto;
  @ApiProperty({ type: WorkloadNowDto }) readonly now!: WorkloadNowDto;
}

export class WorkloadRowDto extends WorkloadTenantDto {
  @ApiProperty({ type: 'string' }) readonly key!: string;
  @ApiProperty({ type: 'string', required: false }) readonly namespace?: string;
  @ApiProperty({ type: 'string', required: false }) readonly task?: string;
}

export class NoQueuesDto {}

@ApiExtraModels(WorkloadTenantDto)
export class WorkloadDto {
  @ApiProperty({ type: TimeRangeDto }) readonly timeRange!: TimeRangeDto;
  @ApiProperty(COUNT) readonly bucketMinutes!: number;
  @ApiProperty({ type: 'string', enum: ['namespace', 'task', 'queue'] }) readonly groupBy!: string;
  @ApiProperty({ type: 'array', items: SECONDS_TEXT }) readonly buckets!: string[];
  @ApiProperty({ type: [WorkloadRowDto] }) readonly rows!: WorkloadRowDto[];

  @ApiProperty({
    oneOf: [
      { $ref: '#/components/schemas/WorkloadTenantDto' },
      { type: 'object', maxProperties: 0 },
    ],
    description: 'All queues, whatever the filters; empty without any.',
  })
  readonly tenant!: WorkloadTenantDto | NoQueuesDto;
}
