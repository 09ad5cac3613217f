/** Variables of the KV store and of timers (cluster spec §11.5, state spec §0.6). */
import { boolean, integer } from '../builders.js';
import { MIB } from './server.js';

const SECOND_MS = 1000;

const store = {
  requireGrant: boolean({
    name: 'QUEEN_KV_REQUIRE_GRANT',
    fallback: null,
    fallbackText: 'value of QUEEN_TENANCY_HEADER',
    doc: 'KV writes and timer schedules need a grant of the tenant.',
  }),
  maxValueBytes: integer({
    name: 'QUEEN_KV_MAX_VALUE_BYTES',
    fallback: 65_536,
    min: 1,
    unit: 'bytes',
    doc: 'Largest value as compact JSON, the same on every node.',
  }),
  maxOpsPerCall: integer({
    name: 'QUEEN_KV_MAX_OPS_PER_CALL',
    fallback: 256,
    min: 1,
    max: 256,
    doc: 'Operations of one KV call.',
  }),
  maxKeysPerCall: integer({
    name: 'QUEEN_KV_MAX_KEYS_PER_CALL',
    fallback: 1024,
    min: 1,
    max: 4096,
    doc: 'Keys of one KV call.',
  }),
  readRate: integer({
    name: 'QUEEN_KV_READ_RATE',
    fallback: 200,
    min: 1,
    unit: 'calls/s',
    doc: 'Reads per tenant and node; 429 above.',
  }),
  readBurst: integer({
    name: 'QUEEN_KV_READ_BURST',
    fallback: 400,
    min: 1,
    unit: 'calls',
    doc: 'Burst of reads.',
  }),
  writeRate: integer({
    name: 'QUEEN_KV_WRITE_RATE',
    fallback: 100,
    min: 1,
    unit: 'calls/s',
    doc: 'Writes per tenant and node; 429 above.',
  }),
  writeBurst: integer({
    name: 'QUEEN_KV_WRITE_BURST',
    fallback: 200,
    min: 1,
    unit: 'calls',
    doc: 'Burst of writes.',
  }),
  maxTenants: integer({
    name: 'QUEEN_KV_MAX_TENANTS',
    fallback: 10_000,
    min: 1,
    unit: 'tenants',
    doc: 'Tenants whose rates are tracked; further ones are denied, none is evicted.',
  }),
  quotaReleasePct: integer({
    name: 'QUEEN_KV_QUOTA_RELEASE_PERCENT',
    fallback: 90,
    min: 1,
    max: 99,
    unit: '%',
    doc: 'A tenant over its quota writes again below this share.',
  }),
  quotaHotPct: integer({
    name: 'QUEEN_KV_QUOTA_HOT_PERCENT',
    fallback: 80,
    min: 1,
    max: 100,
    unit: '%',
    doc: 'A tenant above this share counts as hot.',
  }),
  sweepMs: integer({
    name: 'QUEEN_RAFT_KV_SWEEP_MS',
    fallback: 1000,
    min: 1,
    unit: 'ms',
    doc: 'Time between sweeps of expired keys.',
  }),
  sweepLimit: integer({
    name: 'QUEEN_RAFT_KV_SWEEP_LIMIT',
    fallback: 512,
    min: 1,
    unit: 'rows',
    doc: 'Rows deleted in one sweep step.',
  }),
};

const timers = {
  timersMaxOpsPerCall: integer({
    name: 'QUEEN_TIMERS_MAX_OPS_PER_CALL',
    fallback: 256,
    min: 1,
    doc: 'Operations of one timer call.',
  }),
  timersMaxPayloadBytes: integer({
    name: 'QUEEN_TIMERS_MAX_PAYLOAD_BYTES',
    fallback: MIB,
    min: 1,
    unit: 'bytes',
    doc: 'Largest decoded timer payload.',
  }),
  timersMaxHorizonMs: integer({
    name: 'QUEEN_TIMERS_MAX_HORIZON_S',
    fallback: 7_776_000,
    min: 1,
    unit: 's',
    scale: SECOND_MS,
    doc: 'Longest delay of a timer.',
  }),
  timerTickMs: integer({
    name: 'QUEEN_RAFT_TIMER_TICK_MS',
    fallback: 50,
    unit: 'ms',
    doc: 'How often due timers are fired. 0: timers never fire.',
  }),
  timerFireBatch: integer({
    name: 'QUEEN_RAFT_TIMER_FIRE_BATCH',
    fallback: 256,
    min: 1,
    unit: 'timers',
    doc: 'Timers fired in one step.',
  }),
  timerFireMaxBytes: integer({
    name: 'QUEEN_RAFT_TIMER_FIRE_MAX_BYTES',
    fallback: 4 * MIB,
    min: 1,
    unit: 'bytes',
    doc: 'Payload bytes fired in one step; at least one timer always goes.',
  }),
  timerBackoffMinMs: integer({
    name: 'QUEEN_SWEEPER_BACKOFF_MIN_MS',
    fallback: 1000,
    min: 1,
    unit: 'ms',
    doc: 'First wait after a permanent failure to fire.',
  }),
  timerBackoffMaxMs: integer({
    name: 'QUEEN_SWEEPER_BACKOFF_MAX_MS',
    fallback: 60_000,
    min: 1,
    unit: 'ms',
    doc: 'Longest wait after permanent failures.',
  }),
  timerTransientBackoffMs: integer({
    name: 'QUEEN_SWEEPER_TRANSIENT_BACKOFF_MS',
    fallback: 1000,
    min: 1,
    unit: 'ms',
    doc: 'Wait after a failure that may pass.',
  }),
  timerMaxAttempts: integer({
    name: 'QUEEN_SWEEPER_MAX_ATTEMPTS',
    fallback: 5,
    min: 1,
    unit: 'attempts',
    doc: 'Permanent failures before a timer becomes a dead letter.',
  }),
};

export const kvVariables = { ...store, ...timers };
