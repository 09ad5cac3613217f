/** Examples of the dead-letter routes for the API document. */
import { EMPTY_OVERRIDE, GONE, replayRefused } from './replay-answer.js';

const ID = '0199c0de-dddd-7bbb-8ccc-ddddeeeeffff';
const FAILED = '2026-03-04T05:06:07.123456Z';

export const NO_QUEUE = {
  ...{ success: false, error: 'queue is required' },
  message: 'Name the queue whose dead letters are to be purged: ?queue=…',
};

export const LIST_ANSWERS = {
  'one letter': {
    messages: [
      {
        ...{ id: ID, queue: 'orders', partition: 'customer-9', partitionId: '17' },
        ...{ createdAt: FAILED, consumerGroup: 'billing', offset: 7, messageId: ID },
        ...{ transactionId: 'order-1', data: { n: 1 }, payload: { n: 1 } },
        ...{ errorMessage: 'boom', retryCount: 3, failedAt: FAILED },
      },
    ],
    ...{ total: 1, pagination: { limit: 100, offset: 0 } },
  },
};

export const PURGE_ANSWERS = {
  purged: { success: true, queue: 'orders', consumerGroup: null, deleted: 9 },
};
export const PURGE_400 = { 'no queue': NO_QUEUE };

export const REPLAY_EXAMPLES = {
  same: { summary: 'Where it was', value: {} },
  other: { summary: 'Elsewhere', value: { queue: 'orders', partition: 'repair' } },
};

export const REPLAY_ANSWERS = {
  moved: {
    ...{ success: true, result: 'moved', queue: 'orders', partition: 'customer-9' },
    ...{ consumerGroup: 'billing', dlqId: ID, originalTransactionId: 'order-1' },
    replayedAs: {
      ...{ index: 0, message_id: ID, transaction_id: `dlq:${ID}`, queueName: 'orders' },
      ...{ status: 'queued', offset: 42 },
    },
    dlqRowRemoved: true,
  },
};
export const REPLAY_400 = { 'empty override': EMPTY_OVERRIDE.body };
export const REPLAY_404 = { gone: GONE.body };
export const REPLAY_409 = { refused: replayRefused('too_large').body };

export const DELETE_ANSWERS = {
  deleted: { success: true, partitionId: '17', transactionId: 'order-1', deleted: 1 },
};

export function lettersNotFound(partitionId: string, transactionId: string): object {
  return {
    ...{ success: false, partitionId, transactionId, error: 'Message not found' },
    message: 'No dead letter has this address; messages of the log cannot be deleted',
  };
}
export const DELETE_404 = { absent: lettersNotFound('17', 'order-1') };
