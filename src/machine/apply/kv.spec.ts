/** Key-value verdicts: a row of the spec's table per test, then counters, expiry, sweep and restart. */
import { kvDueRange, kvNamespaceKey, kvRowKey } from '../tables/kv-keys.js';
import { decodeKvNamespaceRow, decodeKvRow } from '../tables/kv-rows.js';
import type { KvRow } from '../tables/kv-rows.js';
import { encodeKvSweep } from '../commands/index.js';
import type { KvCallOutcome, KvPlannedOp } from '../commands/index.js';
import type { KvSweepOutcome } from '../commands/kv.js';
import { MachineHarness, SECOND, TENANT } from '../../../test/support/machine-harness.js';
import {
  check,
  del,
  incr,
  kv,
  kvBytes,
  put,
  shown,
  text,
} from '../../../test/support/kv-commands.js';

function tenantOf(harness: MachineHarness): number {
  return harness.tables.names.tenant(TENANT) ?? 0;
}

function row(harness: MachineHarness, key = 'k', namespace = 'ns'): KvRow | null {
  const stored = harness.rows.get(kvRowKey(tenantOf(harness), { namespace, key }));
  return stored === undefined ? null : decodeKvRow(stored);
}

function totals(harness: MachineHarness): object {
  return harness.tables.kv.totals(tenantOf(harness) as never);
}

/** Expiry index rows, all of them. */
function indexed(harness: MachineHarness): number {
  const { gte, lt } = kvDueRange(Number.MAX_SAFE_INTEGER - 1);
  return [...harness.rows.all()].filter(
    ([key]) => Buffer.compare(key, gte) >= 0 && Buffer.compare(key, lt) < 0,
  ).length;
}

type State = 'absent' | 'live' | 'expired' | 'text';

/** A machine whose key k is in the state; a live row has version 1. */
function machineIn(state: State): MachineHarness {
  const harness = new MachineHarness();
  if (state === 'live') kv(harness, put('7'));
  if (state === 'text') kv(harness, put('"text"'));
  if (state === 'expired') {
    kv(harness, put('7', { ttlMicros: SECOND }));
    harness.advance(1);
  }
  return harness;
}

const applied = (value: string | null, version: number): object => ({
  ...{ applied: true, reason: null, value, version },
});
const lost = (reason: string, value: string | null, version: number): object => ({
  ...{ applied: false, reason, value, version },
});

type Row = readonly [name: string, state: State, op: KvPlannedOp, verdict: object];

const VERDICTS: readonly Row[] = [
  ['put', 'absent', put('1'), applied('1', 1)],
  ['put over a row', 'live', put('1'), applied('1', 2)],
  ['put over a dead row', 'expired', put('1'), applied('1', 2)],
  ['put expect 0', 'absent', put('1', { expect: 0 }), applied('1', 1)],
  ['put expect 0 over a dead row', 'expired', put('1', { expect: 0 }), applied('1', 2)],
  ['put expect 0 over a row', 'live', put('1', { expect: 0 }), lost('exists', '7', 1)],
  ['put expect its version', 'live', put('1', { expect: 1 }), applied('1', 2)],
  ['put expect another', 'live', put('1', { expect: 9 }), lost('version', '7', 1)],
  ['put expect, nothing there', 'absent', put('1', { expect: 1 }), lost('absent', null, 0)],
  ['put expect, dead', 'expired', put('1', { expect: 1 }), lost('absent', null, 0)],
  ['delete', 'live', del(), applied('7', 1)],
  ['delete a dead row', 'expired', del(), lost('absent', null, 0)],
  ['delete nothing', 'absent', del(), lost('absent', null, 0)],
  ['delete expect 0', 'absent', del({ expect: 0 }), applied(null, 0)],
  ['delete expect 0, dead', 'expired', del({ expect: 0 }), applied(null, 0)],
  ['delete expect 0, live', 'live', del({ expect: 0 }), lost('exists', '7', 1)],
  ['delete expect its version', 'live', del({ expect: 1 }), applied('7', 1)],
  ['delete expect another', 'live', del({ expect: 2 }), lost('version', '7', 1)],
  ['delete expect, absent', 'absent', del({ expect: 2 }), lost('absent', null, 0)],
  ['delete expect, dead', 'expired', del({ expect: 1 }), lost('absent', null, 0)],
  ['incr', 'live', incr('0.5'), applied('7.5', 2)],
  ['incr absent', 'absent', incr('2'), applied('2', 1)],
  ['incr dead', 'expired', incr('2'), applied('2', 2)],
  ['incr text', 'text', incr('2'), lost('type', '0', 1)],
  ['incr to the maximum', 'live', incr('3', { max: '10' }), applied('10', 2)],
  ['incr above it', 'live', incr('4', { max: '10' }), lost('limit', '7', 1)],
  ['incr to the minimum', 'live', incr('-7', { min: '0' }), applied('0', 2)],
  ['incr below it', 'live', incr('-8', { min: '0' }), lost('limit', '7', 1)],
  ['incr absent below it', 'absent', incr('-1', { min: '0' }), lost('limit', '0', 0)],
  ['incr beyond the doubles', 'live', incr('1e999'), lost('limit', '7', 1)],
  ['check 0, absent', 'absent', check(0), applied(null, 0)],
  ['check 0, dead', 'expired', check(0), applied(null, 0)],
  ['check 0, live', 'live', check(0), lost('exists', '7', 1)],
  ['check its version', 'live', check(1), applied(null, 1)],
  ['check another', 'live', check(3), lost('version', '7', 1)],
  ['check, absent', 'absent', check(3), lost('absent', null, 0)],
  ['check, dead', 'expired', check(1), lost('absent', null, 0)],
];

describe('verdicts', () => {
  it.each(VERDICTS)('%s (%s)', (_, state, operation, verdict) => {
    const harness = machineIn(state);
    const before = row(harness);
    const digest = harness.machine.digest();
    const outcome = kv(harness, operation);
    expect(shown(outcome)).toEqual(verdict);
    expect(outcome.failed).toBe(-1);
    if (!outcome.results[0]!.applied && !(state === 'expired' && operation.expect < 0)) {
      expect(row(harness)).toEqual(before);
    } else expect(harness.machine.digest()).not.toEqual(digest);
  });

  it.each(VERDICTS)('required: %s (%s)', (_, state, operation, verdict) => {
    const harness = machineIn(state);
    const outcome = kv(harness, put('1', { key: 'a' }), { ...operation, required: true });
    const isLost = !(verdict as { applied: boolean }).applied;
    expect(outcome.failed).toBe(isLost ? 1 : -1);
    expect(row(harness, 'a') === null).toBe(isLost);
  });

  it('removes a dead row that a plain delete meets, but not when the call is refused', () => {
    const harness = machineIn('expired');
    kv(harness, del(), check(9, { key: 'other', required: true }));
    expect(row(harness)).not.toBeNull();
    kv(harness, del());
    expect(row(harness)).toBeNull();
    expect(totals(harness)).toEqual({ rows: 0, bytes: 0, expiring: 0 });
  });

  it('names the first required operation that lost', () => {
    const harness = new MachineHarness();
    const outcome = kv(
      harness,
      check(1, { key: 'a' }),
      check(2, { key: 'b', required: true }),
      check(3, { key: 'c', required: true }),
    );
    expect(outcome.failed).toBe(1);
  });
});

describe('rows', () => {
  it('a put replaces value and expiry and keeps createdAt of a live row alone', () => {
    const harness = new MachineHarness();
    kv(harness, put('1', { ttlMicros: 10 * SECOND }));
    const first = row(harness)!;
    harness.advance(1);
    kv(harness, put('2'));
    expect(row(harness)).toMatchObject({ expiresAt: 0, createdAt: first.createdAt, version: 2 });
    expect(row(harness)!.updatedAt).toBeGreaterThan(first.updatedAt);
    kv(harness, put('3', { ttlMicros: SECOND }));
    harness.advance(2);
    kv(harness, put('4'));
    expect(row(harness)!.createdAt).toBeGreaterThan(first.createdAt);
  });

  it('an increment keeps the expiry of a live row and starts a dead one again', () => {
    const harness = new MachineHarness();
    kv(harness, incr('1', { ttlMicros: 10 * SECOND }));
    const { expiresAt, createdAt } = row(harness)!;
    harness.advance(5);
    kv(harness, incr('1', { ttlMicros: 100 * SECOND }));
    expect(row(harness)).toMatchObject({ expiresAt, createdAt });
    harness.advance(5);
    expect(shown(kv(harness, incr('1', { ttlMicros: SECOND })))).toMatchObject({ value: '1' });
    expect(row(harness)!.expiresAt).toBe(row(harness)!.updatedAt + SECOND);
  });

  it('dies at its instant, not before', () => {
    const harness = new MachineHarness();
    kv(harness, put('1', { ttlMicros: SECOND }));
    const { expiresAt } = row(harness)!;
    harness.now = expiresAt - 1;
    expect(shown(kv(harness, check(1)))).toMatchObject({ applied: true });
    harness.now = expiresAt;
    expect(shown(kv(harness, check(1)))).toMatchObject({ reason: 'absent' });
  });

  it('holds a time to live that is longer than time itself', () => {
    const harness = new MachineHarness();
    kv(harness, put('1', { ttlMicros: Number.MAX_SAFE_INTEGER }));
    expect(Number.isSafeInteger(row(harness)!.expiresAt)).toBe(true);
  });

  it('keeps the number text and the bytes of a value', () => {
    const harness = new MachineHarness();
    const value = '{"b":12345678901234567890.10,"a":"\\u0041"}';
    kv(harness, put(value));
    expect(text(row(harness)!.value)).toBe(value);
  });

  it('versions rise over deletes, expiry and restarts', () => {
    let harness = new MachineHarness();
    const versions: number[] = [];
    const note = (): number => versions.push(row(harness)!.version);
    kv(harness, put('1'));
    note();
    kv(harness, del());
    kv(harness, put('1', { ttlMicros: SECOND }));
    note();
    harness.advance(2);
    harness = harness.reloaded();
    kv(harness, put('1', { expect: 0 }));
    note();
    kv(harness, incr('1'));
    note();
    expect(versions).toEqual([1, 2, 3, 4]);
  });
});

describe('occupancy', () => {
  it('counts rows, bytes of keys and values, and rows with an expiry, per tenant and namespace', () => {
    const harness = new MachineHarness();
    kv(harness, put('100', { key: 'ab' }), put('1', { key: 'c', ttlMicros: SECOND }));
    expect(totals(harness)).toEqual({ rows: 2, bytes: 7, expiring: 1 });
    kv(harness, put('1', { key: 'ab', ns: 'other' }), put('22', { key: 'c' }));
    expect(totals(harness)).toEqual({ rows: 3, bytes: 11, expiring: 0 });
    kv(harness, del({ key: 'ab' }));
    expect(totals(harness)).toEqual({ rows: 2, bytes: 6, expiring: 0 });
    const namespaceRow = harness.rows.get(kvNamespaceKey(tenantOf(harness), 'ns'))!;
    expect(decodeKvNamespaceRow(namespaceRow)).toEqual({ keys: 1, bytes: 3 });
    kv(harness, del({ key: 'c' }));
    expect(harness.rows.get(kvNamespaceKey(tenantOf(harness), 'ns'))).toBeUndefined();
  });

  it('is the same after a restart', () => {
    const harness = new MachineHarness();
    kv(harness, put('1', { ttlMicros: SECOND }), put('2', { key: 'b' }));
    const again = harness.reloaded();
    expect(totals(again)).toEqual(totals(harness));
    expect([again.tables.kv.lastVersion, again.tables.kv.expiring]).toEqual([2, 1]);
    expect(again.machine.digest()).toEqual(harness.machine.digest());
    expect(kv(again, incr('1', { key: 'b' }))).toEqual(kv(harness, incr('1', { key: 'b' })));
    expect(again.machine.digest()).toEqual(harness.machine.digest());
  });
});

describe('sweep', () => {
  const sweep = (
    harness: MachineHarness,
    target: { expiresAt: number; version: number; key?: string },
  ): number => {
    const { expiresAt, version, key = 'k' } = target;
    const rowKey = kvRowKey(tenantOf(harness), { namespace: 'ns', key });
    const bytes = encodeKvSweep({ candidates: [{ expiresAt, version, rowKey }] });
    return harness.run<KvSweepOutcome>(bytes).removed;
  };

  it('removes a dead row of this very version and nothing else', () => {
    const harness = new MachineHarness();
    kv(harness, put('1', { ttlMicros: SECOND }));
    const { expiresAt, version } = row(harness)!;
    expect(sweep(harness, { expiresAt, version })).toBe(0);
    harness.advance(2);
    expect(sweep(harness, { expiresAt, version: version + 1 })).toBe(0);
    expect(sweep(harness, { expiresAt, version })).toBe(1);
    expect([row(harness), indexed(harness)]).toEqual([null, 0]);
    expect(sweep(harness, { expiresAt, version })).toBe(0);
  });

  it('leaves a row that was written again', () => {
    const harness = new MachineHarness();
    kv(harness, put('1', { ttlMicros: SECOND }));
    const { expiresAt, version } = row(harness)!;
    harness.advance(2);
    kv(harness, put('2', { ttlMicros: SECOND }));
    expect(sweep(harness, { expiresAt, version })).toBe(0);
    expect([text(row(harness)!.value), indexed(harness)]).toEqual(['2', 1]);
  });

  it('keeps one index row per row with an expiry', () => {
    const harness = new MachineHarness();
    kv(harness, put('1', { ttlMicros: SECOND }), put('1', { key: 'b' }));
    kv(harness, incr('1'), incr('1', { key: 'b' }));
    expect(indexed(harness)).toBe(1);
    kv(harness, put('1'));
    expect(indexed(harness)).toBe(0);
    kv(harness, put('1', { ttlMicros: SECOND }));
    kv(harness, del());
    expect(indexed(harness)).toBe(0);
  });
});

describe('a call that reads', () => {
  it('is told what later commands of its entry change, and nothing else', () => {
    const harness = new MachineHarness();
    kv(harness, put('1'));
    const applied = harness.entry(
      kvBytes([put('2')]),
      kvBytes([put('3', { key: 'own' })], true),
      kvBytes([put('4'), del({ key: 'own' })]),
      kvBytes([put('5')]),
    );
    const reader = applied.outcomes[1]!.outcome as KvCallOutcome;
    const later = reader.later.slice(reader.laterFrom);
    const first = new Map(
      [...later].reverse().map(({ rowKey, before }) => [text(rowKey.slice(5)), before]),
    );
    expect([...first].map(([key, before]) => [key, text(decodeKvRow(before!).value)])).toEqual([
      ['ns\0k', '2'],
      ['ns\0own', '3'],
    ]);
    expect((applied.outcomes[0]!.outcome as KvCallOutcome).later).toEqual([]);
  });

  it('shows the live row before each operation', () => {
    const harness = machineIn('live');
    expect(text(kv(harness, put('1')).results[0]!.before!.value)).toBe('7');
    expect(kv(machineIn('expired'), put('1')).results[0]!.before).toBeNull();
  });
});
