/** Answers of the analytics by queue (admin.md §1.6) as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { COUNT, TIMESTAMP } from '../../docs-api/index.js';
import { MILLIS_TEXT } from '../resources/resources.dto.js';

export const SECONDS_TEXT = {
  type: 'string',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}Z$',
} as const;
const MILLIS = {
  type: 'number',
  nullable: true,
  description: 'Null where nothing was sampled.',
} as const;
export const RATE = { type: 'number', minimum: 0 } as const;
const TEXT = { type: 'string' } as const;

export class TimeRangeDto {
  @ApiProperty(MILLIS_TEXT) readonly from!: string;
  @ApiProperty(MILLIS_TEXT) readonly to!: string;
}

export class QueueLagDto {
  @ApiProperty(TEXT) readonly queueName!: string;
  @ApiProperty({ ...COUNT, description: 'Messages delivered.' }) readonly popCount!: number;
  @ApiProperty(MILLIS) readonly avgLagMs!: number | null;
  @ApiProperty(MILLIS) readonly maxLagMs!: number | null;
  @ApiProperty(COUNT) readonly bucketMinutes!: number;
  @ApiProperty(SECONDS_TEXT) readonly bucketTime!: string;
}

export class QueueOpsPointDto {
  @ApiProperty(SECONDS_TEXT) readonly bucket!: string;
  @ApiProperty(TEXT) readonly queueName!: string;
  @ApiProperty(COUNT) readonly pushRequests!: number;
  @ApiProperty(COUNT) readonly pushMessages!: number;
  @ApiProperty(COUNT) readonly popMessages!: number;
  @ApiProperty(COUNT) readonly popEmpty!: number;
  @ApiProperty(COUNT) readonly ackRequests!: number;
  @ApiProperty(COUNT) readonly ackSuccess!: number;
  @ApiProperty(COUNT) readonly ackFailed!: number;
  @ApiProperty(COUNT) readonly transactions!: number;
  @ApiProperty(COUNT) readonly partitionsCreated!: number;
  @ApiProperty(COUNT) readonly partitionsDeleted!: number;
  @ApiProperty({ type: 'integer', nullable: true, enum: [null] }) readonly partitionCount!: null;
  @ApiProperty(MILLIS) readonly avgLagMs!: number | null;
  @ApiProperty(MILLIS) readonly maxLagMs!: number | null;
  @ApiProperty(RATE) readonly pushPerSecond!: number;
  @ApiProperty(RATE) readonly popPerSecond!: number;
  @ApiProperty(RATE) readonly ackPerSecond!: number;
  @ApiProperty(RATE) readonly emptyPerSecond!: number;
  @ApiProperty({ ...RATE, description: 'Pops that waited, on average.' })
  readonly parkedCount!: number;
}

class WindowedDto {
  @ApiProperty({ type: TimeRangeDto }) readonly timeRange!: TimeRangeDto;
  @ApiProperty(COUNT) readonly bucketMinutes!: number;
}

export class QueueOpsDto extends WindowedDto {
  @ApiProperty({
    type: [QueueOpsPointDto],
    description: 'By bucket, then queue; no gap is filled.',
  })
  readonly series!: QueueOpsPointDto[];

  @ApiProperty({ type: [String] }) readonly queues!: string[];
}

export class ReplicaDto {
  @ApiProperty(TEXT) readonly hostname!: string;
  @ApiProperty(COUNT) readonly workerId!: number;
}

export class ParkedPointDto extends ReplicaDto {
  @ApiProperty(SECONDS_TEXT) readonly bucket!: string;
  @ApiProperty(TEXT) readonly queueName!: string;
  @ApiProperty(RATE) readonly parkedCount!: number;
}

export class ParkedReplicasDto extends WindowedDto {
  @ApiProperty({ type: [ParkedPointDto] }) readonly series!: ParkedPointDto[];
  @ApiProperty({ type: [ReplicaDto] }) readonly replicas!: ReplicaDto[];
}

export class RetentionSumsDto {
  @ApiProperty(COUNT) readonly retentionMsgs!: number;
  @ApiProperty(COUNT) readonly completedRetentionMsgs!: number;
  @ApiProperty(COUNT) readonly evictionMsgs!: number;
  @ApiProperty(COUNT) readonly totalMsgs!: number;
  @ApiProperty(COUNT) readonly eventCount!: number;
}

export class RetentionPointDto extends RetentionSumsDto {
  @ApiProperty(SECONDS_TEXT) readonly bucket!: string;
}

export class RetentionRowDto {
  @ApiProperty(TEXT) readonly key!: string;
  @ApiProperty(COUNT) readonly queues!: number;
  @ApiProperty({ type: RetentionSumsDto }) readonly totals!: RetentionSumsDto;
}

export class RetentionDto extends WindowedDto {
  @ApiProperty({ type: [RetentionPointDto] }) readonly series!: RetentionPointDto[];
  @ApiProperty({ type: RetentionSumsDto }) readonly totals!: RetentionSumsDto;

  @ApiProperty({ type: [RetentionRowDto], required: false, description: 'With `groupBy`.' })
  readonly rows?: RetentionRowDto[];
}

export class SignatureDto {
  @ApiProperty(TEXT) readonly text!: string;
  @ApiProperty(COUNT) readonly n!: number;
  @ApiProperty({ type: 'number', minimum: 0, maximum: 1 }) readonly share!: number;
}

export class DayCountDto {
  @ApiProperty(TEXT) readonly day!: string;
  @ApiProperty(COUNT) readonly n!: number;
}

export class DlqSignaturesDto {
  @ApiProperty(TEXT) readonly queue!: string;
  @ApiProperty({ ...COUNT, description: 'All dead letters of the queue.' })
  readonly rowsNow!: number;
  @ApiProperty({ ...COUNT, description: 'Newest ones that were folded.' }) readonly sample!: number;
  @ApiProperty({ type: [Number] }) readonly retryCounts!: number[];
  @ApiProperty({ type: [String] }) readonly groups!: string[];
  @ApiProperty({ ...MILLIS_TEXT, nullable: true }) readonly oldest!: string | null;
  @ApiProperty({ ...MILLIS_TEXT, nullable: true }) readonly newest!: string | null;
  @ApiProperty(COUNT) readonly avgBytes!: number;
  @ApiProperty({ type: [SignatureDto], description: 'At most 8.' })
  readonly signatures!: SignatureDto[];
  @ApiProperty({ type: [DayCountDto] }) readonly byDay!: DayCountDto[];
}

export class LivenessRowDto {
  @ApiProperty(TEXT) readonly queue!: string;
  @ApiProperty(TEXT) readonly namespace!: string;
  @ApiProperty(TEXT) readonly task!: string;
  @ApiProperty(COUNT) readonly partitions!: number;
  @ApiProperty({ ...COUNT, description: 'Written in the last hour.' }) readonly live1h!: number;
  @ApiProperty(COUNT) readonly live24h!: number;
  @ApiProperty(COUNT) readonly live7d!: number;
  @ApiProperty(COUNT) readonly created24h!: number;
  @ApiProperty({ ...TIMESTAMP, nullable: true }) readonly oldestWriteAt!: string | null;
  @ApiProperty({ ...TIMESTAMP, nullable: true }) readonly newestWriteAt!: string | null;
  @ApiProperty(COUNT) readonly pending!: number;
}

export class LivenessDto {
  @ApiProperty(MILLIS_TEXT) readonly capturedAt!: string;
  @ApiProperty({ type: [LivenessRowDto] }) readonly rows!: LivenessRowDto[];
}

export class PlainErrorDto {
  @ApiProperty(TEXT) readonly error!: string;
}
