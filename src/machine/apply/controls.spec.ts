/** Switches, quotas and the purge of a tenant: what they change, and that a restart knows it. */
import {
  encodePurgeTenant,
  encodeSetQuota,
  encodeSetSwitches,
  QUOTA_LIMITS,
  QuotaKind,
} from '../commands/index.js';
import type { QuotaLimits } from '../commands/index.js';
import type { PurgeTenantOutcome, SetSwitchesOutcome } from '../commands/controls.js';
import { MachineHarness, OTHER_TENANT, TENANT } from '../../../test/support/machine-harness.js';
import { kv, put, shown } from '../../../test/support/kv-commands.js';

const NONE = Object.fromEntries(QUOTA_LIMITS.map((name) => [name, null])) as unknown as QuotaLimits;

describe('switches', () => {
  it('are on until they are turned off, and stay so over a restart', () => {
    const harness = new MachineHarness();
    expect(harness.tables.controls.isOn('kv')).toBe(true);
    const { events, outcomes } = harness.entry(encodeSetSwitches({ kv: false, ephemeral: true }));
    expect((outcomes[0]!.outcome as SetSwitchesOutcome).changed).toEqual(['kv']);
    expect(events).toEqual([['switched', 'kv', false]]);
    const again = harness.reloaded();
    const on = (['kv', 'timersSchedule', 'timersFire', 'ephemeral'] as const).map((name) =>
      again.tables.controls.isOn(name),
    );
    expect(on).toEqual([false, true, true, true]);
    again.entry(encodeSetSwitches({ kv: true }));
    expect(again.reloaded().tables.controls.isOn('kv')).toBe(true);
  });

  it('change nothing when they stand already', () => {
    const harness = new MachineHarness();
    const { events } = harness.entry(encodeSetSwitches({ timersFire: true }));
    expect(events).toEqual([]);
  });
});

describe('quotas', () => {
  it('are per kind and tenant, replaced as a whole, and stay over a restart', () => {
    const harness = new MachineHarness();
    const limits = { ...NONE, maxRows: 0, maxBytes: 2 ** 52 };
    harness.entry(encodeSetQuota(TENANT, { kind: QuotaKind.Kv, enabled: true, limits }));
    harness.entry(
      encodeSetQuota(OTHER_TENANT, { kind: QuotaKind.Kv, enabled: false, limits: NONE }),
    );
    for (const { tables } of [harness, harness.reloaded()]) {
      expect(tables.controls.quota(QuotaKind.Kv, TENANT)).toEqual({ enabled: true, limits });
      expect(tables.controls.quota(QuotaKind.Streams, TENANT)).toBeUndefined();
      expect(tables.controls.quotas(QuotaKind.Kv)).toMatchObject([
        { tenant: TENANT },
        { tenant: OTHER_TENANT, grant: { enabled: false } },
      ]);
    }
    harness.entry(encodeSetQuota(TENANT, { kind: QuotaKind.Kv, enabled: true, limits: NONE }));
    expect(harness.reloaded().tables.controls.quota(QuotaKind.Kv, TENANT)?.limits).toEqual(NONE);
  });
});

describe('the purge of a tenant', () => {
  it('takes queues and keys at once; the name starts anew with another number', () => {
    const harness = new MachineHarness();
    harness.push(['a']);
    harness.push(['b'], { partition: 'q' });
    kv(harness, put('1'));
    const number = harness.tables.names.tenant(TENANT)!;
    const purge = harness.run<PurgeTenantOutcome>(encodePurgeTenant(TENANT));
    expect(purge.partitions).toBe(2);
    expect(harness.tables.kv.totals(number)).toEqual({ rows: 0, bytes: 0, expiring: 0 });
    expect(harness.tables.queues.live()).toEqual([]);
    expect(shown(kv(harness, put('2', { expect: 0 })))).toMatchObject({
      applied: true,
      version: 2,
    });
    expect(harness.tables.names.tenant(TENANT)).not.toBe(number);
    expect(harness.run<PurgeTenantOutcome>(encodePurgeTenant(OTHER_TENANT)).partitions).toBe(0);
  });

  it('is remembered until its rows are gone, also over a restart', () => {
    const harness = new MachineHarness();
    harness.push(['a']);
    harness.register('g');
    const number = harness.tables.names.tenant(TENANT)!;
    harness.run(encodePurgeTenant(TENANT));
    const { tables, machine } = harness.reloaded();
    expect(tables.garbageTenants()).toEqual([]);
    while (machine.purgeStep(1000));
    for (const { queueId } of tables.garbageQueues()) tables.finishGarbage(queueId);
    expect(tables.garbageTenants()).toEqual([number]);
    tables.names.finishTenant(number);
    expect(tables.garbageTenants()).toEqual([]);
    expect(tables.names.hasTenant(number)).toBe(false);
  });
});
