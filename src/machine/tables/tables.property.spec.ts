/**
 * The tables against a model of plain Maps: random commands on both, with flushes into a row store,
 * purge slices and restarts in between. What the public interface shows must stay equal, and the row
 * store must hold exactly the live state plus remains of unpurged queues.
 */
import fc from 'fast-check';
import { shownByModel, shownByTables } from '../../../test/support/tables-shown.js';
import { World } from '../../../test/support/tables-world.js';
import type { PartitionId } from '../../common/ids.js';
import { KEYSPACE } from './keyspaces.js';

/** Steps after which everything is compared: delete, purge, restart. */
const REVEALING = new Set([7, 8, 11]);

// Mostly few targets, so that steps meet the same rows; now and then any.
const few = (small: number, all: number): fc.Arbitrary<number> =>
  fc.oneof({ weight: 5, arbitrary: fc.nat(small) }, { weight: 1, arbitrary: fc.nat(all) });
const steps = fc.array(fc.tuple(fc.nat(13), few(1, 7), few(2, 13), few(5, 40)), {
  minLength: 1,
  maxLength: 150,
});

describe('tables against a model of plain maps', () => {
  it('shows the same after any steps, flushes, purges and restarts', () => {
    fc.assert(
      fc.property(steps, (list) => {
        const world = new World();
        for (const step of list) {
          world.run(step);
          if (!REVEALING.has(step[0])) continue;
          expect(shownByTables(world.tables)).toEqual(shownByModel(world));
        }
        world.restart();
        expect(shownByTables(world.tables)).toEqual(shownByModel(world));
      }),
      { numRuns: 400 },
    );
  });

  it('leaves nothing of deleted queues once purged, slice by slice, over restarts', () => {
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 7 }), (list, budget) => {
        const world = new World();
        for (const step of list) world.run(step);
        world.flush();
        for (let a = 0; a < 6; a++) world.run([7, a, 0, 0]);
        for (let slice = 0; world.tables.purgeStep(budget); slice++) {
          if (slice % 3 === 0) world.restart();
          else world.flush();
        }
        world.run([9, 0, 0, 0]);
        world.flush();
        const keyspace = (key: string): number => Number.parseInt(key.slice(0, 2), 16);
        const spaces = new Set([...world.store.keys()].map(keyspace));
        expect([...spaces].sort()).toEqual([KEYSPACE.tenants, KEYSPACE.groups]);
        world.restart();
        expect(world.tables.garbageQueues()).toEqual([]);
        const { partitions, cursors, leases } = world.tables;
        expect([partitions.count, cursors.count, leases.count]).toEqual([0, 0, 0]);
        for (let id = 1; id < world.model.nextPartition; id++) {
          expect(partitions.byId(id as PartitionId)).toBe(-1);
        }
      }),
      { numRuns: 150 },
    );
  });
});
