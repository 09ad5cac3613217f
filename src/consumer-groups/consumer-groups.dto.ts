/** Requests and answers of the consumer-group routes (messages.md §10) as the API document shows them. */
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { COUNT, TIMESTAMP, UUID_TEXT } from '../docs-api/index.js';

const MILLIS_TEXT = {
  type: 'string',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$',
} as const;
const NOTHING = {
  type: 'string',
  nullable: true,
  enum: [null] as null[],
} satisfies ApiPropertyOptions;
const WORKER = { ...UUID_TEXT, nullable: true, description: 'Lease id while a lease is live.' };

export class ConsumerGroupRowDto {
  @ApiProperty({ type: 'string' }) readonly name!: string;
  @ApiProperty({ type: [String] }) readonly topics!: string[];
  @ApiProperty({ type: 'string' }) readonly queueName!: string;
  @ApiProperty({ ...COUNT, description: 'Cursors, not live consumers.' }) readonly members!: number;
  @ApiProperty(COUNT) readonly partitionCursors!: number;
  @ApiProperty(COUNT) readonly partitionsWithLag!: number;
  @ApiProperty({ ...COUNT, description: 'Messages behind.' }) readonly totalLag!: number;
  @ApiProperty({ ...COUNT, description: 'Seconds.' }) readonly maxTimeLag!: number;
  @ApiProperty({ type: 'string', enum: ['Lagging', 'Stable', 'Dead'] }) readonly state!: string;
  @ApiProperty({ type: 'string', enum: ['segments'] }) readonly storage!: string;
  @ApiProperty({ type: 'string', enum: ['queen'] }) readonly kind!: string;

  @ApiProperty({
    type: 'string',
    nullable: true,
    enum: ['all', 'new', 'timestamp', null],
    description: 'Null for queue mode and for groups that never registered.',
  })
  readonly subscriptionMode!: string | null;

  @ApiProperty({ ...TIMESTAMP, nullable: true }) readonly subscriptionTimestamp!: string | null;
  @ApiProperty({ ...TIMESTAMP, nullable: true }) readonly subscriptionCreatedAt!: string | null;
  @ApiProperty({ type: 'boolean' }) readonly conflation!: boolean;
}

export class GroupPartitionDto {
  @ApiProperty({ type: 'string' }) readonly partition!: string;
  @ApiProperty(WORKER) readonly workerId!: string | null;
  @ApiProperty(NOTHING) readonly lastConsumedAt!: null;
  @ApiProperty(COUNT) readonly totalConsumed!: number;
  @ApiProperty(COUNT) readonly offsetLag!: number;
  @ApiProperty(COUNT) readonly timeLagSeconds!: number;
  @ApiProperty({ type: 'boolean' }) readonly leaseActive!: boolean;
}

export class GroupOnQueueDto {
  @ApiProperty({ type: 'boolean' }) readonly conflation!: boolean;
  @ApiProperty({ type: 'string', enum: ['queen'] }) readonly kind!: string;

  @ApiProperty({
    type: 'boolean',
    required: false,
    enum: [true],
    description: 'Present when the group has more lanes than `QUEEN_DASH_SIZES_MAX`.',
  })
  readonly truncated?: true;

  @ApiProperty({ type: [GroupPartitionDto] }) readonly partitions!: GroupPartitionDto[];
}

export class GroupNotFoundDto {
  @ApiProperty({ type: 'string' }) readonly error!: string;
}

export class LaggingRowDto {
  @ApiProperty({ type: 'string' }) readonly consumer_group!: string;
  @ApiProperty({ type: 'string' }) readonly queue_name!: string;
  @ApiProperty({ type: 'string' }) readonly partition_name!: string;
  @ApiProperty(UUID_TEXT) readonly partition_id!: string;
  @ApiProperty(WORKER) readonly worker_id!: string | null;
  @ApiProperty({ type: 'string', enum: ['queen'] }) readonly kind!: string;
  @ApiProperty(COUNT) readonly offset_lag!: number;
  @ApiProperty(COUNT) readonly time_lag_seconds!: number;
  @ApiProperty({ type: 'number', minimum: 0 }) readonly lag_hours!: number;
  @ApiProperty(MILLIS_TEXT) readonly oldest_unconsumed_at!: string;
  @ApiProperty(NOTHING) readonly last_consumed_at!: null;
}

export class PositionEntryDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'string', required: false, default: 'Default' }) readonly partition?: string;
}

export class PositionsRequestDto {
  @ApiProperty({ type: 'string' }) readonly consumerGroup!: string;

  @ApiProperty({
    type: [PositionEntryDto],
    required: false,
    maxItems: 65_536,
    description: 'Absent: everywhere the group is registered.',
  })
  readonly entries?: PositionEntryDto[];
}

export class PositionDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'string' }) readonly partition!: string;

  @ApiProperty({ ...COUNT, nullable: true, description: 'Next to read; null without a cursor.' })
  readonly offset!: number | null;

  @ApiProperty({ type: 'string', nullable: true, required: false })
  readonly metadata?: string | null;
}

export class PositionsDto {
  @ApiProperty({ type: 'string' }) readonly consumerGroup!: string;
  @ApiProperty({ type: [PositionDto] }) readonly entries!: PositionDto[];
}

export class DeletedGroupDto {
  @ApiProperty({ type: 'boolean' }) readonly success!: boolean;
  @ApiProperty({ type: 'string' }) readonly consumerGroup!: string;
  @ApiProperty({ type: 'string', nullable: true }) readonly queueName!: string | null;
  @ApiProperty({ ...COUNT, description: 'Cursors.' }) readonly deletedPartitions!: number;
  @ApiProperty({ type: 'boolean' }) readonly metadataDeleted!: boolean;
  @ApiProperty({ type: [String] }) readonly queues!: string[];
}

export class SubscriptionRequestDto {
  @ApiProperty({ type: 'string', description: 'ISO-8601.' })
  readonly subscriptionTimestamp!: string;
}

export class SubscriptionDto {
  @ApiProperty({ type: 'boolean' }) readonly success!: boolean;
  @ApiProperty({ type: 'string' }) readonly consumerGroup!: string;
  @ApiProperty({ type: 'string', description: 'As sent.' }) readonly newTimestamp!: string;
  @ApiProperty({ ...COUNT, description: 'Queues.' }) readonly rowsUpdated!: number;
}

export class SeekRequestDto {
  @ApiProperty({ type: 'boolean', required: false, description: 'Behind the newest message.' })
  readonly toEnd?: boolean;

  @ApiProperty({
    type: 'string',
    required: false,
    description: 'ISO-8601: next is the first message appended at or after it, else the end.',
  })
  readonly timestamp?: string;
}

export class SoughtDto {
  @ApiProperty({ type: 'boolean' }) readonly success!: boolean;
  @ApiProperty({ type: 'string' }) readonly consumerGroup!: string;
  @ApiProperty({ type: 'string' }) readonly queueName!: string;
  @ApiProperty({ type: 'string', nullable: true }) readonly partitionName!: string | null;
  @ApiProperty({ type: 'boolean' }) readonly seekToEnd!: boolean;
  @ApiProperty({ type: 'string', nullable: true }) readonly targetTimestamp!: string | null;
  @ApiProperty(COUNT) readonly partitionsUpdated!: number;
  @ApiProperty({ type: 'boolean' }) readonly updated!: boolean;
}

export class SeekRefusalDto {
  @ApiProperty({ type: 'boolean', enum: [false] }) readonly success!: boolean;
  @ApiProperty({ type: 'string' }) readonly error!: string;
  @ApiProperty({ type: 'string', required: false }) readonly consumerGroup?: string;
  @ApiProperty({ type: 'string', required: false }) readonly queueName?: string;
  @ApiProperty({ ...COUNT, required: false }) readonly partitionsUpdated?: number;
}
