/** Requests and answers of the dead-letter routes as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { ANY_JSON, COUNT, PARTITION_NUMBER, TIMESTAMP, UUID_TEXT } from '../docs-api/index.js';

const text = (description: string) => ({
  type: 'string' as const,
  required: false,
  description,
});

export class LetterQueryDto {
  @ApiProperty(text('Exact name.')) readonly queue?: string;
  @ApiProperty(text('Exact name.')) readonly consumerGroup?: string;
  @ApiProperty(text('Exact name.')) readonly partition?: string;
  @ApiProperty(text('ISO-8601: failed at or after.')) readonly from?: string;
  @ApiProperty(text('ISO-8601: failed before.')) readonly to?: string;

  @ApiProperty({ type: 'integer', required: false, default: 100, minimum: 1, maximum: 1000 })
  readonly limit?: number;

  @ApiProperty({ type: 'integer', required: false, default: 0, minimum: 0 })
  readonly offset?: number;
}

export class PaginationDto {
  @ApiProperty(COUNT) readonly limit!: number;
  @ApiProperty(COUNT) readonly offset!: number;
}

export class DeadLetterDto {
  @ApiProperty(UUID_TEXT) readonly id!: string;
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'string' }) readonly partition!: string;
  @ApiProperty(PARTITION_NUMBER) readonly partitionId!: string;
  @ApiProperty({ ...TIMESTAMP, description: 'The same as `failedAt`.' })
  readonly createdAt!: string;
  @ApiProperty({ type: 'string', description: '`__QUEUE_MODE__` without a group.' })
  readonly consumerGroup!: string;
  @ApiProperty(COUNT) readonly offset!: number;
  @ApiProperty(UUID_TEXT) readonly messageId!: string;
  @ApiProperty({ type: 'string' }) readonly transactionId!: string;
  @ApiProperty(ANY_JSON) readonly data!: unknown;
  @ApiProperty(ANY_JSON) readonly payload!: unknown;
  @ApiProperty({ type: 'string' }) readonly errorMessage!: string;
  @ApiProperty(COUNT) readonly retryCount!: number;
  @ApiProperty(TIMESTAMP) readonly failedAt!: string;
}

export class DeadLetterListDto {
  @ApiProperty({ type: [DeadLetterDto], description: 'Newest failure first.' })
  readonly messages!: DeadLetterDto[];

  @ApiProperty({ ...COUNT, description: 'All that match.' }) readonly total!: number;
  @ApiProperty({ type: PaginationDto }) readonly pagination!: PaginationDto;
}

export class PurgedDto {
  @ApiProperty({ type: 'boolean' }) readonly success!: boolean;
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'string', nullable: true }) readonly consumerGroup!: string | null;
  @ApiProperty(COUNT) readonly deleted!: number;
}

export class PurgeRefusalDto {
  @ApiProperty({ type: 'boolean', enum: [false] }) readonly success!: boolean;
  @ApiProperty({ type: 'string' }) readonly error!: string;
  @ApiProperty({ type: 'string' }) readonly message!: string;
}

export class ReplayRequestDto {
  @ApiProperty(text('Another queue than its own; trimmed.')) readonly queue?: string;
  @ApiProperty(text('Another lane than its own; trimmed.')) readonly partition?: string;
}

export class ReplayedAsDto {
  @ApiProperty(COUNT) readonly index!: number;
  @ApiProperty({ ...UUID_TEXT, description: 'Zero for a duplicate.' })
  readonly message_id!: string;
  @ApiProperty({ type: 'string' }) readonly transaction_id!: string;
  @ApiProperty({ type: 'string' }) readonly queueName!: string;
  @ApiProperty({ type: 'string', enum: ['queued', 'duplicate'] }) readonly status!: string;
  @ApiProperty(COUNT) readonly offset!: number;
}

export class ReplayedDto {
  @ApiProperty({ type: 'boolean' }) readonly success!: boolean;
  @ApiProperty({ type: 'string', enum: ['moved', 'duplicate'] }) readonly result!: string;
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'string' }) readonly partition!: string;
  @ApiProperty({ type: 'string' }) readonly consumerGroup!: string;
  @ApiProperty(UUID_TEXT) readonly dlqId!: string;
  @ApiProperty({ type: 'string' }) readonly originalTransactionId!: string;
  @ApiProperty({ type: ReplayedAsDto }) readonly replayedAs!: ReplayedAsDto;
  @ApiProperty({ type: 'boolean' }) readonly dlqRowRemoved!: boolean;
}

export class ReplayRefusalDto {
  @ApiProperty({ type: 'boolean', enum: [false] }) readonly success!: boolean;
  @ApiProperty({ type: 'string' }) readonly error!: string;
  @ApiProperty({ type: 'string', enum: ['gone'], required: false }) readonly result?: string;
  @ApiProperty({ type: 'string', required: false }) readonly reason?: string;
  @ApiProperty({ type: 'boolean', required: false }) readonly dlqRowRemoved?: boolean;
}

export class DeletedLettersDto {
  @ApiProperty({ type: 'boolean' }) readonly success!: boolean;
  @ApiProperty({ type: 'string' }) readonly partitionId!: string;
  @ApiProperty({ type: 'string' }) readonly transactionId!: string;
  @ApiProperty(COUNT) readonly deleted!: number;
}

export class LettersNotFoundDto {
  @ApiProperty({ type: 'boolean', enum: [false] }) readonly success!: boolean;
  @ApiProperty({ type: 'string' }) readonly partitionId!: string;
  @ApiProperty({ type: 'string' }) readonly transactionId!: string;
  @ApiProperty({ type: 'string' }) readonly error!: string;
  @ApiProperty({ type: 'string' }) readonly message!: string;
}
