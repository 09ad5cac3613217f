/** Leases: one id over several partitions, release and reuse of rows, walks in order. */
import fc from 'fast-check';
import type { ConsumerGroupId } from '../../common/ids.js';
import { micros } from '../../common/ids.js';
import { OPTIONS } from '../../../test/support/tables-world.js';
import type { TablesImpl } from './create-tables.js';
import { createTables } from './create-tables.js';

const GROUP = 1 as ConsumerGroupId;
const PARTITIONS = 8;
const NO_ROWS = { get: () => undefined, put: () => undefined, delete: () => undefined };
const idOf = (n: number): Uint8Array => new Uint8Array(16).fill(n);

/** Two queues of four partitions with one cursor each, created alternately. */
function filled(): TablesImpl {
  const tables = createTables();
  const tenant = tables.names.ensureTenant(idOf(1));
  const queues = ['a', 'b'].map((n) => tables.queues.create(tenant, n, micros(1), OPTIONS));
  for (let i = 0; i < PARTITIONS; i++) {
    const slot = tables.partitions.create(queues[i % 2]!, `p${i}`, micros(1));
    tables.cursors.create(slot, GROUP, -1, micros(1));
  }
  return tables;
}

function lease(tables: TablesImpl, cursor: number, id: number): void {
  const times = { expiresAt: micros(9), acquiredAt: micros(1), term: 1 };
  const span = { firstOffset: 0, batchEnd: 0, conflated: false };
  tables.cursors.setLease(cursor, { leaseId: idOf(id), ...span, ...times });
}

function holders(tables: TablesImpl, id: number): number[] {
  const cursors: number[] = [];
  const { leases } = tables;
  for (let l = leases.firstWithId(idOf(id)); l >= 0; l = leases.nextWithId(l)) {
    cursors.push(leases.cursorSlot(l));
  }
  return cursors;
}

describe('LeaseTable', () => {
  it('chains the leases of one id in partition order and hides those of a deleted queue', () => {
    const step = fc.tuple(fc.nat(PARTITIONS - 1), fc.nat(2));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.constantFrom('a', 'b'), (steps, gone) => {
        const tables = filled();
        const held = new Map<number, number>();
        const wanted = (id: number): number[] =>
          [...held].flatMap(([c, by]) => (by === id ? [c] : [])).sort((a, b) => a - b);
        for (const [cursor, id] of steps) {
          if (id === 0) {
            tables.cursors.clearLease(cursor);
            held.delete(cursor);
          } else {
            lease(tables, cursor, id);
            held.set(cursor, id);
          }
          expect([holders(tables, 1), holders(tables, 2)]).toEqual([wanted(1), wanted(2)]);
          expect(tables.leases.count).toBe(held.size);
        }
        tables.queues.remove(tables.queues.live().find((queue) => queue.name === gone)!);
        for (const cursor of held.keys())
          if ((cursor % 2 === 0) === (gone === 'a')) held.delete(cursor);
        expect([holders(tables, 1), holders(tables, 2)]).toEqual([wanted(1), wanted(2)]);
        while (tables.purgeStep(1)) tables.flushDirty(NO_ROWS);
        expect([holders(tables, 1), holders(tables, 2)]).toEqual([wanted(1), wanted(2)]);
        expect(tables.leases.count).toBe(held.size);
      }),
    );
  });

  it('finds nothing for ids of another length or never given out', () => {
    const tables = filled();
    lease(tables, 3, 1);
    expect(tables.leases.firstWithId(new Uint8Array(0))).toBe(-1);
    expect(tables.leases.firstWithId(idOf(9))).toBe(-1);
    expect(tables.cursors.releasedMatches(3, new Uint8Array(16))).toBe(false);
    expect(() => tables.cursors.extendLease(2, micros(1))).toThrow('no lease');
  });
});

describe('rows of freed slots', () => {
  it('are deleted, never written, even when the slot was dirty', () => {
    const tables = filled();
    tables.queues.remove(tables.queues.live()[1]!);
    expect(tables.purgeStep(100)).toBe(false);
    const puts = new Map<number, number>();
    const deletes = new Map<number, number>();
    tables.flushDirty({
      get: () => undefined,
      put: (key) => void puts.set(key[0]!, (puts.get(key[0]!) ?? 0) + 1),
      delete: (key) => void deletes.set(key[0]!, (deletes.get(key[0]!) ?? 0) + 1),
    });
    expect([puts.get(6), puts.get(7)]).toEqual([4, 4]);
    expect([deletes.get(3), deletes.get(6), deletes.get(7)]).toEqual([1, 4, 4]);
  });

  it('keep no trace when the slots are used again', () => {
    const tables = filled();
    lease(tables, 1, 1);
    tables.queues.remove(tables.queues.live()[1]!);
    tables.purgeStep(100);
    const queue = tables.queues.live()[0]!;
    const slot = tables.partitions.create(queue, 'p1', micros(5));
    expect(slot).toBeLessThan(PARTITIONS);
    expect(tables.partitions.firstCursor(slot)).toBe(-1);
    expect([tables.partitions.lastOffset(slot), tables.partitions.logStart(slot)]).toEqual([-1, 0]);
    expect(tables.cursors.find(slot, GROUP)).toBe(-1);
    const cursor = tables.cursors.create(slot, GROUP, -1, micros(6));
    expect([tables.cursors.lease(cursor), tables.cursors.version(cursor)]).toEqual([-1, 1]);
    expect(tables.cursors.releasedFirst(cursor)).toBe(-1);
  });
});
