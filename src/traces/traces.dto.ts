/** Requests and answers of traces (messages.md §13) as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { ANY_JSON, COUNT, TIMESTAMP, UUID_TEXT } from '../docs-api/index.js';

const OPTIONAL = { type: 'string', nullable: true, required: false } as const;
const NULLABLE = { type: 'string', nullable: true } as const;
const NAMES = { type: 'array', items: { type: 'string' } } as const;

export class TraceRequestDto {
  @ApiProperty({ type: 'string', minLength: 1, description: 'Or `transaction_id`.' })
  readonly transactionId!: string;
  @ApiProperty({ ...OPTIONAL, description: 'UUID or number; or `partition_id`.' })
  readonly partitionId?: string | null;
  @ApiProperty(OPTIONAL) readonly messageId?: string | null;
  @ApiProperty(OPTIONAL) readonly consumerGroup?: string | null;
  @ApiProperty({ ...NAMES, required: false, maxItems: 64, description: 'Or `names`.' })
  readonly traceNames?: string[];
  @ApiProperty({ ...OPTIONAL, default: 'event', description: 'Or `type`.' })
  readonly eventType?: string | null;
  @ApiProperty({ ...ANY_JSON, required: false, description: 'At most 64 KiB.' })
  readonly data?: unknown;
  @ApiProperty(OPTIONAL) readonly worker?: string | null;
  @ApiProperty({ ...OPTIONAL, description: 'A UUID; minted when absent or none.' })
  readonly traceId?: string | null;
}

export class TraceWrittenDto {
  @ApiProperty({ type: 'boolean', enum: [true] }) readonly success!: boolean;
  @ApiProperty(UUID_TEXT) readonly traceId!: string;
}

export class TraceRefusalDto {
  @ApiProperty({ type: 'boolean', enum: [false], required: false }) readonly success?: boolean;
  @ApiProperty({ type: 'string' }) readonly error!: string;
}

export class TracePageQueryDto {
  @ApiProperty({ type: 'integer', required: false, minimum: 1, maximum: 1000 })
  readonly limit?: number;
  @ApiProperty({ type: 'integer', required: false, minimum: 0, default: 0 })
  readonly offset?: number;
}

class PaginationDto {
  @ApiProperty(COUNT) readonly limit!: number;
  @ApiProperty(COUNT) readonly offset!: number;
}

class TraceNameDto {
  @ApiProperty({ type: 'string' }) readonly trace_name!: string;
  @ApiProperty(COUNT) readonly trace_count!: number;
  @ApiProperty({ ...COUNT, description: 'Messages its traces speak of.' })
  readonly message_count!: number;
  @ApiProperty(TIMESTAMP) readonly last_seen!: string;
}

export class TraceNamesDto {
  @ApiProperty({ type: [TraceNameDto] }) readonly trace_names!: TraceNameDto[];
  @ApiProperty(COUNT) readonly total!: number;
  @ApiProperty({ type: PaginationDto }) readonly pagination!: PaginationDto;
}

class TraceDto {
  @ApiProperty(UUID_TEXT) readonly traceId!: string;
  @ApiProperty(UUID_TEXT) readonly trace_id!: string;
  @ApiProperty(NULLABLE) readonly partitionId!: string | null;
  @ApiProperty(NULLABLE) readonly partition_id!: string | null;
  @ApiProperty(NULLABLE) readonly messageId!: string | null;
  @ApiProperty(NULLABLE) readonly message_id!: string | null;
  @ApiProperty({ type: 'string' }) readonly transactionId!: string;
  @ApiProperty({ type: 'string' }) readonly transaction_id!: string;
  @ApiProperty(NULLABLE) readonly consumerGroup!: string | null;
  @ApiProperty(NULLABLE) readonly consumer_group!: string | null;
  @ApiProperty({ type: 'string' }) readonly eventType!: string;
  @ApiProperty({ type: 'string' }) readonly event_type!: string;
  @ApiProperty(ANY_JSON) readonly data!: unknown;
  @ApiProperty(NULLABLE) readonly worker!: string | null;
  @ApiProperty(NULLABLE) readonly worker_id!: string | null;
  @ApiProperty(NAMES) readonly names!: string[];
  @ApiProperty(NAMES) readonly trace_names!: string[];
  @ApiProperty(TIMESTAMP) readonly createdAt!: string;
  @ApiProperty(TIMESTAMP) readonly created_at!: string;
  @ApiProperty(NULLABLE) readonly queue_name!: string | null;
  @ApiProperty(NULLABLE) readonly partition_name!: string | null;
  @ApiProperty({ type: 'object', additionalProperties: true, nullable: true })
  readonly message_payload!: null;
}

export class TraceListDto {
  @ApiProperty({ type: [TraceDto], description: 'Newest first.' }) readonly traces!: TraceDto[];
  @ApiProperty({ type: [TraceDto], description: 'The same.' }) readonly events!: TraceDto[];
  @ApiProperty(COUNT) readonly total!: number;
  @ApiProperty({ type: PaginationDto }) readonly pagination!: PaginationDto;
}

const ID = '0199c0de-1111-7222-8333-444455556666';
const AT = '2026-03-04T05:06:07.123456Z';

export const TRACE_EXAMPLES = {
  'of a message': {
    value: {
      transactionId: 'order-1',
      partitionId: '1',
      traceNames: ['checkout'],
      eventType: 'info',
      data: { step: 'charged' },
      worker: 'worker-1',
    },
  },
  'by name alone': { value: { transactionId: 'order-2', traceNames: ['checkout'] } },
};

export const WRITTEN = { written: { success: true, traceId: ID } };
export const NO_TRANSACTION_ID = { error: 'transactionId is required' };
export const NO_PARTITION = { success: false, error: 'Partition not found' };

const trace = {
  ...{ traceId: ID, trace_id: ID, partitionId: '1', partition_id: '1' },
  ...{ messageId: null, message_id: null, transactionId: 'order-1', transaction_id: 'order-1' },
  ...{ consumerGroup: null, consumer_group: null, eventType: 'info', event_type: 'info' },
  ...{ data: { step: 'charged' }, worker: 'worker-1', worker_id: 'worker-1' },
  ...{ names: ['checkout'], trace_names: ['checkout'], createdAt: AT, created_at: AT },
  ...{ queue_name: 'orders', partition_name: 'customer-9', message_payload: null },
};

const page = { total: 1, pagination: { limit: 200, offset: 0 } };

export const LIST = { 'one trace': { traces: [trace], events: [trace], ...page } };
export const NAMES_LIST = {
  'one name': {
    trace_names: [{ trace_name: 'checkout', trace_count: 2, message_count: 2, last_seen: AT }],
    total: 1,
    pagination: { limit: 100, offset: 0 },
  },
};
