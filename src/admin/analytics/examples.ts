/** Example answers of the analytics and the status, for the API document. */
const timeRange = { from: '2026-03-04T04:06:07.123Z', to: '2026-03-04T05:06:07.123Z' };
const bucket = '2026-03-04T05:05:00Z';
const windowed = { timeRange, bucketMinutes: 1 };
const lag = { avgLagMs: 12.5, maxLagMs: 40 };
const rates = { pushPerSecond: 0.15, popPerSecond: 0.13, ackPerSecond: 0.13 };
const loop = { avgEventLoopLagMs: 0.4, maxEventLoopLagMs: 3.1 };

export const QUEUE_LAG = {
  'one bucket': [
    { queueName: 'orders', popCount: 8, ...lag, bucketMinutes: 1, bucketTime: bucket },
  ],
};

export const QUEUE_OPS = {
  'one bucket': {
    ...windowed,
    series: [
      {
        ...{ bucket, queueName: 'orders', pushRequests: 3, pushMessages: 9, popMessages: 8 },
        ...{ popEmpty: 1, ackRequests: 4, ackSuccess: 8, ackFailed: 0, transactions: 0 },
        ...{ partitionsCreated: 1, partitionsDeleted: 0, partitionCount: null, ...lag, ...rates },
        ...{ emptyPerSecond: 0.02, parkedCount: 1.5 },
      },
    ],
    queues: ['orders'],
  },
};

export const PARKED_REPLICAS = {
  'one node': {
    ...windowed,
    series: [{ bucket, queueName: 'orders', hostname: 'n1', workerId: 0, parkedCount: 1.5 }],
    replicas: [{ hostname: 'n1', workerId: 0 }],
  },
};

const work = {
  window: {
    ...{ pushMessages: 9, pushRequests: 3, popMessages: 8, popEmpty: 1, ackRequests: 4 },
    ...{ ackSuccess: 8, ackFailed: 0, transactions: 0, conflated: 0, partitionsCreated: 1 },
    ...{ partitionsDeleted: 0, parkedAvg: 1.5, ...lag },
  },
  series: {
    ...{ push: [null, 9], pop: [null, 8], popEmpty: [null, 1], ackFailed: [null, 0] },
    ...{ parked: [null, 1.5], avgLagMs: [null, 12.5], maxLagMs: [null, 40] },
  },
  now: {
    ...{ pending: 3, processing: 1, deadLetter: 0, retainedBytes: 100, partitions: 4, groups: 1 },
    ...{ queuesWithoutGroup: 1, pendingWithoutGroup: 0, queuesTouched: 2, queuesActive: 1 },
  },
};

export const WORKLOAD = {
  'by namespace': {
    ...{ ...windowed, groupBy: 'namespace', buckets: ['2026-03-04T05:04:00Z', bucket] },
    rows: [{ key: 'billing', queues: 2, ...work }],
    tenant: { queues: 5, ...work },
  },
};

const removed = {
  ...{ retentionMsgs: 5, completedRetentionMsgs: 2, evictionMsgs: 0, totalMsgs: 7, eventCount: 1 },
};

export const RETENTION = {
  'one event': { ...windowed, series: [{ bucket, ...removed }], totals: removed },
  'by queue': {
    ...{ ...windowed, series: [{ bucket, ...removed }], totals: removed },
    rows: [{ key: 'orders', queues: 1, totals: removed }],
  },
};

export const SIGNATURES = {
  'one cause': {
    ...{ queue: 'orders', rowsNow: 4, sample: 4, retryCounts: [3], groups: ['billing'] },
    ...{ oldest: timeRange.from, newest: timeRange.to, avgBytes: 120 },
    signatures: [{ text: 'customer <n> not found', n: 4, share: 1 }],
    byDay: [{ day: '2026-03-04', n: 4 }],
  },
};

export const LIVENESS = {
  'one queue': {
    capturedAt: timeRange.to,
    rows: [
      {
        ...{ queue: 'orders', namespace: 'shop', task: '', partitions: 120, live1h: 12 },
        ...{ live24h: 80, live7d: 120, created24h: 3, pending: 9 },
        oldestWriteAt: '2026-03-01T05:06:07.123456Z',
        newestWriteAt: '2026-03-04T05:06:07.123456Z',
      },
    ],
  },
};

const gauge = { avg: 3500, min: 1200, max: 5100, last: 3600 };
const absent = { avg: null, min: null, max: null, last: null };
const pool = { pool_size: absent, queue_size: absent };

export const SYSTEM_METRICS = {
  'one node': {
    ...{ timeRange, replicaCount: 1, bucketMinutes: 1, pointCount: 1 },
    replicas: [
      {
        ...{ hostname: 'n1', port: 6632, workerId: 'worker-0' },
        timeSeries: [
          {
            ...{ timestamp: '2026-03-04T05:05:00.000Z', sampleCount: 12 },
            metrics: {
              cpu: { user_us: gauge, system_us: gauge },
              memory: { rss_bytes: gauge, virtual_bytes: gauge },
              registries: { response: gauge },
              raft: { inflight: gauge, applied_lag: gauge, map_used_pct: absent },
              database: { pool_size: absent, pool_idle: absent, pool_active: absent },
              threadpool: { db: pool, system: pool },
              shared_state: {},
            },
          },
        ],
      },
    ],
  },
};

const counters = {
  ...{ pushMessages: 9, popMessages: 8, ackMessages: 8, pushRequests: 3, popRequests: 9 },
  ackRequests: 4,
};
const worker = {
  ...{ hostname: 'n1', workerId: 0, ...loop, freeSlots: null, dbConnections: null },
  ...{ jobQueueSize: null, messagesProcessed: 17 },
};

export const WORKER_METRICS = {
  'one node': {
    ...{ ...windowed, pointCount: 1 },
    timeSeries: [
      {
        ...{ timestamp: bucket, ...counters, jobsDone: 3, ...rates, ...loop, ...lag, lagCount: 8 },
        ...{ dbErrors: 0, ackSuccess: 8, ackFailed: 0, dlqCount: 0, avgFreeSlots: null },
        ...{ minFreeSlots: null, dbConnections: null, avgJobQueueSize: null },
        ...{ maxJobQueueSize: null, backoffSize: null },
      },
    ],
    workers: [{ ...worker, backoffSize: null, lastSeen: bucket }],
    queues: [{ queueName: 'orders', popCount: 8, ...lag }],
    summary: {
      ...{ totalPushMessages: 9, totalPopMessages: 8, totalAckMessages: 8 },
      ...{ totalPushRequests: 3, totalPopRequests: 9, totalAckRequests: 4, totalDbErrors: 0 },
      ...{ totalAckFailed: 0, totalDlq: 0, pendingMessages: 1 },
    },
  },
};

export const STATUS = {
  'one node away': {
    ...{ ...windowed, pointCount: 1 },
    throughput: [
      {
        ...{ timestamp: bucket, ingested: 120, processed: 118, popMessages: 119 },
        ...{ ingestedPerSecond: 2, processedPerSecond: 1.97, popPerSecond: 1.98 },
        ...{ ...lag, ...loop, minFreeSlots: null, dbErrors: 0, ackFailed: 0, dlqCount: 0 },
        ...{ queenCpuUserPct: 12.5, queenCpuSysPct: 2.1, queenRssMb: 210.4 },
        ...{ dbPoolActive: null, dbPoolIdle: null, dbPoolSize: null },
      },
    ],
    queues: [
      {
        id: '0199c0de-0000-7000-8000-000000000007',
        ...{ name: 'orders', namespace: null, task: null, partitions: 3, totalConsumed: 40 },
      },
    ],
    messages: {
      ...{ total: 500, pending: 10, processing: 2, completed: 480, failed: 3, deadLetter: 1 },
      requests: { push: 50, pop: 60, ack: 55 },
      batchEfficiency: { push: 10, pop: 8.1, ack: 9 },
    },
    leases: { active: 1, partitionsWithLeases: 1, totalBatchSize: 2, totalAcked: 0 },
    deadLetterQueue: {
      ...{ totalMessages: 1, currentMessages: 1, affectedPartitions: 1 },
      topErrors: [{ error: 'boom', count: 1 }],
    },
    workers: [worker],
    errors: { dbErrors: 0, ackFailed: 3, dlqMessages: 1 },
    ...{ statsAge: 12, engine: 'raft', nodesMissing: [3] },
  },
};

export const STATUS_ANALYTICS = {
  now: {
    dataPoints: [{ timestamp: '2026-03-04T05:06:07.123456Z', messages: 500 }],
    interval: 'hour',
    from: '2026-03-03T05:06:07.123456Z',
    to: '2026-03-04T05:06:07.123456Z',
  },
};
