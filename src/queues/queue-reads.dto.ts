/** Answers of the reads of queues (messages.md §9.3) as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { COUNT, TIMESTAMP, UUID_TEXT } from '../docs-api/index.js';
import { QueueOptionsDto } from './queue-options.dto.js';

export class QueueListQueryDto {
  @ApiProperty({
    type: 'string',
    required: false,
    description: '`lanes`: names and numbers of partitions only; no message is counted.',
  })
  readonly stats?: string;

  @ApiProperty({ type: 'string', required: false, description: 'Exact label.' })
  readonly namespace?: string;

  @ApiProperty({ type: 'string', required: false, description: 'Exact label.' })
  readonly task?: string;

  @ApiProperty({ type: 'string', required: false, description: 'Part of the name, any case.' })
  readonly search?: string;

  @ApiProperty({ type: 'integer', required: false, minimum: 1, description: 'Absent: all.' })
  readonly limit?: number;

  @ApiProperty({ type: 'integer', required: false, default: 0, minimum: 0 })
  readonly offset?: number;
}

export class SegmentCountsDto {
  @ApiProperty(COUNT) readonly segments!: number;
  @ApiProperty(COUNT) readonly messages!: number;
}

export class MessageCountsDto {
  @ApiProperty({ ...COUNT, description: 'Retained.' })
  readonly total!: number;

  @ApiProperty({ ...COUNT, description: 'Waiting, without what is leased.' })
  readonly pending!: number;

  @ApiProperty({ ...COUNT, description: 'Leased.' })
  readonly processing!: number;

  @ApiProperty(COUNT) readonly completed!: number;
  @ApiProperty(COUNT) readonly deadLetter!: number;
}

export class QueueRowDto {
  @ApiProperty(UUID_TEXT) readonly id!: string;
  @ApiProperty({ type: 'string' }) readonly name!: string;
  @ApiProperty({ type: 'string', description: 'The same as `name`.' }) readonly queue!: string;
  @ApiProperty({ type: 'string' }) readonly namespace!: string;
  @ApiProperty({ type: 'string' }) readonly task!: string;
  @ApiProperty({ type: 'string', enum: ['segments'] }) readonly storage!: string;
  @ApiProperty(COUNT) readonly partitions!: number;
  @ApiProperty({ type: SegmentCountsDto }) readonly segments!: SegmentCountsDto;
  @ApiProperty({ type: MessageCountsDto }) readonly messages!: MessageCountsDto;
  @ApiProperty(COUNT) readonly retainedBytes!: number;
  @ApiProperty({ type: QueueOptionsDto }) readonly options!: QueueOptionsDto;
  @ApiProperty(TIMESTAMP) readonly createdAt!: string;
}

export class QueueListDto {
  @ApiProperty({ type: [QueueRowDto], description: 'Newest queue first.' })
  readonly queues!: QueueRowDto[];

  @ApiProperty(COUNT) readonly kvRows!: number;
  @ApiProperty(COUNT) readonly kvBytes!: number;
  @ApiProperty(COUNT) readonly timerRows!: number;
  @ApiProperty(COUNT) readonly timerBytes!: number;
}

export class QueueLaneDto {
  @ApiProperty(UUID_TEXT) readonly id!: string;
  @ApiProperty({ type: 'string' }) readonly name!: string;
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty(COUNT) readonly partitions!: number;
  @ApiProperty(TIMESTAMP) readonly createdAt!: string;
}

export class QueueLanesDto {
  @ApiProperty({ type: [QueueLaneDto] }) readonly queues!: QueueLaneDto[];
  @ApiProperty({ type: 'string', enum: ['lanes'] }) readonly stats!: string;
}

export class DetailCountsDto {
  @ApiProperty({ ...COUNT, description: 'Retained.' })
  readonly total!: number;

  @ApiProperty({ ...COUNT, description: 'Behind the slowest reader, leased ones included.' })
  readonly pending!: number;

  @ApiProperty({ ...COUNT, description: 'Leased.' })
  readonly processing!: number;

  @ApiProperty(COUNT) readonly completed!: number;
  @ApiProperty({ type: 'integer', nullable: true, enum: [null] }) readonly failed!: null;
  @ApiProperty(COUNT) readonly deadLetter!: number;
}

export class PartitionCursorDto {
  @ApiProperty(COUNT) readonly totalConsumed!: number;
  @ApiProperty({ ...COUNT, description: 'Always 0.' }) readonly batchesConsumed!: number;
}

export class PartitionDetailDto {
  @ApiProperty({ ...UUID_TEXT, description: 'Second identity of the partition; not for acks.' })
  readonly id!: string;

  @ApiProperty({ type: 'string' }) readonly name!: string;
  @ApiProperty(TIMESTAMP) readonly createdAt!: string;
  @ApiProperty({ type: DetailCountsDto }) readonly messages!: DetailCountsDto;
  @ApiProperty({ type: DetailCountsDto }) readonly stats!: DetailCountsDto;
  @ApiProperty({ type: PartitionCursorDto }) readonly cursor!: PartitionCursorDto;
  @ApiProperty({ ...TIMESTAMP, nullable: true }) readonly lastActivity!: string | null;
  @ApiProperty({ ...TIMESTAMP, nullable: true }) readonly oldestMessage!: string | null;
  @ApiProperty({ ...TIMESTAMP, nullable: true }) readonly newestMessage!: string | null;
  @ApiProperty(COUNT) readonly retainedBytes!: number;
}

export class QueueDetailDto {
  @ApiProperty(UUID_TEXT) readonly id!: string;
  @ApiProperty({ type: 'string' }) readonly name!: string;
  @ApiProperty({ type: 'string' }) readonly namespace!: string;
  @ApiProperty({ type: 'string' }) readonly task!: string;
  @ApiProperty(TIMESTAMP) readonly createdAt!: string;
  @ApiProperty({ type: QueueOptionsDto }) readonly options!: QueueOptionsDto;

  @ApiProperty({
    type: [PartitionDetailDto],
    description: 'By name; at most `QUEEN_DASH_SIZES_MAX`.',
  })
  readonly partitions!: PartitionDetailDto[];

  @ApiProperty({ type: 'boolean', required: false, description: 'More partitions than listed.' })
  readonly partitionsTruncated?: boolean;

  @ApiProperty({ type: SegmentCountsDto }) readonly segments!: SegmentCountsDto;
  @ApiProperty({ type: DetailCountsDto }) readonly totals!: DetailCountsDto;
  @ApiProperty(COUNT) readonly retainedBytes!: number;
}

export class QueueIdentityDto {
  @ApiProperty(UUID_TEXT) readonly id!: string;
  @ApiProperty({ type: 'string' }) readonly name!: string;
  @ApiProperty({ type: 'string' }) readonly namespace!: string;
  @ApiProperty({ type: 'string' }) readonly task!: string;
  @ApiProperty({ type: 'integer' }) readonly priority!: number;
  @ApiProperty(TIMESTAMP) readonly createdAt!: string;
  @ApiProperty({ type: QueueOptionsDto }) readonly config!: QueueOptionsDto;
}

export class QueueStatusTotalsDto {
  @ApiProperty({ type: DetailCountsDto }) readonly messages!: DetailCountsDto;
}

export class QueueStatusDto {
  @ApiProperty({ type: QueueIdentityDto }) readonly queue!: QueueIdentityDto;

  @ApiProperty({
    type: [PartitionDetailDto],
    description: 'By name; at most `QUEEN_DASH_SIZES_MAX`.',
  })
  readonly partitions!: PartitionDetailDto[];

  @ApiProperty({ type: 'boolean', required: false, description: 'More partitions than listed.' })
  readonly partitionsTruncated?: boolean;

  @ApiProperty({ type: QueueStatusTotalsDto }) readonly totals!: QueueStatusTotalsDto;
}

export class PartitionDepthDto {
  @ApiProperty({ type: 'string' }) readonly partition!: string;
  @ApiProperty(COUNT) readonly pending!: number;
  @ApiProperty(COUNT) readonly processing!: number;
  @ApiProperty(COUNT) readonly ready!: number;
}

export class QueueDepthDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;

  @ApiProperty({ type: 'string', nullable: true, description: 'Null: the worst named group.' })
  readonly group!: string | null;

  @ApiProperty(COUNT) readonly pending!: number;
  @ApiProperty(COUNT) readonly processing!: number;
  @ApiProperty({ ...COUNT, description: '`pending` − `processing`.' }) readonly ready!: number;
  @ApiProperty(COUNT) readonly partitionsPending!: number;
  @ApiProperty(COUNT) readonly partitionsReady!: number;
  @ApiProperty({ type: 'boolean' }) readonly conflation!: boolean;

  @ApiProperty({ ...COUNT, description: 'Of a conflating group: partitions, else messages.' })
  readonly effectivePending!: number;

  @ApiProperty(COUNT) readonly effectiveReady!: number;

  @ApiProperty({
    type: [PartitionDepthDto],
    description: 'By name; at most `QUEEN_DASH_SIZES_MAX`.',
  })
  readonly partitions!: PartitionDepthDto[];

  @ApiProperty({ type: 'boolean', required: false, description: 'More partitions than listed.' })
  readonly partitionsTruncated?: boolean;
}

export class QueueSizesDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: COUNT,
    description: 'Retained bytes by partition name; at most `QUEEN_DASH_SIZES_MAX`.',
  })
  readonly partitions!: Record<string, number>;

  @ApiProperty({ type: 'boolean', required: false, description: 'More partitions than listed.' })
  readonly truncated?: boolean;
}

export class QueueNotFoundDto {
  @ApiProperty({ type: 'string', enum: ['Queue not found'] }) readonly error!: string;
}
