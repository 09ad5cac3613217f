/** Example answers of the reads of queues, for the API document. */
import { QUEUE_ID } from './configure.dto.js';
import { shownOptions } from '../reads/queue-options.js';
import { CONFIGURE_DEFAULTS } from './option-values.js';

const CREATED = '2026-03-04T05:06:07.123456Z';
const PARTITION_ID = '0199c0de-0000-7000-8000-00000000002a';
const labels = { namespace: 'shop', task: '' };
const options = shownOptions({ ...CONFIGURE_DEFAULTS, namespace: 'shop' });
const segments = { segments: 1, messages: 2 };
const counts = { total: 2, pending: 2, processing: 1, completed: 0, failed: null, deadLetter: 0 };

export const LIST_ANSWERS = {
  'one queue': {
    queues: [
      {
        ...{ id: QUEUE_ID, name: 'orders', queue: 'orders', ...labels, storage: 'segments' },
        ...{ partitions: 1, segments },
        messages: { total: 2, pending: 1, processing: 1, completed: 0, deadLetter: 0 },
        ...{ retainedBytes: 218, options, createdAt: CREATED },
      },
    ],
    ...{ kvRows: 0, kvBytes: 0, timerRows: 0, timerBytes: 0 },
  },
  'stats=lanes': {
    queues: [{ id: QUEUE_ID, name: 'orders', queue: 'orders', partitions: 1, createdAt: CREATED }],
    stats: 'lanes',
  },
};

export const DETAIL_ANSWERS = {
  'one partition': {
    ...{ id: QUEUE_ID, name: 'orders', ...labels, createdAt: CREATED, options },
    partitions: [
      {
        ...{ id: PARTITION_ID, name: 'customer-9', createdAt: CREATED },
        ...{ messages: counts, stats: counts },
        cursor: { totalConsumed: 0, batchesConsumed: 0 },
        ...{ lastActivity: CREATED, oldestMessage: CREATED, newestMessage: CREATED },
        retainedBytes: 218,
      },
    ],
    ...{ segments, totals: counts, retainedBytes: 218 },
  },
};

export const STATUS_ANSWERS = {
  'one partition': {
    queue: {
      ...{ id: QUEUE_ID, name: 'orders', ...labels, priority: 0, createdAt: CREATED },
      config: options,
    },
    partitions: DETAIL_ANSWERS['one partition'].partitions,
    totals: { messages: counts },
  },
};

export const DEPTH_ANSWERS = {
  'of the worst named group': {
    ...{ queue: 'orders', group: null, pending: 2, processing: 1, ready: 1 },
    ...{ partitionsPending: 1, partitionsReady: 1, conflation: false },
    ...{ effectivePending: 2, effectiveReady: 1 },
    partitions: [{ partition: 'customer-9', pending: 2, processing: 1, ready: 1 }],
  },
};

export const SIZES_ANSWERS = {
  'one partition': { queue: 'orders', partitions: { 'customer-9': 218 } },
};

export const NOT_FOUND = { 'no such queue': { error: 'Queue not found' } };
