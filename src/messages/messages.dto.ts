/** Query and answers of the message routes as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { ANY_JSON, COUNT, TIMESTAMP, UUID_TEXT } from '../docs-api/index.js';

const STATUS = {
  type: 'string' as const,
  enum: ['pending', 'processing', 'completed', 'dead_letter'],
};
const MILLIS_TEXT = {
  type: 'string',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$',
} as const;
const exact = { type: 'string' as const, required: false, description: 'Exact.' };
const time = { type: 'string' as const, required: false };

export class MessageQueryDto {
  @ApiProperty(exact) readonly queue?: string;
  @ApiProperty(exact) readonly partition?: string;
  @ApiProperty(exact) readonly namespace?: string;
  @ApiProperty(exact) readonly task?: string;
  @ApiProperty({ ...exact, description: '`pending`, `processing`, `completed`, `dead_letter`.' })
  readonly status?: string;
  @ApiProperty({ type: 'integer', required: false, default: 200, minimum: 1, maximum: 1000 })
  readonly limit?: number;
  @ApiProperty({ type: 'integer', required: false, default: 0, minimum: 0 })
  readonly offset?: number;
  @ApiProperty({ ...time, description: 'ISO-8601, inclusive; default an hour ago.' })
  readonly from?: string;
  @ApiProperty({ ...time, description: 'ISO-8601, up to the end of its minute; default now.' })
  readonly to?: string;
}

export class BusStatusDto {
  @ApiProperty(COUNT) readonly consumedBy!: number;
  @ApiProperty(COUNT) readonly totalGroups!: number;
}

export class SegmentPlaceDto {
  @ApiProperty({ ...COUNT, description: 'First offset of its append.' }) readonly seq!: number;
  @ApiProperty(COUNT) readonly frameIdx!: number;
}

export class MessageRowDto {
  @ApiProperty(UUID_TEXT) readonly id!: string;
  @ApiProperty({ type: 'string' }) readonly transactionId!: string;
  @ApiProperty({ type: 'string', pattern: '^[0-9a-f]{32}$' }) readonly txnHash!: string;
  @ApiProperty(ANY_JSON) readonly data!: unknown;
  @ApiProperty(ANY_JSON) readonly payload!: unknown;
  @ApiProperty({ ...UUID_TEXT, nullable: true }) readonly traceId!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) readonly producerSub!: string | null;
  @ApiProperty(MILLIS_TEXT) readonly createdAt!: string;
  @ApiProperty(COUNT) readonly offset!: number;
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'string' }) readonly partition!: string;
  @ApiProperty(UUID_TEXT) readonly partitionId!: string;
  @ApiProperty(STATUS) readonly status!: string;
  @ApiProperty(STATUS) readonly queueStatus!: string;
  @ApiProperty({ type: BusStatusDto }) readonly busStatus!: BusStatusDto;
  @ApiProperty({ type: 'string' }) readonly queuePath!: string;
  @ApiProperty({ type: 'string', nullable: true }) readonly namespace!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) readonly task!: string | null;
  @ApiProperty({ type: 'integer' }) readonly queuePriority!: number;
  @ApiProperty({ type: 'boolean' }) readonly payloadAvailable!: boolean;
  @ApiProperty({ ...MILLIS_TEXT, nullable: true }) readonly leaseExpiresAt!: string | null;
  @ApiProperty({ type: SegmentPlaceDto }) readonly segment!: SegmentPlaceDto;
  @ApiProperty({ type: 'boolean' }) readonly isEncrypted!: boolean;
}

export class MessagePageDto {
  @ApiProperty(COUNT) readonly limit!: number;
  @ApiProperty(COUNT) readonly offset!: number;
}

export class ConsumptionModeDto {
  @ApiProperty({ type: 'boolean' }) readonly hasQueueMode!: boolean;
  @ApiProperty(COUNT) readonly busGroupsCount!: number;
  @ApiProperty({ type: 'string', enum: ['none', 'queue', 'bus', 'hybrid'] })
  readonly type!: string;
}

export class MessageListDto {
  @ApiProperty({ type: [MessageRowDto], description: 'Newest first.' })
  readonly messages!: MessageRowDto[];
  @ApiProperty({ ...COUNT, description: 'Rows of this page.' }) readonly total!: number;
  @ApiProperty({ type: MessagePageDto }) readonly pagination!: MessagePageDto;
  @ApiProperty({ type: ConsumptionModeDto }) readonly mode!: ConsumptionModeDto;
}

export class MessageReaderDto {
  @ApiProperty({ type: 'string' }) readonly name!: string;
  @ApiProperty({ type: 'integer', minimum: -1 }) readonly committed!: number;
  @ApiProperty({ type: 'boolean' }) readonly consumed!: boolean;
  @ApiProperty({ ...TIMESTAMP, nullable: true }) readonly leaseExpiresAt!: string | null;
}

export class MessageDetailDto {
  @ApiProperty(UUID_TEXT) readonly id!: string;
  @ApiProperty({ type: 'string' }) readonly transactionId!: string;
  @ApiProperty(ANY_JSON) readonly data!: unknown;
  @ApiProperty(ANY_JSON) readonly payload!: unknown;
  @ApiProperty({ ...UUID_TEXT, nullable: true }) readonly traceId!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) readonly producerSub!: string | null;
  @ApiProperty(TIMESTAMP) readonly createdAt!: string;
  @ApiProperty(UUID_TEXT) readonly partitionId!: string;
  @ApiProperty({ type: 'string' }) readonly partition!: string;
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'string' }) readonly queuePath!: string;
  @ApiProperty({ type: 'string' }) readonly namespace!: string;
  @ApiProperty({ type: 'string' }) readonly task!: string;
  @ApiProperty(STATUS) readonly status!: string;
  @ApiProperty({ type: 'string', nullable: true }) readonly errorMessage!: string | null;
  @ApiProperty(COUNT) readonly retryCount!: number;
  @ApiProperty({ type: 'boolean' }) readonly isEncrypted!: boolean;
  @ApiProperty({ type: 'object', additionalProperties: true, description: 'Options.' })
  readonly queueConfig!: object;
  @ApiProperty({ type: ConsumptionModeDto }) readonly mode!: ConsumptionModeDto;
  @ApiProperty({ type: [MessageReaderDto] }) readonly consumerGroups!: MessageReaderDto[];
}

export class MessageNotFoundDto {
  @ApiProperty({ type: 'string' }) readonly error!: string;
}

const ID = '0199c0de-dddd-7bbb-8ccc-ddddeeeeffff';
const SHARED = {
  ...{ id: ID, transactionId: 'order-1', data: { n: 1 }, payload: { n: 1 } },
  ...{ traceId: null, producerSub: null, queue: 'orders', partition: 'customer-9' },
  ...{ partitionId: ID, queuePath: 'orders/customer-9', status: 'pending', isEncrypted: false },
};
const MODE = { hasQueueMode: true, busGroupsCount: 0, type: 'queue' };

export const LIST_ANSWERS = {
  'one message': {
    messages: [
      {
        ...SHARED,
        ...{ txnHash: '0123456789abcdef0123456789abcdef', createdAt: '2026-03-04T05:06:07.123Z' },
        ...{ offset: 7, queueStatus: 'pending', busStatus: { consumedBy: 0, totalGroups: 0 } },
        ...{ namespace: null, task: null, queuePriority: 0, payloadAvailable: true },
        ...{ leaseExpiresAt: null, segment: { seq: 5, frameIdx: 2 } },
      },
    ],
    ...{ total: 1, pagination: { limit: 200, offset: 0 }, mode: MODE },
  },
};

export const DETAIL_ANSWERS = {
  'one message': {
    ...SHARED,
    ...{ createdAt: '2026-03-04T05:06:07.123456Z', namespace: '', task: '' },
    ...{ errorMessage: null, retryCount: 0, queueConfig: { leaseTime: 60 }, mode: MODE },
    consumerGroups: [
      { name: '__QUEUE_MODE__', committed: 3, consumed: false, leaseExpiresAt: null },
    ],
  },
};

export const NOT_FOUND = { error: 'Message not found' };
export const NOT_FOUND_ANSWERS = { absent: NOT_FOUND };
