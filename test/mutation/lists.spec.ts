/** Planted bugs and kills follow the sources: each finds its place exactly once, else its run plants nothing. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KILL_PATCHES } from '../cluster/operations/kill-points.js';
import { COLLECTOR_MUTANTS } from './collector-mutants.js';
import { CORE_MUTANTS } from './core-mutants.js';
import { GROUP_MUTANTS } from './group-mutants.js';

const ROOT = join(__dirname, '../..');

it.each([
  ['core', 'src/raft/core', CORE_MUTANTS],
  ['group', 'src', GROUP_MUTANTS],
  ['collector', 'src', COLLECTOR_MUTANTS],
] as const)('planted bugs of the list %s', (_list, folder, mutants) => {
  const lost = mutants.filter(({ file, find }) => {
    const text = readFileSync(join(ROOT, folder, file), 'utf8');
    return text.split(find).length !== 2;
  });
  expect(lost.map(({ name }) => name)).toEqual([]);
  expect(mutants.length).toBeGreaterThan(10);
});

it('the steps of a snapshot at which a process kills itself', () => {
  const lost = KILL_PATCHES.filter(({ file, find }) => {
    const text = readFileSync(join(ROOT, 'src', file), 'utf8');
    return text.split(find).length !== 2;
  });
  expect(lost).toEqual([]);
});
