/** Examples of the operators' controls for the API document. */
import { BAD_KIND } from './quota-body.js';
import { NO_ENABLED, NO_SWITCH, NOT_AN_OBJECT, notBoolean } from './switch-body.js';

const TENANT = '00000000-0000-4000-8000-000000000007';

export const SWITCH_EXAMPLES = {
  on: { summary: 'Everything on', value: { kv: true, timersSchedule: true, timersFire: true } },
};
export const SWITCH_ANSWERS = {
  on: {
    ...{ kvEnabled: true, timersScheduleEnabled: true, timersFireEnabled: true },
    ...{ quotaTenants: 0, quotaAgeMs: null, quotaHot: 0 },
  },
};
export const SWITCH_400 = {
  none: NO_SWITCH,
  'not a boolean': notBoolean('kv'),
  'no object': NOT_AN_OBJECT,
};

export const EPHEMERAL_EXAMPLES = { on: { summary: 'On', value: { enabled: true } } };
export const EPHEMERAL_ANSWERS = { on: { ephemeralEnabled: true } };
export const EPHEMERAL_SET_ANSWERS = { on: { ephemeralEnabled: true, mirrored: true } };
export const EPHEMERAL_400 = { 'no boolean': NO_ENABLED };

export const QUOTA_EXAMPLES = {
  keys: {
    summary: 'Keys of a tenant',
    value: { kind: 'kv', tenant: TENANT, maxRows: 10_000, maxWritesPerSecond: 50 },
  },
  off: {
    summary: 'No ephemeral queues',
    value: { kind: 'ephemeral', tenant: TENANT, enabled: false },
  },
};
export const QUOTA_ANSWERS = {
  keys: {
    ...{ success: true, tenant: TENANT, kind: 'kv', enabled: true, maxRows: 10_000 },
    ...{ maxBytes: null, maxTimers: null, maxTimerHorizonSeconds: null },
    ...{ maxReadsPerSecond: null, maxWritesPerSecond: 50, maxQueues: null },
    ...{ maxMessagesPerSecond: null, maxQueries: null },
  },
};
export const QUOTA_400 = { kind: BAD_KIND };

export const RESERVED = {
  success: false,
  code: 'reserved_tenant',
  error: 'this tenant is reserved for the broker',
};
export const RESERVED_403 = { reserved: RESERVED };

export const DEFAULT_TENANT_PURGE = {
  success: false,
  error: 'refusing to purge the default tenant',
};
export const PURGE_ANSWERS = {
  purged: { success: true, tenant: TENANT, partitionsDeleted: 3, done: true },
};
export const PURGE_400 = { 'default tenant': DEFAULT_TENANT_PURGE };

export const SHARED_STATE_ANSWERS = {
  running: {
    ...{ enabled: true, reason: 'raft_state_machine' },
    ...{ appliedIndex: 90, durableIndex: 88, queues: 4 },
  },
};
