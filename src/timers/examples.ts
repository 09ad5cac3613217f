/** Examples of the timer routes for the API document; they work in order on a fresh broker. */
const ID = '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff';
const AT = '2026-03-04T05:06:07.123456Z';
const NAMED = { queue: 'orders', timerKey: 'order-1/reminder' };

export const CALLS = {
  schedule: {
    summary: 'A reminder in a minute',
    value: {
      operations: [
        {
          ...{ op: 'schedule', ...NAMED, partition: 'customer-9', delayMs: 60_000 },
          ...{ txn: 'reminder-1', payload: 'eyJyZW1pbmQiOnRydWV9' },
        },
      ],
    },
  },
  cancel: { summary: 'Never mind', value: { operations: [{ op: 'cancel', ...NAMED }] } },
};

export const RESULTS = {
  scheduled: {
    results: [
      {
        ...{ ok: true, status: 'scheduled', ...NAMED, txn: 'reminder-1' },
        ...{ messageId: ID, deliverAt: AT },
      },
    ],
  },
  absent: { results: [{ ok: false, status: 'absent', ...NAMED, txn: null }] },
};

export const CANCELLED = {
  cancelled: { ok: true, status: 'cancelled', ...NAMED, txn: 'reminder-1' },
  'nothing there': { ok: false, status: 'absent', ...NAMED, txn: null },
};

const PENDING = {
  ...{ ...NAMED, partition: 'customer-9', deliverAt: AT, txn: 'reminder-1', messageId: ID },
  ...{ payloadZstd: false, encrypted: false, producerSub: null, attempts: 0, lastError: null },
  ...{ claimed: false, createdAt: AT, updatedAt: AT },
};

export const PEEKED = {
  found: { found: true, ...PENDING, payload: 'eyJyZW1pbmQiOnRydWV9' },
  'nothing there': { found: false, ...NAMED },
};

export const READS = {
  page: { rows: [PENDING], truncated: true, nextAfter: 'order-1/reminder' },
  count: { count: 12 },
};

export const BAD_CALL = {
  shape: { error: 'timers_bad_request', reason: 'timers_bad_body' },
  'one operation': {
    ...{ error: 'timers_bad_request', reason: 'timers_delay_required' },
    detail: 'operations[0].delayMs must be a number of milliseconds',
  },
};
export const BAD_READ = {
  mode: { error: 'timers_bad_request', reason: 'timers_read_mode_unknown' },
};
export const BAD_KEY = {
  'no key': { error: 'timers_bad_request', reason: 'timerKey must not be empty' },
};
export const FORBIDDEN = {
  horizon: { error: 'timer_horizon_exceeded', reason: 'timers_horizon' },
  quota: { error: 'timers_quota_exceeded', reason: 'timers_quota_exceeded' },
  grant: { error: 'feature_gated', reason: 'feature_gated' },
};
export const TOO_LARGE = {
  payload: { error: 'payload_too_large', reason: 'timers_payload_too_large' },
  call: { error: 'payload_too_large', reason: 'timers_call_too_large' },
};
export const RATE = { rate: { error: 'rate_limited', reason: 'rate_limited' } };
export const FAULT = { fault: { error: 'timers_error', reason: 'internal' } };
export const UNAVAILABLE = {
  late: { error: 'timers_unavailable', reason: 'timers_timeout' },
  'no leader': { error: 'timers_unavailable', reason: 'no_leader' },
};
export const SWITCHED_OFF = {
  ...UNAVAILABLE,
  'switched off': { error: 'timers_disabled' },
  'too many tenants': { error: 'kv_unavailable' },
};
