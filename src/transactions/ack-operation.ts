/**
 * One ack of a transaction as it was sent (messages.md §8.1): `partitionId` is digits in a string, any
 * other is a wrong value; fields of another type are a wrong shape.
 */
import { AckStatus } from '../machine/commands/catalogue.js';
import { QUEUE_MODE_GROUP } from '../machine/tables/tables.js';
import type { JsonObject } from '../http/json-body.js';
import { TransactionRefusal } from '../http/transaction-plugs.js';

export interface AckOperation {
  readonly transactionId: string;
  readonly partitionId: string;
  readonly consumerGroup: string;
  /** Empty = none of its own. */
  readonly leaseId: string;
  readonly status: AckStatus;
  readonly error: string | null;
}

const DIGITS = /^[0-9]+$/;

/** The refusal of a wrong value is returned, that of a wrong shape thrown. */
export function parseAck(operation: JsonObject, at: string): AckOperation | TransactionRefusal {
  const text = (name: string): string => {
    const value = operation[name];
    if (value === undefined || value === null) return '';
    if (typeof value === 'string') return value;
    throw new TransactionRefusal(400, 'bad_request', `${at}: ${name} must be a string`);
  };
  const { partitionId } = operation;
  const consumerGroup = text('consumerGroup');
  const ack = {
    transactionId: text('transactionId'),
    consumerGroup: consumerGroup === '' ? QUEUE_MODE_GROUP : consumerGroup,
    leaseId: text('leaseId'),
    status: statusOf(text('status')),
    error: text('error') === '' ? null : text('error'),
  };
  if (typeof partitionId !== 'string' || !DIGITS.test(partitionId)) {
    return new TransactionRefusal(200, 'bad_request', `${at}: partitionId is not a partition id`);
  }
  return { ...ack, partitionId };
}

function statusOf(text: string): AckStatus {
  switch (text.toLowerCase()) {
    case 'failed':
      return AckStatus.Failed;
    case 'dlq':
      return AckStatus.Dlq;
    case 'retry':
      return AckStatus.Retry;
    default:
      return AckStatus.Completed;
  }
}
