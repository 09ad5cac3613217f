/** The gate ladder rung by rung, with a clock of its own over real tables. */
import { StateRefusal } from '../common/state-refusal.js';
import {
  encodeSetQuota,
  encodeSetSwitches,
  QUOTA_LIMITS,
  QuotaKind,
} from '../machine/commands/index.js';
import type { QuotaLimits, SetSwitchesCommand } from '../machine/commands/index.js';
import { MachineHarness, OTHER_TENANT, TENANT } from '../../test/support/machine-harness.js';
import { del, kv, put } from '../../test/support/kv-commands.js';
import { NO_CHARGE, StateGate } from './state-gate.js';
import type { GateConfig } from './state-gate.js';
import { StateTraffic } from './state-traffic.js';

const NONE = Object.fromEntries(QUOTA_LIMITS.map((name) => [name, null])) as unknown as QuotaLimits;

class Scene {
  readonly harness = new MachineHarness();
  readonly traffic = new StateTraffic(() => 0);
  readonly gate: StateGate;
  nowMs = 1_000;

  constructor(config: Partial<GateConfig> = {}) {
    const group = { tables: this.harness.tables } as never;
    this.gate = new StateGate(
      { first: group, ofTenant: () => group, all: () => [group] },
      {
        ...{ requireGrant: false, readRate: 2, readBurst: 4, writeRate: 1, writeBurst: 2 },
        ...{ maxTenants: 10, quotaReleasePct: 90, quotaHotPct: 80 },
        ...config,
      },
      this.traffic,
      () => this.nowMs,
    );
  }

  quota(limits: Partial<QuotaLimits>, enabled = true, tenant = TENANT): void {
    const grant = { enabled, limits: { ...NONE, ...limits } };
    this.harness.entry(encodeSetQuota(tenant, { kind: QuotaKind.Kv, ...grant }));
  }

  turn(switches: SetSwitchesCommand): void {
    this.harness.entry(encodeSetSwitches(switches));
  }

  /** 'ok', or what refused. */
  read(tenant = TENANT): string {
    return outcome(() => this.gate.enterRead(tenant));
  }

  write(rows = 0, bytes = 0, tenant = TENANT): string {
    return outcome(() => this.gate.enterWrite(tenant, { rows, bytes, timers: 0 }));
  }

  timers(timers = 1): string {
    return outcome(() => this.gate.enterTimers(TENANT, timers));
  }
}

function outcome(enter: () => unknown): string {
  try {
    enter();
    return 'ok';
  } catch (error) {
    if (!(error instanceof StateRefusal)) throw error;
    const { status, retryAfterSeconds } = error;
    return [error.code, status, retryAfterSeconds].filter((part) => part !== undefined).join(' ');
  }
}

describe('rungs', () => {
  it('1: the switch of the keys stops reads and writes, not timers', () => {
    const scene = new Scene();
    scene.turn({ kv: false });
    expect([scene.read(), scene.write(), scene.timers()]).toEqual([
      'kv_disabled 503 1',
      'kv_disabled 503 1',
      'ok',
    ]);
    scene.turn({ kv: true, timersSchedule: false });
    expect([scene.read(), scene.write(), scene.timers()]).toEqual([
      'ok',
      'ok',
      'timers_disabled 503 1',
    ]);
  });

  it('2: a grant is needed for writes and timers when configured, and a row may take it away', () => {
    const scene = new Scene({ requireGrant: true });
    expect([scene.read(), scene.write(), scene.timers()]).toEqual([
      'ok',
      'feature_gated 403',
      'feature_gated 403',
    ]);
    scene.quota({});
    expect(scene.write()).toBe('ok');
    scene.quota({}, false);
    expect([scene.read(), scene.write()]).toEqual(['ok', 'feature_gated 403']);
    const open = new Scene();
    open.quota({}, false);
    expect(open.write()).toBe('feature_gated 403');
  });

  it('3: a full map of tenants denies strangers and never a tenant with a quota', () => {
    const scene = new Scene({ maxTenants: 1 });
    expect([scene.read(), scene.read(OTHER_TENANT)]).toEqual(['ok', 'kv_unavailable 503 1']);
    scene.quota({}, true, OTHER_TENANT);
    expect([scene.read(), scene.read(OTHER_TENANT)]).toEqual(['ok', 'ok']);
  });

  it('4: tokens, apart for reads and writes; timers take from the writes', () => {
    const scene = new Scene();
    expect([scene.read(), scene.read(), scene.read(), scene.read()]).toEqual(Array(4).fill('ok'));
    expect(scene.read()).toBe('rate_limited 429 1');
    expect([scene.write(), scene.timers(), scene.write()]).toEqual([
      'ok',
      'ok',
      'rate_limited 429 1',
    ]);
    scene.nowMs += 1_000;
    expect([scene.write(), scene.write(), scene.read(), scene.read(), scene.read()]).toEqual([
      'ok',
      'rate_limited 429 1',
      'ok',
      'ok',
      'rate_limited 429 1',
    ]);
  });

  it('4: a quota replaces rate and burst', () => {
    const scene = new Scene({ writeRate: 100, writeBurst: 100 });
    scene.quota({ maxWritesPerSecond: 1, maxReadsPerSecond: 0 });
    expect([scene.write(), scene.write()]).toEqual(['ok', 'rate_limited 429 1']);
    expect([scene.read(), scene.read(), scene.read(), scene.read()]).toEqual(Array(4).fill('ok'));
  });

  it('5: occupancy blocks at the crossing and opens below the release share', () => {
    const scene = new Scene({ writeBurst: 100 });
    scene.quota({ maxRows: 10 });
    for (let i = 0; i < 10; i++) kv(scene.harness, put('1', { key: `k${i}` }));
    expect([scene.write(1), scene.write(0)]).toEqual(['kv_quota_exceeded 403', 'ok']);
    kv(scene.harness, put('2', { key: 'k0' }));
    expect(scene.write(1)).toBe('kv_quota_exceeded 403');
    kv(scene.harness, del({ key: 'k1' }));
    expect(scene.write(1)).toBe('ok');
  });

  it('5: what was charged since the measurement counts; a refund gives it back', () => {
    const scene = new Scene({ writeBurst: 100 });
    scene.quota({ maxRows: 2, maxBytes: 100 });
    const pass = scene.gate.enterWrite(TENANT, { rows: 2, bytes: 10, timers: 0 });
    expect(scene.write(0, 90)).toBe('ok');
    pass.refund();
    expect(scene.write(0, 11)).toBe('kv_quota_exceeded 403');
    expect(scene.write(2)).toBe('ok');
    expect(scene.write(1)).toBe('kv_quota_exceeded 403');
  });

  it('5: a refund of an older measurement takes nothing off what was charged since', () => {
    const scene = new Scene({ writeBurst: 100 });
    scene.quota({ maxRows: 4 });
    const older = scene.gate.enterWrite(TENANT, { rows: 2, bytes: 0, timers: 0 });
    kv(scene.harness, put('1', { key: 'measured' }));
    expect(scene.write(3)).toBe('ok');
    older.refund();
    expect(scene.write(1)).toBe('kv_quota_exceeded 403');
  });

  it('5: what was charged before there was a limit is no credit for it', () => {
    const scene = new Scene({ writeBurst: 100 });
    scene.quota({});
    const unlimited = scene.gate.enterWrite(TENANT, { rows: 2, bytes: 0, timers: 0 });
    scene.quota({ maxRows: 4 });
    unlimited.refund();
    expect(scene.write(4)).toBe('ok');
    expect(scene.write(1)).toBe('kv_quota_exceeded 403');
  });

  it('5: timers have a limit of their own', () => {
    const scene = new Scene({ writeBurst: 100 });
    scene.quota({ maxTimers: 3 });
    let stored = 2;
    scene.gate.measureTimers(() => stored);
    expect([scene.timers(), scene.timers()]).toEqual(['ok', 'timers_quota_exceeded 403']);
    stored = 0;
    expect(scene.timers()).toBe('ok');
  });
});

it('counts what it refused, and the tenants near a limit', () => {
  const scene = new Scene({ readBurst: 1 });
  scene.read();
  scene.read();
  scene.quota({ maxRows: 10 });
  scene.quota({ maxRows: 0 }, true, OTHER_TENANT);
  expect(scene.gate.figures()).toEqual({ tenants: 2, hot: 1 });
  scene.write(11);
  expect([...scene.traffic.rejections]).toEqual([
    ['rate_limited', 1],
    ['quota', 1],
  ]);
  expect(NO_CHARGE).toEqual({ rows: 0, bytes: 0, timers: 0 });
});
