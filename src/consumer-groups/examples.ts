/** Examples of the consumer-group routes for the API document. */
const CREATED = '2026-03-04T05:06:07.123456Z';
const LEASE_ID = '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff';
const PARTITION_ID = '0199c0de-0000-7000-8000-00000000002a';
const SOUGHT = {
  ...{ success: true, consumerGroup: 'billing', queueName: 'orders', partitionName: null },
  ...{ seekToEnd: true, targetTimestamp: null, partitionsUpdated: 3, updated: true },
};

export const LIST_ANSWERS = {
  'one group': [
    {
      ...{ name: 'billing', topics: ['orders'], queueName: 'orders', members: 3 },
      ...{ partitionCursors: 3, partitionsWithLag: 1, totalLag: 12, maxTimeLag: 40 },
      ...{ state: 'Stable', storage: 'segments', kind: 'queen', subscriptionMode: 'new' },
      ...{ subscriptionTimestamp: CREATED, subscriptionCreatedAt: CREATED, conflation: false },
    },
  ],
};

export const DETAIL_ANSWERS = {
  'one queue': {
    orders: {
      ...{ conflation: false, kind: 'queen' },
      partitions: [
        {
          ...{ partition: 'customer-9', workerId: LEASE_ID, lastConsumedAt: null },
          ...{ totalConsumed: 9, offsetLag: 2, timeLagSeconds: 4, leaseActive: true },
        },
      ],
    },
  },
};

export const LAGGING_ANSWERS = {
  'one lane': [
    {
      ...{ consumer_group: 'billing', queue_name: 'orders', partition_name: 'customer-9' },
      ...{ partition_id: PARTITION_ID, worker_id: null, kind: 'queen', offset_lag: 2 },
      ...{ time_lag_seconds: 4500, lag_hours: 1.25 },
      ...{ oldest_unconsumed_at: '2026-03-04T05:06:07.123Z', last_consumed_at: null },
    },
  ],
};

export const POSITIONS_EXAMPLES = {
  named: {
    summary: 'Named lanes',
    value: {
      consumerGroup: 'billing',
      entries: [{ queue: 'orders', partition: 'customer-9' }],
    },
  },
  all: { summary: 'Everywhere', value: { consumerGroup: 'billing' } },
};

export const POSITIONS_ANSWERS = {
  'two lanes': {
    consumerGroup: 'billing',
    entries: [
      { queue: 'orders', partition: 'customer-9', offset: 7, metadata: null },
      { queue: 'orders', partition: 'customer-10', offset: null },
    ],
  },
};

export const DELETE_ANSWERS = {
  deleted: {
    ...{ success: true, consumerGroup: 'billing', queueName: null, deletedPartitions: 3 },
    ...{ metadataDeleted: true, queues: ['orders'] },
  },
};

export const SUBSCRIPTION_EXAMPLES = {
  time: { summary: 'A time', value: { subscriptionTimestamp: '2026-03-04T00:00:00Z' } },
};

export const SUBSCRIPTION_ANSWERS = {
  changed: {
    ...{ success: true, consumerGroup: 'billing' },
    ...{ newTimestamp: '2026-03-04T00:00:00Z', rowsUpdated: 2 },
  },
};

export const SEEK_EXAMPLES = {
  end: { summary: 'Skip everything', value: { toEnd: true } },
  time: { summary: 'Go back to a time', value: { timestamp: '2026-03-04T00:00:00Z' } },
};

export const SEEK_ANSWERS = { moved: SOUGHT };

export const SEEK_400 = {
  neither: { success: false, error: 'Must specify toEnd=true or a timestamp' },
};

export const SEEK_404 = {
  'nothing to move': {
    ...{ success: false, error: 'Queue not found or has no partitions' },
    ...{ consumerGroup: 'billing', queueName: 'orders', partitionsUpdated: 0 },
  },
};

export const NOT_FOUND_ANSWERS = { absent: { error: 'Consumer group not found' } };
