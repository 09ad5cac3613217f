/** Answers of the status routes (admin.md §1.1) as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { COUNT, TIMESTAMP, UUID_TEXT } from '../../docs-api/index.js';
import { RATE, SECONDS_TEXT, TimeRangeDto } from '../analytics/series.dto.js';

const NUMBER_OR_NULL = { type: 'number', nullable: true } as const;
export const NEVER_HERE = {
  type: 'number' as const,
  nullable: true,
  enum: [null],
  description: 'Of the database that former lines used; always null.',
};
const TEXT = { type: 'string' } as const;
const TEXT_OR_NULL = { type: 'string', nullable: true } as const;

export class ThroughputDto {
  @ApiProperty(SECONDS_TEXT) readonly timestamp!: string;
  @ApiProperty({ ...COUNT, description: 'Pushed.' }) readonly ingested!: number;
  @ApiProperty({ ...COUNT, description: 'Acknowledged.' }) readonly processed!: number;
  @ApiProperty(COUNT) readonly popMessages!: number;
  @ApiProperty(RATE) readonly ingestedPerSecond!: number;
  @ApiProperty(RATE) readonly processedPerSecond!: number;
  @ApiProperty(RATE) readonly popPerSecond!: number;
  @ApiProperty(RATE) readonly avgLagMs!: number;
  @ApiProperty(RATE) readonly maxLagMs!: number;
  @ApiProperty(NUMBER_OR_NULL) readonly avgEventLoopLagMs!: number | null;
  @ApiProperty(NUMBER_OR_NULL) readonly maxEventLoopLagMs!: number | null;
  @ApiProperty(NEVER_HERE) readonly minFreeSlots!: null;
  @ApiProperty(NUMBER_OR_NULL) readonly dbErrors!: number | null;
  @ApiProperty(COUNT) readonly ackFailed!: number;
  @ApiProperty(NUMBER_OR_NULL) readonly dlqCount!: number | null;
  @ApiProperty(NUMBER_OR_NULL) readonly queenCpuUserPct!: number | null;
  @ApiProperty(NUMBER_OR_NULL) readonly queenCpuSysPct!: number | null;
  @ApiProperty(NUMBER_OR_NULL) readonly queenRssMb!: number | null;
  @ApiProperty(NEVER_HERE) readonly dbPoolActive!: null;
  @ApiProperty(NEVER_HERE) readonly dbPoolIdle!: null;
  @ApiProperty(NEVER_HERE) readonly dbPoolSize!: null;
}

export class StatusQueueDto {
  @ApiProperty(UUID_TEXT) readonly id!: string;
  @ApiProperty(TEXT) readonly name!: string;
  @ApiProperty(TEXT_OR_NULL) readonly namespace!: string | null;
  @ApiProperty(TEXT_OR_NULL) readonly task!: string | null;
  @ApiProperty(COUNT) readonly partitions!: number;
  @ApiProperty(COUNT) readonly totalConsumed!: number;
}

export class RequestCountsDto {
  @ApiProperty(COUNT) readonly push!: number;
  @ApiProperty(COUNT) readonly pop!: number;
  @ApiProperty(COUNT) readonly ack!: number;
}

export class BatchEfficiencyDto {
  @ApiProperty(RATE) readonly push!: number;
  @ApiProperty(RATE) readonly pop!: number;
  @ApiProperty(RATE) readonly ack!: number;
}

export class StatusMessagesDto {
  @ApiProperty({ ...COUNT, description: 'Pushed, over all rows kept.' }) readonly total!: number;
  @ApiProperty({ ...COUNT, description: 'Now.' }) readonly pending!: number;
  @ApiProperty({ ...COUNT, description: 'Now.' }) readonly processing!: number;
  @ApiProperty(COUNT) readonly completed!: number;
  @ApiProperty(COUNT) readonly failed!: number;
  @ApiProperty(COUNT) readonly deadLetter!: number;
  @ApiProperty({ type: RequestCountsDto }) readonly requests!: RequestCountsDto;

  @ApiProperty({ type: BatchEfficiencyDto, description: 'Messages per request; 0 without any.' })
  readonly batchEfficiency!: BatchEfficiencyDto;
}

export class LeasesDto {
  @ApiProperty(COUNT) readonly active!: number;
  @ApiProperty(COUNT) readonly partitionsWithLeases!: number;
  @ApiProperty(COUNT) readonly totalBatchSize!: number;
  @ApiProperty({ type: 'integer', enum: [0] }) readonly totalAcked!: number;
}

export class TopErrorDto {
  @ApiProperty(TEXT) readonly error!: string;
  @ApiProperty(COUNT) readonly count!: number;
}

export class DeadLettersNowDto {
  @ApiProperty(COUNT) readonly totalMessages!: number;
  @ApiProperty(COUNT) readonly currentMessages!: number;
  @ApiProperty(COUNT) readonly affectedPartitions!: number;

  @ApiProperty({ type: [TopErrorDto], description: 'At most 5, of the newest dead letters.' })
  readonly topErrors!: TopErrorDto[];
}

export class StatusWorkerDto {
  @ApiProperty(TEXT) readonly hostname!: string;
  @ApiProperty(COUNT) readonly workerId!: number;
  @ApiProperty(RATE) readonly avgEventLoopLagMs!: number;
  @ApiProperty(RATE) readonly maxEventLoopLagMs!: number;
  @ApiProperty(NEVER_HERE) readonly freeSlots!: null;
  @ApiProperty(NEVER_HERE) readonly dbConnections!: null;
  @ApiProperty(NEVER_HERE) readonly jobQueueSize!: null;
  @ApiProperty({ ...COUNT, description: 'Pushed and popped in the last minutes.' })
  readonly messagesProcessed!: number;
}

export class WorkerDto extends StatusWorkerDto {
  @ApiProperty(NEVER_HERE) readonly backoffSize!: null;
  @ApiProperty(SECONDS_TEXT) readonly lastSeen!: string;
}

export class StatusErrorsDto {
  @ApiProperty(COUNT) readonly dbErrors!: number;
  @ApiProperty(COUNT) readonly ackFailed!: number;
  @ApiProperty(COUNT) readonly dlqMessages!: number;
}

export class StatusAnswerDto {
  @ApiProperty({ type: TimeRangeDto }) readonly timeRange!: TimeRangeDto;
  @ApiProperty(COUNT) readonly bucketMinutes!: number;
  @ApiProperty(COUNT) readonly pointCount!: number;
  @ApiProperty({ type: [ThroughputDto], description: 'Newest first.' })
  readonly throughput!: ThroughputDto[];
  @ApiProperty({ type: [StatusQueueDto], description: 'Queues that hold a message, by name.' })
  readonly queues!: StatusQueueDto[];
  @ApiProperty({ type: StatusMessagesDto }) readonly messages!: StatusMessagesDto;
  @ApiProperty({ type: LeasesDto }) readonly leases!: LeasesDto;
  @ApiProperty({ type: DeadLettersNowDto }) readonly deadLetterQueue!: DeadLettersNowDto;
  @ApiProperty({ type: [StatusWorkerDto], description: 'Seen in the last 2 minutes.' })
  readonly workers!: StatusWorkerDto[];
  @ApiProperty({ type: StatusErrorsDto }) readonly errors!: StatusErrorsDto;
  @ApiProperty({ type: 'integer', minimum: -1, description: 'Seconds; -1 before the first row.' })
  readonly statsAge!: number;
  @ApiProperty({ type: 'string', enum: ['raft'] }) readonly engine!: string;
  @ApiProperty({ type: [Number], required: false, description: 'Members that did not answer.' })
  readonly nodesMissing?: number[];
}

export class StatusPointDto {
  @ApiProperty(TIMESTAMP) readonly timestamp!: string;
  @ApiProperty(COUNT) readonly messages!: number;
}

export class StatusAnalyticsDto {
  @ApiProperty({ type: [StatusPointDto], description: 'One point: now.' })
  readonly dataPoints!: StatusPointDto[];
  @ApiProperty({ type: 'string', enum: ['hour'] }) readonly interval!: string;
  @ApiProperty(TIMESTAMP) readonly from!: string;
  @ApiProperty(TIMESTAMP) readonly to!: string;
}
