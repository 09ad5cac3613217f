/** Examples of the lock route for the API document. */
import { StateRefusal } from '../common/state-refusal.js';
import { badLock } from './lock-operation.js';
import { guardOf } from './lock-answer.js';

export const LOCK_EXAMPLES = {
  acquire: {
    summary: 'Take a lock for a minute',
    value: { operations: [{ op: 'acquire', name: 'job', ttlSeconds: 60, owner: 'w-1' }] },
  },
  semaphore: {
    summary: 'Take one of three permits',
    value: { operations: [{ op: 'acquire', name: 'api', ttlSeconds: 60, owner: 'w-1', limit: 3 }] },
  },
  release: {
    summary: 'Give it back, and look',
    value: {
      operations: [
        { op: 'release', name: 'job', token: 812 },
        { op: 'get', name: 'api' },
      ],
    },
  },
};

const TIMES = {
  ...{ since: '2026-03-01T10:00:00.25+00:00', expiresAt: '2026-03-01T10:01:00.25+00:00' },
  renewedAt: '2026-03-01T10:00:00.25+00:00',
};

export const LOCK_ANSWERS = {
  acquired: {
    results: [
      {
        ...{ index: 0, op: 'acquire', name: 'job', acquired: true, slot: 0, token: 812 },
        ...{ owner: 'w-1', guard: guardOf('job', 0, 812) },
      },
    ],
  },
  held: {
    results: [
      {
        ...{ index: 0, op: 'acquire', name: 'job', acquired: false, reason: 'held' },
        holders: [{ slot: 0, owner: 'w-2' }],
      },
    ],
  },
  released: {
    results: [
      { index: 0, op: 'release', name: 'job', released: true, slot: 0 },
      {
        ...{ index: 1, op: 'get', name: 'api', held: true },
        holders: [{ slot: 0, owner: 'w-1', token: 815, ...TIMES }],
      },
    ],
  },
};

const unavailable = (reason: string): StateRefusal =>
  new StateRefusal('kv_unavailable', { reason });

export const LOCK_REFUSALS = [
  badLock('locks_bad_body'),
  badLock('locks_bad_name'),
  badLock('locks_ttl_required'),
  new StateRefusal('feature_gated', { reason: 'feature_gated' }),
  new StateRefusal('kv_quota_exceeded', { reason: 'kv_quota_exceeded' }),
  new StateRefusal('payload_too_large', { reason: 'kv_key_too_large' }),
  new StateRefusal('rate_limited', { reason: 'rate_limited' }),
  unavailable('kv_timeout'),
  unavailable('kv_retry'),
  unavailable('kv_no_leader'),
  new StateRefusal('kv_disabled'),
];
