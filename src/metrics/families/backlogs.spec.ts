/** What only a race, or a store that cannot be read, brings about. */
import { Registry } from 'prom-client';
import { parseUuid } from '../../common/uuid-v7.js';
import { SweepFigures } from '../../coordinators/index.js';
import { MAX_TENANTS } from '../../coordinators/fire-lag.js';
import type { Groups } from '../../raft/index.js';
import { DEFAULT_TENANT_TEXT } from '../../tenancy/tenant.js';
import { registerFamily, type Family } from '../family.js';
import { backlogFamilies } from './backlogs.js';
import { sweeperFamilies } from './sweepers.js';

function read(families: readonly Family[], name: string): Promise<string> {
  const registry = new Registry();
  for (const family of families) registerFamily(registry, family);
  return registry.getSingleMetricAsString(name);
}

const groupsWith = (view: () => Promise<unknown>): Groups => {
  const group = { status: () => ({ role: 'leader' }), nowMicros: () => 1_000_000, view };
  return { all: () => [group] } as unknown as Groups;
};

it('counts timers that changed between being read and being fired', async () => {
  const figures = new SweepFigures();
  figures.changed = 3;
  const text = await read(sweeperFamilies(figures), 'queen_sweeper_skip_locked_total');
  expect(text).toMatch(/^queen_sweeper_skip_locked_total 3$/m);
});

it('keeps the fire lag by tenant, the default one without a label, and counts who is left out', async () => {
  const { figures, lag } = swept();
  const own = parseUuid('0199c0de-0000-7000-8000-000000000007');
  lag(parseUuid(DEFAULT_TENANT_TEXT), 2_000_000);
  lag(own, 3_000_000);
  const text = await read(sweeperFamilies(figures), 'queen_timers_fire_lag_seconds');
  expect(text).toMatch(/^queen_timers_fire_lag_seconds_sum 2$/m);
  expect(text).toMatch(/^queen_timers_fire_lag_seconds_sum\{tenant="0199c0de-.*7"\} 3$/m);
  for (let i = 0; i < MAX_TENANTS; i += 1) {
    lag(
      Uint8Array.from({ length: 16 }, () => i + 1),
      1,
    );
  }
  const dropped = await read(
    sweeperFamilies(figures),
    'queen_timers_fire_lag_tenants_dropped_total',
  );
  expect(dropped).toMatch(/^queen_timers_fire_lag_tenants_dropped_total 2$/m);
  expect(figures.fireLag.count).toBe(MAX_TENANTS);
});

function swept() {
  const figures = new SweepFigures();
  const lag = (tenant: Uint8Array | undefined, micros: number): void =>
    figures.fireLag.observe(tenant ?? new Uint8Array(16), [micros], 0);
  return { figures, lag };
}

it('tells nothing of what is due, rather than 0, when the store cannot be read', async () => {
  const empty = { iterate: () => [], close: () => Promise.resolve() };
  const idle = backlogFamilies(groupsWith(() => Promise.resolve(empty)));
  expect(await read(idle, 'queen_timers_due')).toMatch(/^queen_timers_due 0$/m);
  const broken = backlogFamilies(groupsWith(() => Promise.reject(new Error('closed'))));
  expect(await read(broken, 'queen_timers_due')).not.toMatch(/^queen/m);
});
