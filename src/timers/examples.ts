/** Examples of the timer routes for the API document; they work in order on a fresh broker. */
import type { ErrorCode } from '../common/errors.js';
import { StateRefusal } from '../common/state-refusal.js';

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

const FAULTS = [
  new StateRefusal('timers_error', { reason: 'internal' }),
  new StateRefusal('timers_unavailable', { reason: 'timers_timeout' }),
  new StateRefusal('timers_unavailable', { reason: 'timers_retry' }),
  new StateRefusal('timers_unavailable', { reason: 'no_leader' }),
];
const bad = (reason: string, detail?: string): StateRefusal =>
  new StateRefusal('timers_bad_request', {
    reason,
    ...(detail === undefined ? {} : { detail }),
  });
const named = (code: ErrorCode, reason: string = code): StateRefusal =>
  new StateRefusal(code, { reason });

export const CALL_REFUSALS = [
  bad('timers_bad_body', 'invalid JSON'),
  bad('timers_delay_required', 'operations[0].delayMs must be a number of milliseconds'),
  named('timer_horizon_exceeded', 'timers_horizon'),
  named('timers_quota_exceeded'),
  named('feature_gated'),
  named('payload_too_large', 'timers_payload_too_large'),
  named('payload_too_large', 'timers_call_too_large'),
  named('rate_limited'),
  ...FAULTS,
  new StateRefusal('timers_disabled', { detail: 'scheduling timers is switched off' }),
  new StateRefusal('kv_unavailable', { detail: 'this node serves too many tenants' }),
];
export const KEY_REFUSALS = [bad('timerKey must not be empty'), ...FAULTS];
export const READ_REFUSALS = [
  bad('timers_read_mode_unknown', 'mode must be list or count'),
  ...FAULTS,
];
