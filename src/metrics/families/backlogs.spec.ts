/** What only a race, or a store that cannot be read, brings about. */
import { Registry } from 'prom-client';
import { SweepFigures } from '../../coordinators/index.js';
import type { Groups } from '../../raft/index.js';
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

it('tells nothing of what is due, rather than 0, when the store cannot be read', async () => {
  const empty = { iterate: () => [], close: () => Promise.resolve() };
  const idle = backlogFamilies(groupsWith(() => Promise.resolve(empty)));
  expect(await read(idle, 'queen_timers_due')).toMatch(/^queen_timers_due 0$/m);
  const broken = backlogFamilies(groupsWith(() => Promise.reject(new Error('closed'))));
  expect(await read(broken, 'queen_timers_due')).not.toMatch(/^queen/m);
});
