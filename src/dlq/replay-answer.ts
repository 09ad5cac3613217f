/** Bodies and answers of a replay (messages.md §11.4, admin.md §1.4). */
import { QueenError } from '../common/errors.js';
import { uuidText } from '../common/uuid-v7.js';
import type { JsonObject } from '../http/json-body.js';
import type { ReplayDeadLetterOutcome } from '../machine/commands/catalogue.js';
import type { ReplayOverrides } from './replay.service.js';

export interface ReplayAnswer {
  readonly status: number;
  readonly body: object;
}

export interface ReplayTarget {
  readonly queue: string;
  readonly partition: string;
  readonly consumerGroup: string;
}

export interface ReplayedCopy {
  readonly target: ReplayTarget;
  readonly transactionId: string;
  readonly deadLetterId: Uint8Array;
  readonly messageId: Uint8Array;
  /** TransactionId of the message that failed. */
  readonly original: string;
}

export const GONE: ReplayAnswer = {
  status: 404,
  body: { success: false, result: 'gone', error: 'Message not found' },
};

export const EMPTY_OVERRIDE: ReplayAnswer = {
  status: 400,
  body: { success: false, error: 'queue and partition overrides must be non-empty' },
};

/** Null when an override is there but empty. */
export function parseOverrides(body: JsonObject): ReplayOverrides | null {
  const queue = override(body, 'queue');
  const partition = override(body, 'partition');
  return queue === '' || partition === '' ? null : { queue, partition };
}

function override(body: JsonObject, field: 'queue' | 'partition'): string | null {
  const value = body[field];
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw new QueenError('bad_body', `${field} must be a string`);
  return value.trim();
}

export function replayed(outcome: ReplayDeadLetterOutcome, copy: ReplayedCopy): ReplayAnswer {
  const moved = outcome.result === 'moved';
  return {
    status: 200,
    body: {
      success: true,
      result: outcome.result,
      ...copy.target,
      dlqId: uuidText(copy.deadLetterId),
      originalTransactionId: copy.original,
      replayedAs: {
        index: 0,
        message_id: uuidText(copy.messageId),
        transaction_id: copy.transactionId,
        queueName: copy.target.queue,
        status: moved ? 'queued' : 'duplicate',
        offset: outcome.offset,
      },
      dlqRowRemoved: moved,
    },
  };
}

export function replayRefused(reason: string): ReplayAnswer {
  const error = 'the target refused the message';
  return { status: 409, body: { success: false, error, reason, dlqRowRemoved: false } };
}
