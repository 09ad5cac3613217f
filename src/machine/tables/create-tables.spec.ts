/** The assembled tables: load, flush, purge and restart as a whole, against what they held before. */
import type { ConsumerGroupId, QueueId } from '../../common/ids.js';
import { micros } from '../../common/ids.js';
import { OPTIONS } from '../../../test/support/tables-world.js';
import type { TablesImpl } from './create-tables.js';
import { createTables } from './create-tables.js';

const NO_ROWS = { get: () => undefined, put: () => undefined, delete: () => undefined };
const LEASE_ID = new Uint8Array(16).fill(3);
const group = (n: number): ConsumerGroupId => n as ConsumerGroupId;

function tablesWithQueue(): { tables: TablesImpl; queueId: QueueId } {
  const tables = createTables();
  const tenant = tables.names.ensureTenant(new Uint8Array(16));
  return { tables, queueId: tables.queues.create(tenant, 'q', micros(1), OPTIONS).id };
}

/** Keyspaces of the rows one flush puts. */
function flushed(tables: TablesImpl): number[] {
  const puts: number[] = [];
  tables.flushDirty({ ...NO_ROWS, put: (key) => void puts.push(key[0]!) });
  return puts;
}

describe('dirty rows', () => {
  it('every change of a partition or cursor writes its row once', () => {
    const { tables, queueId } = tablesWithQueue();
    const { partitions, cursors } = tables;
    const slot = partitions.create(tables.queues.byId(queueId)!, 'p', micros(2));
    const cursor = cursors.create(slot, group(1), -1, micros(2));
    const run = { count: 9, bytes: 9, maxRecord: 1, createdAt: micros(3) };
    const times = { expiresAt: micros(9), acquiredAt: micros(3), term: 1 };
    const lease = { leaseId: LEASE_ID, firstOffset: 0, batchEnd: 1, conflated: true, ...times };
    expect(flushed(tables)).toEqual([2, 3, 6, 7]);
    const changes: [number, () => void][] = [
      [6, () => partitions.append(slot, run)],
      [6, () => partitions.setLogStart(slot, 2, 3)],
      [6, () => partitions.addDeadLetters(slot, 1)],
      [7, () => cursors.bump(cursor)],
      [7, () => cursors.setCommitted(cursor, 1)],
      [7, () => cursors.setAttempt(cursor, 1, 1)],
      [7, () => cursors.setBatchRetryCount(cursor, 1)],
      [7, () => cursors.addConsumed(cursor, 1)],
      [7, () => cursors.setReleased(cursor, LEASE_ID, 0, 1)],
      [7, () => cursors.setLease(cursor, lease)],
      [7, () => cursors.extendLease(cursor, micros(10))],
      [7, () => cursors.clearLease(cursor)],
      [3, () => tables.queues.touch(tables.queues.byId(queueId)!)],
    ];
    for (const [keyspace, change] of changes) {
      change();
      change();
      expect([keyspace, flushed(tables)]).toEqual([keyspace, [keyspace]]);
      expect(flushed(tables)).toEqual([]);
    }
    cursors.clearLease(cursor);
    partitions.setLogStart(slot, 1, 3);
    expect(flushed(tables)).toEqual([]);
  });

  it('an attempt count saturates', () => {
    const { tables, queueId } = tablesWithQueue();
    const slot = tables.partitions.create(tables.queues.byId(queueId)!, 'p', micros(2));
    const cursor = tables.cursors.create(slot, group(1), -1, micros(2));
    tables.cursors.setAttempt(cursor, 0, 0xffff_ffff + 5);
    expect(tables.cursors.attemptCount(cursor)).toBe(0xffff_ffff);
  });
});

describe('many groups on one partition', () => {
  it('are found one by one and chained in descending id order', () => {
    const { tables, queueId } = tablesWithQueue();
    const { cursors, partitions } = tables;
    const queue = tables.queues.byId(queueId)!;
    const slots = ['p', 'q'].map((name) => partitions.create(queue, name, micros(2)));
    for (let i = 0; i < 300; i++) {
      for (const slot of slots) cursors.create(slot, group(2 + ((i * 7) % 300) * 2), i, micros(2));
    }
    for (const slot of slots) {
      for (let id = 1; id <= 602; id++) {
        const found = cursors.find(slot, group(id));
        if (id % 2 === 1 || id > 600) expect([id, found]).toEqual([id, -1]);
        else expect([cursors.partitionSlot(found), cursors.groupId(found)]).toEqual([slot, id]);
      }
      const chain: number[] = [];
      for (let c = partitions.firstCursor(slot); c >= 0; c = cursors.nextOnPartition(c)) {
        chain.push(cursors.groupId(c));
      }
      expect(chain).toEqual(Array.from({ length: 300 }, (_, i) => 600 - 2 * i));
    }
    expect(() => cursors.create(slots[0]!, group(4), 0, micros(2))).toThrow('cursor exists');
  });
});

describe('queues created and deleted for ever', () => {
  it('take no more memory after the fiftieth time than after the second', () => {
    const tables = createTables();
    const tenant = tables.names.ensureTenant(new Uint8Array(16));
    const sizes: number[] = [];
    for (let round = 0; round < 50; round++) {
      const queue = tables.queues.create(tenant, 'q', micros(1), OPTIONS);
      for (let i = 0; i < 500; i++) {
        const slot = tables.partitions.create(queue, `customer-${1000 + i}`, micros(1));
        const cursor = tables.cursors.create(slot, group(1), -1, micros(1));
        const times = { expiresAt: micros(9), acquiredAt: micros(1), term: 1 };
        const lease = { leaseId: LEASE_ID, firstOffset: 0, batchEnd: 1, conflated: false };
        tables.cursors.setLease(cursor, { ...lease, ...times });
      }
      tables.queues.remove(queue);
      while (tables.purgeStep(100)) tables.flushDirty(NO_ROWS);
      tables.finishGarbage(queue.id);
      tables.flushDirty(NO_ROWS);
      sizes.push(tables.sizeBytes);
    }
    expect(sizes.at(-1)).toBe(sizes[1]);
    expect(tables.garbageQueues()).toEqual([]);
  });
});

describe('names', () => {
  it('give tenants and groups numbers in order of first use', () => {
    const { names } = createTables();
    const uuids = [5, 6, 5, 7].map((n) => new Uint8Array(16).fill(n));
    expect(uuids.map((uuid) => names.ensureTenant(uuid))).toEqual([1, 2, 1, 3]);
    expect(uuids.map((uuid) => names.tenant(uuid))).toEqual([1, 2, 1, 3]);
    expect(names.tenant(new Uint8Array(16))).toBeUndefined();
    expect(names.tenantUuid(names.ensureTenant(uuids[1]!))).toEqual(uuids[1]);
    const [one, two] = [names.ensureTenant(uuids[0]!), names.ensureTenant(uuids[1]!)];
    expect([names.ensureGroup(one, 'g'), names.ensureGroup(two, 'g')]).toEqual([1, 2]);
    expect([names.ensureGroup(one, 'g'), names.group(two, 'h')]).toEqual([1, undefined]);
    expect(names.groupName(group(2))).toBe('g');
    expect(() => names.groupName(group(3))).toThrow('unknown consumer group');
  });
});
