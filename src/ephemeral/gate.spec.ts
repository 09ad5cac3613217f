/** The gate in its order: switch, grant, rate (state.md §0.4, §5.2). */
import type { EphemeralConfig } from '../config/index.js';
import { EphemeralGate, type EphemeralQuota } from './gate.js';

const tenant = new Uint8Array(16).fill(1);
const quota = (changes: Partial<EphemeralQuota> = {}): EphemeralQuota => ({
  ...{ enabled: true, maxBytes: null, maxQueues: null, maxMessagesPerSecond: null },
  ...changes,
});

function gate(set: { on?: boolean; quota?: EphemeralQuota | null; requireGrant?: boolean }) {
  const scene = { nowMs: 0, quota: set.quota ?? null };
  const config = { rate: 10, burst: 20, requireGrant: set.requireGrant ?? false };
  const controls = { isEnabled: () => set.on ?? true, quotaOf: () => scene.quota };
  const made = new EphemeralGate(controls, config as EphemeralConfig, () => scene.nowMs);
  return { scene, gate: made };
}

function codeOf(run: () => unknown): unknown {
  try {
    run();
    return 'ok';
  } catch (error) {
    const { code, status, fields } = error as { code: string; status: number; fields: object };
    return [code, status, { ...fields }];
  }
}

it.each([
  ['free', {}, 'ok'],
  [
    'switched off',
    { on: false, quota: quota({ enabled: false }) },
    ['ephemeral_disabled', 503, {}],
  ],
  ['no grant', { requireGrant: true }, ['feature_gated', 403, {}]],
  ['granted', { requireGrant: true, quota: quota() }, 'ok'],
  ['disabled', { quota: quota({ enabled: false }) }, ['feature_gated', 403, {}]],
])('%s', (_, set, expected) => {
  expect(codeOf(() => gate(set).gate.check(tenant))).toEqual(expected);
});

it('charges messages, at most a whole bucket, and says when to come back', () => {
  const { gate: one, scene } = gate({});
  expect(codeOf(() => one.charge(tenant, 10_000))).toBe('ok');
  expect(codeOf(() => one.charge(tenant, 15))).toEqual(['rate_limited', 429, { retryAfter: 2 }]);
  scene.nowMs = 1500;
  expect(codeOf(() => one.charge(tenant, 15))).toBe('ok');
  expect(codeOf(() => one.charge(new Uint8Array(16), 20))).toBe('ok');
});

it('a quota replaces rate and burst, also while it runs', () => {
  const { gate: one, scene } = gate({ quota: quota({ maxMessagesPerSecond: 2 }) });
  expect(codeOf(() => one.charge(tenant, 2))).toBe('ok');
  expect(codeOf(() => one.charge(tenant, 1))).toEqual(['rate_limited', 429, { retryAfter: 1 }]);
  scene.quota = quota();
  scene.nowMs = 1000;
  expect(codeOf(() => one.charge(tenant, 2))).toBe('ok');
  scene.nowMs = 2000;
  expect(codeOf(() => one.charge(tenant, 10))).toBe('ok');
});
