/**
 * Measures the tables against their budgets (architecture §10): bytes per partition and cursor of the
 * whole process, the longest single call while growing, lookup cost, load and purge. Alone on the
 * machine:
 *
 *   node --expose-gc test/bench/run-typescript.mjs test/bench/tables-memory.ts
 *
 * QUEEN_BENCH_PARTITIONS (default 1,000,000) and QUEEN_BENCH_FURTHER_CURSORS (3) set the size,
 * QUEEN_BENCH_PARTS (`grow load purge`) the parts.
 */
import type { ConsumerGroupId, PartitionId, QueueId } from '../../src/common/ids.js';
import { micros } from '../../src/common/ids.js';
import type { QueueOptions } from '../../src/machine/commands/catalogue.js';
import type { TablesImpl } from '../../src/machine/tables/create-tables.js';
import { createTables } from '../../src/machine/tables/create-tables.js';

const PARTITIONS = Number(process.env['QUEEN_BENCH_PARTITIONS'] ?? 1_000_000);
const FURTHER_CURSORS = Number(process.env['QUEEN_BENCH_FURTHER_CURSORS'] ?? 3);
const QUEUES = 4;

const OPTIONS: QueueOptions = {
  ...{ leaseTime: 60, retryLimit: 3, deadLetterQueue: true, dlqAfterMaxRetries: true },
  ...{ dedupWindowSeconds: 3600, delayedProcessing: 0, windowBuffer: 0, retentionEnabled: false },
  ...{ retentionSeconds: 0, completedRetentionSeconds: 0, maxWaitTimeSeconds: 0 },
  ...{ encryptionEnabled: false, retentionSinkHold: '', retentionSinkHoldMaxSeconds: 604800 },
  ...{ namespace: '', task: '', priority: 0, retryDelay: 1000, ttl: 3600, maxSize: 0 },
  minPopWaitTime: 0,
};
const NO_ROWS = { get: () => undefined, put: () => undefined, delete: () => undefined };

function processBytes(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage.rss();
}

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

interface Timing {
  readonly totalMs: number;
  readonly totalCpuMs: number;
  /** The three longest calls in processor time, which a busy machine does not stretch. */
  readonly worstCpuMs: readonly number[];
}

function timed(count: number, call: (i: number) => void): Timing {
  const start = performance.now();
  const startCpu = cpuMs();
  const worst: number[] = [];
  let before = startCpu;
  for (let i = 0; i < count; i++) {
    call(i);
    const now = cpuMs();
    if (now - before > 1) worst.push(now - before);
    before = now;
  }
  const worstCpuMs = worst.sort((a, b) => b - a).slice(0, 3);
  return {
    totalMs: Math.round(performance.now() - start),
    totalCpuMs: Math.round(before - startCpu),
    worstCpuMs: worstCpuMs.map((ms) => Number(ms.toFixed(2))),
  };
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
  // A stride that is prime to the count visits partitions in a scattered order.
  const pick = (i: number): number => (i * 7_919_533) % PARTITIONS;
  const names = Array.from({ length: 100_000 }, (_, i) => nameOf(pick(i)));
  const cpuNs = (find: (i: number) => number): number => {
    const rounds = 1_000_000;
    const start = cpuMs();
    for (let i = 0; i < rounds; i++) if (find(i) < 0) throw new Error('something was not found');
    return Math.round(((cpuMs() - start) * 1e6) / rounds);
  };
  const byName = cpuNs((i) => {
    const at = i % names.length;
    return tables.partitions.find(queues[pick(at) % QUEUES]!, names[at]!);
  });
  const byId = cpuNs((i) => tables.partitions.byId((pick(i) + 1) as PartitionId));
  const cursor = cpuNs((i) => tables.cursors.find(pick(i), 1 as ConsumerGroupId));
  console.log('cpu ns per scattered lookup', { byName, byId, cursor });
}

/** Rows in one memory, as pages read from a store are: no million objects beside the tables. */
class FlatRows {
  private readonly memory = new Uint8Array(PARTITIONS * 250);
  private readonly ends = new Float64Array(PARTITIONS * 4 + 64);
  private used = 0;
  count = 0;

  add(key: Uint8Array, value: Uint8Array): void {
    this.memory.set(key, this.used);
    this.memory.set(value, this.used + key.length);
    this.ends[this.count * 2] = this.used + key.length;
    this.used += key.length + value.length;
    this.ends[this.count * 2 + 1] = this.used;
    this.count++;
  }

  loadInto(tables: TablesImpl, row: number): void {
    const start = row === 0 ? 0 : this.ends[row * 2 - 1]!;
    const middle = this.ends[row * 2]!;
    const key = this.memory.subarray(start, middle);
    tables.loadRow(key, this.memory.subarray(middle, this.ends[row * 2 + 1]));
  }
}

/** Rows of partitions with one cursor, each with a lease or a released range, in key order. */
function flushedRows(): FlatRows {
  const tables = createTables();
  const tenant = tables.names.ensureTenant(new Uint8Array(16));
  tables.queues.create(tenant, 'queue', micros(1.7e15), OPTIONS);
  const rows = new FlatRows();
  const port = { ...NO_ROWS, put: (key: Uint8Array, value: Uint8Array) => rows.add(key, value) };
  const queue = tables.queues.find(tenant, 'queue')!;
  const leaseId = new Uint8Array(16);
  for (let i = 0; i < PARTITIONS; i++) {
    const slot = tables.partitions.create(queue, nameOf(i), micros(1.7e15));
    const cursor = tables.cursors.create(slot, 1 as ConsumerGroupId, -1, micros(1.7e15));
    new DataView(leaseId.buffer).setUint32(12, i);
    if (i % 10 === 0) {
      const times = { expiresAt: micros(1.7e15), acquiredAt: micros(1.7e15), term: 1 };
      const span = { firstOffset: 0, batchEnd: 9, conflated: false };
      tables.cursors.setLease(cursor, { leaseId, ...span, ...times });
    } else tables.cursors.setReleased(cursor, leaseId, 0, 9);
  }
  const start = performance.now();
  tables.flushDirty(port);
  console.log('flush', { rows: rows.count, ms: Math.round(performance.now() - start) });
  return rows;
}

function load(): void {
  const rows = flushedRows();
  const tables = createTables();
  const counters = { nextTenantId: 2, nextQueueId: 2, nextGroupId: 2, messagesAppended: 0 };
  tables.restoreCounters({ ...counters, nextPartitionId: PARTITIONS + 1 });
  const loaded = timed(rows.count, (row) => rows.loadInto(tables, row));
  tables.finishLoad();
  const startCpu = cpuMs();
  const again = createTables();
  again.restoreCounters(tables.counters());
  for (let row = 0; row < rows.count; row++) rows.loadInto(again, row);
  again.finishLoad();
  console.log('load', { ...loaded, untimedCpuMs: Math.round(cpuMs() - startCpu) });
  if (tables.cursors.count !== PARTITIONS) throw new Error('rows were lost');
}

function purge(): void {
  const tables = createTables();
  const tenant = tables.names.ensureTenant(new Uint8Array(16));
  const queue = tables.queues.create(tenant, 'queue', micros(1.7e15), OPTIONS);
  for (let i = 0; i < PARTITIONS; i++) {
    const slot = tables.partitions.create(queue, nameOf(i), micros(1.7e15));
    tables.cursors.create(slot, 1 as ConsumerGroupId, -1, micros(1.7e15));
  }
  tables.flushDirty(NO_ROWS);
  const remove = timed(1, () => tables.queues.remove(queue));
  let more = true;
  const slices = timed(Math.ceil((2 * PARTITIONS) / 2000) + 1, () => {
    more = tables.purgeStep(2000);
    tables.flushDirty(NO_ROWS);
  });
  if (more) throw new Error('the purge did not end');
  console.log('purge in slices of 2000', { removeMs: remove.totalMs, ...slices });
}

function grow(): void {
  const tables = createTables();
  lookups(tables, fill(tables));
}

const parts = { grow, load, purge };
for (const [name, run] of Object.entries(parts)) {
  if ((process.env['QUEEN_BENCH_PARTS'] ?? 'grow load purge').split(' ').includes(name)) run();
}
