/** Request and answers of a transaction as the API document shows them (messages.md §8). */
import { ApiProperty } from '@nestjs/swagger';
import { ANY_JSON, COUNT, UUID_TEXT } from '../docs-api/index.js';

const OPTIONAL_TEXT = { type: 'string', nullable: true, required: false } as const;
const OPEN_OBJECTS = {
  type: 'array',
  required: false,
  nullable: true,
  items: { type: 'object', additionalProperties: true },
} as const;

export class TransactionPushItemDto {
  @ApiProperty({ type: 'string', minLength: 1 }) readonly queue!: string;
  @ApiProperty({ ...OPTIONAL_TEXT, default: 'Default' }) readonly partition?: string | null;
  @ApiProperty({
    ...OPTIONAL_TEXT,
    description: 'One that is stored already rolls the transaction back.',
  })
  readonly transactionId?: string | null;
  @ApiProperty({ ...OPTIONAL_TEXT, description: 'A UUID, kept with the message.' })
  readonly traceId?: string | null;
  @ApiProperty({ ...ANY_JSON }) readonly payload!: unknown;
}

export class TransactionOperationDto {
  @ApiProperty({ type: 'string', enum: ['push', 'ack'] }) readonly type!: string;

  @ApiProperty({
    type: [TransactionPushItemDto],
    required: false,
    description: 'Of a push; a single item may stand in the operation itself.',
  })
  readonly items?: TransactionPushItemDto[];

  @ApiProperty({ ...OPTIONAL_TEXT, description: 'Inline push.' }) readonly queue?: string | null;
  @ApiProperty({ ...OPTIONAL_TEXT, description: 'Inline push.' })
  readonly partition?: string | null;
  @ApiProperty({ ...ANY_JSON, required: false, description: 'Inline push.' })
  readonly payload?: unknown;
  @ApiProperty({ ...OPTIONAL_TEXT, description: 'Of an inline push or of the popped message.' })
  readonly transactionId?: string | null;
  @ApiProperty({ ...OPTIONAL_TEXT, description: 'Inline push.' }) readonly traceId?: string | null;
  @ApiProperty({ ...OPTIONAL_TEXT, description: 'Ack: digits, as a string.' })
  readonly partitionId?: string | null;
  @ApiProperty({ ...OPTIONAL_TEXT, description: 'Ack: absent is queue mode.' })
  readonly consumerGroup?: string | null;
  @ApiProperty({
    ...OPTIONAL_TEXT,
    description: 'Ack: fence. Absent: the only lease the transaction names, else none.',
  })
  readonly leaseId?: string | null;
  @ApiProperty({
    ...OPTIONAL_TEXT,
    description: 'Ack: `failed`, `dlq`, `retry`; else completed.',
  })
  readonly status?: string | null;
  @ApiProperty({ ...OPTIONAL_TEXT, description: 'Ack: text kept with a dead letter.' })
  readonly error?: string | null;
}

export class TransactionPositionDto {
  @ApiProperty({ type: 'string', description: 'Must exist.' }) readonly queue!: string;
  @ApiProperty({ type: 'string', description: 'Registered when it is new.' })
  readonly consumerGroup!: string;
  @ApiProperty({ ...OPTIONAL_TEXT, default: 'Default' }) readonly partition?: string | null;
  @ApiProperty({
    type: 'integer',
    minimum: 0,
    nullable: true,
    description: 'Next offset to read; null forgets the cursor.',
  })
  readonly offset!: number | null;
  @ApiProperty({ ...OPTIONAL_TEXT, description: 'Kept with the position; at most 4,096 bytes.' })
  readonly metadata?: string | null;
  @ApiProperty({ ...OPTIONAL_TEXT, description: 'Start policy of a group registered by this.' })
  readonly subscriptionMode?: string | null;
}

export class TransactionDto {
  @ApiProperty({ type: [TransactionOperationDto], required: false, nullable: true })
  readonly operations?: TransactionOperationDto[] | null;
  @ApiProperty({ type: 'array', items: { type: 'string' }, required: false, nullable: true })
  readonly requiredLeases?: string[] | null;
  @ApiProperty({ ...OPEN_OBJECTS, description: 'Key-value operations, at most 64.' })
  readonly kv?: object[] | null;
  @ApiProperty({ ...OPEN_OBJECTS, description: 'Timer operations.' })
  readonly timers?: object[] | null;
  @ApiProperty({
    type: [TransactionPositionDto],
    required: false,
    nullable: true,
    maxItems: 16_384,
  })
  readonly positions?: TransactionPositionDto[] | null;
}

export class TransactionResultDto {
  @ApiProperty({ ...COUNT, description: 'Flat: acks and push items, then kv, timers, positions.' })
  readonly index!: number;
  @ApiProperty({ type: 'string', enum: ['ack', 'push', 'kv', 'timer', 'position'] })
  readonly type!: string;
  @ApiProperty({ ...COUNT, required: false, description: 'Place in its own array.' })
  readonly opIndex?: number;
  @ApiProperty({ type: 'boolean', required: false }) readonly success?: boolean;
  @ApiProperty({ type: 'string', required: false }) readonly transactionId?: string;
  @ApiProperty({ ...UUID_TEXT, required: false }) readonly messageId?: string;
  @ApiProperty({ type: 'string', required: false }) readonly queueName?: string;
  @ApiProperty({
    type: 'boolean',
    required: false,
    description: 'The same item stands earlier in this transaction.',
  })
  readonly duplicate?: boolean;
  @ApiProperty({ type: 'string', nullable: true, required: false })
  readonly error?: string | null;
  @ApiProperty({ type: 'boolean', required: false, description: 'Ack: it became a dead letter.' })
  readonly dlq?: boolean;
}

export class CommittedDto {
  @ApiProperty({ ...UUID_TEXT, description: 'Of this call; no key of anything.' })
  readonly transactionId!: string;
  @ApiProperty({ type: 'boolean', enum: [true] }) readonly success!: boolean;
  @ApiProperty({ type: [TransactionResultDto] }) readonly results!: TransactionResultDto[];
}

export class RolledBackDto {
  @ApiProperty(UUID_TEXT) readonly transactionId!: string;
  @ApiProperty({ type: 'boolean', enum: [false] }) readonly success!: boolean;
  @ApiProperty({ type: 'string', example: 'duplicate' }) readonly reason!: string;
  @ApiProperty({ type: 'string' }) readonly error!: string;
  @ApiProperty({ type: 'array', items: {}, maxItems: 0 }) readonly results!: unknown[];
  @ApiProperty({ type: 'boolean', required: false, description: '`kv_precondition`: false.' })
  readonly ok?: boolean;
  @ApiProperty({ ...COUNT, required: false, description: '`kv_precondition`: flat index.' })
  readonly failedIndex?: number;
  @ApiProperty({ type: 'string', required: false, description: '`kv_precondition`.' })
  readonly kvReason?: string;
  @ApiProperty({ ...COUNT, required: false, description: '`kv_precondition`: of the row.' })
  readonly version?: number;
  @ApiProperty({ ...ANY_JSON, required: false, description: '`kv_precondition`: of the row.' })
  readonly value?: unknown;
}
