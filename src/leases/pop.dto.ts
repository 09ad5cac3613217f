/** Answers of pop (messages.md §5.4) as the API document shows them; the bytes come from pop-answer. */
import { ApiProperty } from '@nestjs/swagger';
import {
  ANY_JSON,
  COUNT,
  LEASE_TEXT,
  PARTITION_NUMBER,
  TIMESTAMP,
  UUID_TEXT,
} from '../docs-api/index.js';

export class PoppedMessageDto {
  @ApiProperty(UUID_TEXT) readonly id!: string;
  @ApiProperty({ type: 'string' }) readonly transactionId!: string;
  @ApiProperty({ ...UUID_TEXT, nullable: true }) readonly traceId!: string | null;

  @ApiProperty({ ...ANY_JSON, description: 'The payload, byte for byte as it was pushed.' })
  readonly data!: unknown;

  @ApiProperty({ type: 'string', nullable: true }) readonly producerSub!: string | null;

  @ApiProperty({ ...TIMESTAMP, description: 'Shared by the messages of one append.' })
  readonly createdAt!: string;

  @ApiProperty(PARTITION_NUMBER) readonly partitionId!: string;
  @ApiProperty({ type: 'string' }) readonly partition!: string;
  @ApiProperty(LEASE_TEXT) readonly leaseId!: string;
  @ApiProperty({ type: 'string' }) readonly consumerGroup!: string;
  @ApiProperty({ type: 'integer', minimum: 1 }) readonly deliveryAttempt!: number;
  @ApiProperty(COUNT) readonly offset!: number;
}

export class AutopilotDto {
  @ApiProperty({ type: 'integer', minimum: 1, maximum: 64 }) readonly partitions!: number;
  @ApiProperty({ type: 'integer', minimum: 1 }) readonly batch!: number;
}

export class PopDto {
  @ApiProperty({ type: 'boolean', enum: [true] }) readonly success!: boolean;
  @ApiProperty({ type: 'string', description: 'Empty on discovery.' }) readonly queue!: string;

  @ApiProperty({ type: 'string', description: 'Of the first claimed partition only.' })
  readonly partition!: string;

  @ApiProperty({ type: 'string', pattern: '^[0-9]*$', description: 'Needed to acknowledge.' })
  readonly partitionId!: string;

  @ApiProperty({ ...LEASE_TEXT, description: 'Empty with `commitOnDelivery`.' })
  readonly leaseId!: string;

  @ApiProperty({ type: 'string' }) readonly consumerGroup!: string;

  @ApiProperty({ type: [PoppedMessageDto], description: 'By claim, ascending inside a partition.' })
  readonly messages!: PoppedMessageDto[];

  @ApiProperty(COUNT) readonly partitionsClaimed!: number;

  @ApiProperty({ type: 'boolean', enum: [true], required: false })
  readonly conflation?: boolean;

  @ApiProperty({
    type: 'boolean',
    enum: [true],
    required: false,
    description: 'The group is registered with the other policy; that one holds.',
  })
  readonly conflationConflict?: boolean;

  @ApiProperty({ type: AutopilotDto, required: false })
  readonly autopilot?: AutopilotDto;
}

export class PopRefusalDto {
  @ApiProperty({ type: 'boolean', enum: [false] }) readonly success!: boolean;
  @ApiProperty({ type: 'string' }) readonly error!: string;
  @ApiProperty({ type: 'array', items: {}, maxItems: 0 }) readonly messages!: unknown[];
}

const LEASE_ID = '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff';
const lane = { partitionId: '1', partition: 'customer-9' };
const consumer = { leaseId: LEASE_ID, consumerGroup: '__QUEUE_MODE__' };
const none = { traceId: null, producerSub: null };

const message = (offset: number, data: unknown): object => ({
  id: `0199c0de-1111-7222-8333-44445555666${offset}`,
  transactionId: `order-${offset + 1}`,
  ...{ ...none, data, createdAt: '2026-03-04T05:06:07.123456Z' },
  ...{ ...lane, ...consumer, deliveryAttempt: 1, offset },
});

export const POP_ANSWERS = {
  'two messages of one lane': {
    ...{ success: true, queue: 'orders', ...lane, ...consumer },
    messages: [message(0, { total: 12.5 }), message(1, { total: 7 })],
    partitionsClaimed: 1,
  },
};

export const DISCOVERY_ANSWERS = {
  'two messages of one lane': { ...POP_ANSWERS['two messages of one lane'], queue: '' },
};

const refusal = (error: string): object => ({ success: false, error, messages: [] });

export const POP_REFUSALS = {
  'conflation without a group': refusal('conflation needs a consumerGroup'),
  'conflation and commit on delivery': refusal(
    'conflation cannot be combined with commitOnDelivery or autoAck',
  ),
};

export const DISCOVERY_REFUSALS = {
  'no label': refusal('namespace or task is required'),
  ...POP_REFUSALS,
};
