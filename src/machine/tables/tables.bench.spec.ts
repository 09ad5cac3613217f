/**
 * Measurements of the tables' budgets (architecture §10), skipped unless QUEEN_BENCH is set. Alone on
 * the machine: QUEEN_BENCH=1 npx jest src/machine/tables/tables.bench --maxWorkers=1
 * Sizes: QUEEN_BENCH_PARTITIONS, default 1,000,000. Prints bytes per partition and cursor (whole
 * process), the longest single call while growing, load time and lookup cost.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { ConsumerGroupId, PartitionId, QueueId } from '../../common/ids.js';
import { micros } from '../../common/ids.js';
import { OPTIONS } from '../../../test/support/tables-world.js';
import type { TablesImpl } from './create-tables.js';
import { createTables } from './create-tables.js';

const ENABLED = process.env['QUEEN_BENCH'] !== undefined;
const PARTITIONS = Number(process.env['QUEEN_BENCH_PARTITIONS'] ?? 1_000_000);
const FURTHER_CURSORS = 3;
const QUEUES = 4;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function processBytes(): number {
  collect();
  collect();
  return process.memoryUsage.rss();
}

/** Runs the call for each number and returns its total and its three longest times, ms. */
function timed(count: number, call: (i: number) => void): { totalMs: number; worstMs: number[] } {
  const start = process.hrtime.bigint();
  const worst: number[] = [];
  let before = performance.now();
  for (let i = 0; i < count; i++) {
    call(i);
    const now = performance.now();
    if (now - before > 1) worst.push(now - before);
    before = now;
  }
  const totalMs = Number(process.hrtime.bigint() - start) / 1e6;
  const worstMs = worst.sort((a, b) => b - a).slice(0, 3);
  return { totalMs: Math.round(totalMs), worstMs: worstMs.map((ms) => Number(ms.toFixed(2))) };
}

const nameOf = (i: number): string => `customer-${i}`;

function fill(tables: TablesImpl): QueueId[] {
  const tenant = tables.names.ensureTenant(new Uint8Array(16));
  const queues = Array.from({ length: QUEUES }, (_, i) =>
    tables.queues.create(tenant, `queue-${i}`, micros(1.7e15), OPTIONS),
  );
  const run = { count: 3, bytes: 900, maxRecord: 300, createdAt: micros(1.7e15) };
  const before = processBytes();
  const partitions = timed(PARTITIONS, (i) => {
    const slot = tables.partitions.create(queues[i % QUEUES]!, nameOf(i), micros(1.7e15 + i));
    tables.partitions.append(slot, run);
  });
  const cursors = timed(PARTITIONS, (slot) => {
    tables.cursors.create(slot, 1 as ConsumerGroupId, -1, micros(1.7e15));
  });
  const with1 = processBytes();
  const further = timed(PARTITIONS * FURTHER_CURSORS, (i) => {
    const group = (2 + (i % FURTHER_CURSORS)) as ConsumerGroupId;
    tables.cursors.create(Math.floor(i / FURTHER_CURSORS), group, -1, micros(1.7e15));
  });
  const with4 = processBytes();
  console.log('grow', {
    partitions,
    cursors,
    further,
    bytesPerPartitionWithCursor: Math.round((with1 - before) / PARTITIONS),
    bytesPerFurtherCursor: Math.round((with4 - with1) / (PARTITIONS * FURTHER_CURSORS)),
    tableBytesPerPartition: Math.round(tables.partitions.sizeBytes / PARTITIONS),
    tableBytesPerCursor: Math.round(
      tables.cursors.sizeBytes / (PARTITIONS * (1 + FURTHER_CURSORS)),
    ),
  });
  return queues.map((queue) => queue.id);
}

function lookups(tables: TablesImpl, queues: QueueId[]): void {
  const rounds = 1_000_000;
  // A stride that is prime to the count visits partitions in a scattered order.
  const pick = (i: number): number => (i * 7_919_533) % PARTITIONS;
  let found = 0;
  const start = performance.now();
  for (let i = 0; i < rounds; i++) found += pick(i) & 1;
  const names = Array.from({ length: 100_000 }, (_, i) => nameOf(pick(i)));
  const at = performance.now();
  for (let i = 0; i < rounds; i++) {
    const p = i % names.length;
    if (tables.partitions.find(queues[pick(p) % QUEUES]!, names[p]!) >= 0) found++;
  }
  const byName = performance.now();
  for (let i = 0; i < rounds; i++) {
    if (tables.partitions.byId((pick(i) + 1) as PartitionId) >= 0) found++;
  }
  const byId = performance.now();
  for (let i = 0; i < rounds; i++) {
    if (tables.cursors.find(pick(i), 1 as ConsumerGroupId) >= 0) found++;
  }
  const cursor = performance.now();
  expect(found).toBeGreaterThan(3 * rounds - 1);
  console.log('ns per scattered lookup', {
    byName: Math.round(byName - at),
    byId: Math.round(byId - byName),
    cursor: Math.round(cursor - byId),
    setUpMs: Math.round(at - start),
  });
}

/** Rows of `count` partitions with one cursor, each with a lease or a released range, in key order. */
function rowsOf(count: number): [Uint8Array, Uint8Array][] {
  const tables = createTables();
  const tenant = tables.names.ensureTenant(new Uint8Array(16));
  const queue = tables.queues.create(tenant, 'queue', micros(1.7e15), OPTIONS);
  const rows: [Uint8Array, Uint8Array][] = [];
  const leaseId = new Uint8Array(16);
  for (let i = 0; i < count; i++) {
    const slot = tables.partitions.create(queue, nameOf(i), micros(1.7e15));
    const cursor = tables.cursors.create(slot, 1 as ConsumerGroupId, -1, micros(1.7e15));
    new DataView(leaseId.buffer).setUint32(12, i);
    if (i % 10 === 0) {
      const times = { expiresAt: micros(1.7e15), acquiredAt: micros(1.7e15), term: 1 };
      tables.cursors.setLease(cursor, {
        ...{ leaseId, firstOffset: 0, batchEnd: 9, conflated: false },
        ...times,
      });
    } else tables.cursors.setReleased(cursor, leaseId, 0, 9);
  }
  const start = performance.now();
  tables.flushDirty({
    get: () => undefined,
    put: (key, value) => void rows.push([key, value]),
    delete: () => undefined,
  });
  console.log('flush of', rows.length, 'rows', Math.round(performance.now() - start), 'ms');
  return rows.sort(([a], [b]) => a[0]! - b[0]!);
}

(ENABLED ? describe : describe.skip)('budgets of the tables', () => {
  it('memory, growth and lookups', () => {
    const tables = createTables();
    lookups(tables, fill(tables));
  }, 600_000);

  it('load', () => {
    const rows = rowsOf(PARTITIONS);
    const tables = createTables();
    const counters = { nextTenantId: 2, nextQueueId: 2, nextGroupId: 2, messagesAppended: 0 };
    tables.restoreCounters({ ...counters, nextPartitionId: PARTITIONS + 1 });
    const cpu = process.cpuUsage();
    const { totalMs, worstMs } = timed(rows.length, (i) =>
      tables.loadRow(rows[i]![0], rows[i]![1]),
    );
    tables.finishLoad();
    const { user, system } = process.cpuUsage(cpu);
    console.log('load', { totalMs, cpuMs: Math.round((user + system) / 1000), worstMs });
    expect([tables.partitions.count, tables.cursors.count]).toEqual([PARTITIONS, PARTITIONS]);
  }, 600_000);

  it('delete and purge', () => {
    const tables = createTables();
    const tenant = tables.names.ensureTenant(new Uint8Array(16));
    const queue = tables.queues.create(tenant, 'queue', micros(1.7e15), OPTIONS);
    for (let i = 0; i < PARTITIONS; i++) {
      const slot = tables.partitions.create(queue, nameOf(i), micros(1.7e15));
      tables.cursors.create(slot, 1 as ConsumerGroupId, -1, micros(1.7e15));
    }
    tables.flushDirty({ get: () => undefined, put: () => undefined, delete: () => undefined });
    const remove = timed(1, () => tables.queues.remove(queue));
    let more = true;
    const purge = timed(Math.ceil((2 * PARTITIONS) / 2000) + 1, () => {
      more = tables.purgeStep(2000);
      tables.flushDirty({ get: () => undefined, put: () => undefined, delete: () => undefined });
    });
    expect(more).toBe(false);
    console.log('purge in slices of 2000', { removeMs: remove.totalMs, ...purge });
  }, 600_000);
});
