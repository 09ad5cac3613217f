/** Request and answer of push as the API document shows them; the bytes are read by the push scanner. */
import { ApiProperty } from '@nestjs/swagger';
import { ANY_JSON, COUNT, UUID_TEXT } from '../docs-api/index.js';

export class PushItemDto {
  @ApiProperty({ type: 'string', minLength: 1, description: 'Created when it is missing.' })
  readonly queue!: string;

  @ApiProperty({
    type: 'string',
    nullable: true,
    required: false,
    default: 'Default',
    description: 'The ordered lane; empty or null is the default.',
  })
  readonly partition?: string | null;

  @ApiProperty({
    type: 'string',
    nullable: true,
    required: false,
    description:
      'Recognised again for `dedupWindowSeconds`: a repeat answers `duplicate`. At most 65,535 ' +
      'bytes; absent: the minted message id.',
  })
  readonly transactionId?: string | null;

  @ApiProperty({
    ...ANY_JSON,
    description: 'Any JSON. Stored as the text it came in and given back byte for byte.',
  })
  readonly payload!: unknown;
}

export class PushRequestDto {
  @ApiProperty({ type: [PushItemDto], description: 'May be empty.' })
  readonly items!: PushItemDto[];
}

export class PushVerdictDto {
  @ApiProperty({ ...COUNT, description: 'Place in `items`.' })
  readonly index!: number;

  @ApiProperty({ ...UUID_TEXT, description: 'Of a duplicate: the id of the original.' })
  readonly message_id!: string;

  @ApiProperty({ type: 'string' })
  readonly transaction_id!: string;

  @ApiProperty({ type: 'string' })
  readonly queueName!: string;

  @ApiProperty({ type: 'string', enum: ['queued', 'duplicate', 'error'] })
  readonly status!: string;

  @ApiProperty({ ...COUNT, required: false, description: 'Absent when `status` is `error`.' })
  readonly offset?: number;
}

const item = (transactionId: string, payload: unknown): object => ({
  queue: 'orders',
  partition: 'customer-9',
  transactionId,
  payload,
});

const verdict = (index: number, status: string): object => ({
  index,
  message_id: `0199c0de-1111-7222-8333-44445555666${index}`,
  transaction_id: `order-${index + 1}`,
  queueName: 'orders',
  status,
  offset: index,
});

export const PUSH_EXAMPLES = {
  'two messages of one lane': {
    value: { items: [item('order-1', { total: 12.5 }), item('order-2', { total: 7 })] },
  },
  'any JSON, no id of its own': {
    value: { items: [{ queue: 'notes', payload: ['text', 1, null, { deep: true }] }] },
  },
  'nothing to do': { value: { items: [] } },
};

export const PUSH_ANSWERS = {
  stored: [verdict(0, 'queued'), verdict(1, 'queued')],
  'sent again': [verdict(0, 'duplicate'), verdict(1, 'duplicate')],
  empty: [],
};
