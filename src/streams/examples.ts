/** Examples of the streams routes for the API document. */
const ID = '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff';
const AT = '2026-03-04T05:06:07.123456Z';
const TARGET = { query_id: ID, partition_id: '42' };

export const REGISTER = {
  query: { value: { name: 'totals', source_queue: 'orders', config_hash: 'abc' } },
};
export const REGISTERED = {
  fresh: {
    ...{ success: true, query_id: ID, name: 'totals', config_hash: 'abc' },
    ...{ fresh: true, reset: false },
  },
};
export const MISMATCH = {
  mismatch: { success: false, query_id: ID, name: 'totals', error: 'config_hash differs' },
};
export const DENIED = { denied: { success: false, denied: true, error: 'not granted' } };
const ROW = { key: 'k', value: { acc: 1, windowEnd: 5 }, updated_at: AT };
export const READ = {
  all: { value: TARGET },
  page: { value: { ...TARGET, key_prefix: 'tumb:60', limit: 500, after: 'k' } },
};
export const ROWS = {
  all: { success: true, rows: [ROW] },
  page: { success: true, rows: [ROW], truncated: true, next_after: 'k' },
};
export const NOT_FOUND = { missing: { error: 'not found' } };
export const NO_CYCLE = { missing: { success: false, error: 'not found' } };
export const CYCLE = {
  cycle: {
    value: {
      ...TARGET,
      state_ops: [{ type: 'upsert', key: 'k', value: { acc: 1 } }],
      push_items: [{ queue: 'totals', payload: { sum: 1 } }],
      ack: null,
    },
  },
};
export const COMMITTED = {
  committed: {
    ...{ success: true, ...TARGET, queueName: 'orders', state_ops_applied: 1 },
    push_results: [{ queueName: 'totals', messageId: ID, transactionId: ID, status: 'created' }],
    ack_result: { success: true, count: 50, lease_released: true, dlq: false },
  },
  refused: { success: false, error: 'invalid or expired lease', reason: 'rejected_ack' },
};
