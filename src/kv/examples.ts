/** Examples of the key-value routes for the API document; the requests work in this order. */
import { StateRefusal } from '../common/state-refusal.js';
import { badKv } from '../preparation/kv/kv-validate.js';

const UPDATED = '2026-03-01T10:00:00.25+00:00';
const LISTED = '2026-03-01T10:00:00.250000Z';

export const BATCH_EXAMPLES = {
  write: {
    summary: 'Write, count, create once',
    value: {
      operations: [
        { op: 'put', ns: 'saga', key: 'order-1', value: { state: 'paid' }, ttlSeconds: 3600 },
        { op: 'incr', ns: 'saga', key: 'orders', delta: 1, forever: true },
        { op: 'putIfAbsent', ns: 'saga', key: 'first', value: 'order-1', forever: true },
      ],
    },
  },
  read: {
    summary: 'Read one, several, a prefix',
    value: {
      operations: [
        { op: 'get', ns: 'saga', key: 'order-1' },
        { op: 'getMany', ns: 'saga', keys: ['orders', 'nothing'] },
        { op: 'getPrefix', ns: 'saga', prefix: 'order', limit: 10 },
      ],
    },
  },
  guarded: {
    summary: 'All or nothing',
    value: {
      operations: [
        { op: 'check', ns: 'saga', key: 'order-1', expect: 7, required: true },
        { op: 'put', ns: 'saga', key: 'order-2', value: null, forever: true },
      ],
    },
  },
};

export const BATCH_ANSWERS = {
  written: {
    results: [
      { index: 0, op: 'put', applied: true, key: 'order-1', value: { state: 'paid' }, version: 7 },
      { index: 1, op: 'incr', applied: true, key: 'orders', value: 1, version: 8 },
      {
        ...{ index: 2, op: 'putIfAbsent', applied: false, reason: 'exists', key: 'first' },
        ...{ value: 'order-0', version: 3 },
      },
    ],
  },
  read: {
    results: [
      {
        ...{ index: 0, op: 'get', found: true, key: 'order-1', value: { state: 'paid' } },
        ...{ version: 7, expiresAt: '2026-03-01T11:00:00.25+00:00', updatedAt: UPDATED },
      },
      {
        ...{ index: 1, op: 'getMany', missing: ['nothing'], truncated: false },
        rows: [{ key: 'orders', value: 1, version: 8, expiresAt: null, updatedAt: UPDATED }],
      },
    ],
  },
  undone: {
    ...{ ok: false, reason: 'kv_precondition', failedIndex: 0, kvReason: 'version' },
    ...{ version: 9, value: { state: 'sent' } },
  },
};

export const GET_ANSWERS = {
  found: BATCH_ANSWERS.read.results[0],
  absent: { index: 0, op: 'get', found: false, key: 'order-9' },
};
export const PUT_EXAMPLES = {
  expiring: { summary: 'For an hour', value: { value: { state: 'paid' }, ttlSeconds: 3600 } },
  created: { summary: 'Only if absent', value: { value: 1, forever: true, expect: 0 } },
};
export const PUT_ANSWERS = {
  written: { index: 0, op: 'put', applied: true, key: 'order-1', value: 1, version: 7 },
  lost: {
    ...{ index: 0, op: 'put', applied: false, reason: 'version', key: 'order-1' },
    ...{ value: 1, version: 7 },
  },
};
export const DELETE_EXAMPLES = {
  plain: { summary: 'Whatever it is', value: {} },
  fenced: { summary: 'Only this version', value: { expect: 7 } },
};
export const DELETE_ANSWERS = {
  deleted: { index: 0, op: 'delete', applied: true, key: 'order-1', value: 1, version: 7 },
};

export const NAMESPACES_ANSWERS = { two: { namespaces: [{ namespace: 'saga', keys: 12 }] } };
export const LIST_EXAMPLES = {
  page: { summary: 'First page', value: { namespace: 'saga', prefix: 'order', limit: 100 } },
  all: { summary: 'Expired keys too', value: { namespace: 'saga', includeExpired: true } },
};
export const LIST_ANSWERS = {
  page: {
    rows: [{ key: 'order-1', value: 1, version: 7, expiresAt: null, updatedAt: LISTED }],
    ...{ truncated: true, nextAfter: 'order-1', bytes: 1 },
  },
};

const unavailable = (reason: string): StateRefusal =>
  new StateRefusal('kv_unavailable', { reason });

export const READ_REFUSALS = [
  badKv('kv_bad_namespace'),
  new StateRefusal('rate_limited', { reason: 'rate_limited' }),
  unavailable('kv_timeout'),
  unavailable('kv_retry'),
  unavailable('kv_no_leader'),
  new StateRefusal('kv_disabled'),
  new StateRefusal('kv_error', { reason: 'internal' }),
];

export const NAMESPACES_REFUSALS = [
  ...READ_REFUSALS,
  new StateRefusal('payload_too_large', { reason: 'too_large' }),
];

export const LIST_REFUSALS = [...READ_REFUSALS, badKv('kv_bad_body')];

export const WRITE_REFUSALS = [
  ...READ_REFUSALS,
  badKv('kv_bad_body'),
  badKv('kv_bad_expect'),
  badKv('kv_expiry_not_specified'),
  new StateRefusal('feature_gated', { reason: 'feature_gated' }),
  new StateRefusal('kv_quota_exceeded', { reason: 'kv_quota_exceeded' }),
  new StateRefusal('payload_too_large', { reason: 'kv_value_too_large' }),
  new StateRefusal('payload_too_large', { reason: 'kv_key_too_large' }),
  new StateRefusal('payload_too_large', { reason: 'too_large' }),
  unavailable('kv_check_needs_cluster_version_5'),
];
