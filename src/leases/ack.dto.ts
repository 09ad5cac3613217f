/** Requests and answer of ack (messages.md §6) as the API document shows them. */
import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { COUNT } from '../docs-api/index.js';

export class AckItemDto {
  @ApiProperty({ type: 'string', description: 'Of the popped message.' })
  readonly transactionId!: string;

  @ApiProperty({ type: 'string', description: 'Of the popped message: digits, as a string.' })
  readonly partitionId!: string;

  @ApiProperty({
    type: 'string',
    nullable: true,
    required: false,
    description: 'Fence: the ack fails when another lease holds the lane. Without it: no fence.',
  })
  readonly leaseId?: string | null;

  @ApiProperty({
    type: 'string',
    nullable: true,
    required: false,
    default: 'completed',
    description:
      'Any case. `failed` delivers again until the retry limit, `retry` delivers again uncharged, ' +
      '`dlq` files a dead letter; anything else is completed.',
  })
  readonly status?: string | null;

  @ApiProperty({
    type: 'string',
    nullable: true,
    required: false,
    description: 'Text kept with a dead letter.',
  })
  readonly error?: string | null;
}

export class SingleAckDto extends AckItemDto {
  @ApiProperty({
    type: 'string',
    nullable: true,
    required: false,
    description: 'The group that popped; absent or empty: queue mode.',
  })
  readonly consumerGroup?: string | null;
}

export class BatchAckDto {
  @ApiProperty({
    type: 'string',
    nullable: true,
    required: false,
    description: 'The group that popped, for all items; absent or empty: queue mode.',
  })
  readonly consumerGroup?: string | null;

  @ApiProperty({ type: [AckItemDto], minItems: 1 })
  readonly acknowledgments!: AckItemDto[];
}

export class AckVerdictDto {
  @ApiProperty({ ...COUNT, description: 'Place in the request.' }) readonly index!: number;
  @ApiProperty({ type: 'string' }) readonly transactionId!: string;

  @ApiProperty({ type: 'boolean', description: 'False: stale, unknown, or fenced off.' })
  readonly success!: boolean;

  @ApiProperty({ type: 'string', nullable: true }) readonly error!: string | null;

  @ApiProperty({ type: 'boolean', description: 'This call gave the lease back.' })
  readonly leaseReleased!: boolean;

  @ApiProperty({ type: 'boolean', description: 'A dead letter was filed.' })
  readonly dlq!: boolean;

  @ApiProperty({ type: 'boolean', description: 'It was acknowledged before.' })
  readonly noop!: boolean;
}

/** What the examples of push and pop leave on a fresh broker: partition 1. */
const item = (transactionId: string, more: object = {}): object => ({
  transactionId,
  partitionId: '1',
  ...more,
});

export const ACK_EXAMPLES = {
  'a batch': {
    value: {
      acknowledgments: [
        item('order-1', { status: 'completed' }),
        item('order-2', { status: 'failed', error: 'card declined' }),
      ],
    },
  },
  'one message': { value: item('order-2') },
  'of a group, fenced': {
    value: {
      consumerGroup: 'billing',
      acknowledgments: [item('order-1', { leaseId: '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff' })],
    },
  },
};

const verdict = { success: true, error: null, leaseReleased: true, dlq: false, noop: false };

export const ACK_ANSWERS = {
  'one settled, one to be delivered again': [
    { index: 0, transactionId: 'order-1', ...verdict },
    { index: 1, transactionId: 'order-2', ...verdict },
  ],
  'fenced off': [
    {
      ...{ index: 0, transactionId: 'order-1', ...verdict },
      ...{ success: false, error: 'invalid or expired lease', leaseReleased: false },
    },
  ],
};

/** Either form, on both routes. */
export const ApiAckBody = (): MethodDecorator =>
  applyDecorators(
    ApiExtraModels(SingleAckDto, BatchAckDto),
    ApiBody({
      schema: {
        anyOf: [{ $ref: getSchemaPath(BatchAckDto) }, { $ref: getSchemaPath(SingleAckDto) }],
      },
      examples: ACK_EXAMPLES,
    }),
  );
