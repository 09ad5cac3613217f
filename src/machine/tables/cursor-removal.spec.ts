/** Deleting cursors of a live queue: chains, counts, leases and rows agree whatever the order. */
import fc from 'fast-check';
import type { ConsumerGroupId } from '../../common/ids.js';
import { micros } from '../../common/ids.js';
import { OPTIONS } from '../../../test/support/tables-world.js';
import type { TablesImpl } from './create-tables.js';
import { createTables } from './create-tables.js';
import { KEYSPACE, keyCursorGroup } from './keyspaces.js';

const LEASE_ID = new Uint8Array(16).fill(3);
const group = (n: number): ConsumerGroupId => n as ConsumerGroupId;

function partitionWithCursors(groups: readonly number[]): { tables: TablesImpl; slot: number } {
  const tables = createTables();
  const tenant = tables.names.ensureTenant(new Uint8Array(16));
  const queue = tables.queues.create(tenant, 'q', micros(1), OPTIONS);
  const slot = tables.partitions.create(queue, 'p', micros(2));
  for (const n of groups) tables.cursors.create(slot, group(n), n, micros(3));
  return { tables, slot };
}

function chain(tables: TablesImpl, slot: number): number[] {
  const found: number[] = [];
  const { cursors, partitions } = tables;
  for (let c = partitions.firstCursor(slot); c >= 0; c = cursors.nextOnPartition(c)) {
    found.push(cursors.groupId(c));
  }
  return found;
}

function flush(tables: TablesImpl): { put: number[]; deleted: number[] } {
  const put: number[] = [];
  const deleted: number[] = [];
  const note = (into: number[]) => (key: Uint8Array) => {
    if (key[0] === KEYSPACE.cursors) into.push(keyCursorGroup(key));
  };
  tables.flushDirty({ get: () => undefined, put: note(put), delete: note(deleted) });
  return { put: put.sort((a, b) => a - b), deleted: deleted.sort((a, b) => a - b) };
}

describe('cursor removal', () => {
  it('leaves the other cursors where they were, in any order of removal', () => {
    const groups = fc.uniqueArray(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 12 });
    const cases = groups.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all)));
    fc.assert(
      fc.property(cases, ([all, removed]) => {
        const { tables, slot } = partitionWithCursors(all);
        flush(tables);
        for (const n of removed) tables.cursors.remove(tables.cursors.find(slot, group(n)));
        const left = all.filter((n) => !removed.includes(n)).sort((a, b) => b - a);
        expect(chain(tables, slot)).toEqual(left);
        expect(tables.cursors.count).toBe(left.length);
        for (const n of all) {
          const found = tables.cursors.find(slot, group(n));
          expect(found >= 0 ? tables.cursors.committed(found) : -1).toBe(
            removed.includes(n) ? -1 : n,
          );
        }
        expect(flush(tables)).toEqual({ put: [], deleted: [...removed].sort((a, b) => a - b) });
      }),
    );
  });

  it('takes the lease with it and lets the cursor come again', () => {
    const { tables, slot } = partitionWithCursors([7]);
    const { cursors, leases } = tables;
    const times = { expiresAt: micros(9), acquiredAt: micros(3), term: 1 };
    const lease = { leaseId: LEASE_ID, firstOffset: 0, batchEnd: 1, conflated: false, ...times };
    cursors.setLease(cursors.find(slot, group(7)), lease);
    cursors.remove(cursors.find(slot, group(7)));
    expect([leases.count, leases.firstWithId(LEASE_ID), cursors.count]).toEqual([0, -1, 0]);
    const again = cursors.create(slot, group(7), 2, micros(5));
    expect([cursors.committed(again), cursors.version(again), cursors.lease(again)]).toEqual([
      2, 1, -1,
    ]);
    expect(cursors.releasedMatches(again, LEASE_ID)).toBe(false);
    // The deletion stands before the new row, so that the row survives the flush.
    expect(flush(tables)).toEqual({ put: [7], deleted: [7] });
  });
});
