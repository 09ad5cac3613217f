/**
 * Tables and a model of plain Maps side by side, with a row store: each step does the same to both.
 * Steps check on the way that both find the same things.
 */
import type {
  ConsumerGroupId,
  Micros,
  PartitionId,
  QueueId,
  TenantId,
} from '../../src/common/ids.js';
import { micros } from '../../src/common/ids.js';
import type { QueueOptions } from '../../src/machine/commands/catalogue.js';
import { StartMode } from '../../src/machine/commands/catalogue.js';
import type { TablesImpl } from '../../src/machine/tables/create-tables.js';
import { createTables } from '../../src/machine/tables/create-tables.js';
import { decodeHeader, encodeHeader } from '../../src/machine/tables/header-row.js';
import { COLUMN_KEYSPACES } from '../../src/machine/tables/keyspaces.js';

export const OPTIONS: QueueOptions = {
  leaseTime: 60,
  retryLimit: 3,
  deadLetterQueue: true,
  dlqAfterMaxRetries: true,
  dedupWindowSeconds: 3600,
  delayedProcessing: 0,
  windowBuffer: 0,
  retentionEnabled: false,
  retentionSeconds: 0,
  completedRetentionSeconds: 0,
  maxWaitTimeSeconds: 0,
  encryptionEnabled: false,
  retentionSinkHold: '',
  retentionSinkHoldMaxSeconds: 604800,
  namespace: 'n',
  task: '',
  priority: -1,
  retryDelay: 1000,
  ttl: 3600,
  maxSize: 0,
  minPopWaitTime: 0,
};

interface LeaseModel {
  id: number;
  first: number;
  end: number;
  expiresAt: number;
  acquiredAt: number;
  term: number;
  conflated: boolean;
}

export interface CursorModel {
  committed: number;
  createdAt: number;
  version: number;
  attemptOffset: number;
  attemptCount: number;
  batchRetryCount: number;
  totalConsumed: number;
  released: { id: number; first: number; last: number } | null;
  lease: LeaseModel | null;
}

interface PartitionModel {
  id: number;
  name: string;
  createdAt: number;
  logStart: number;
  lastOffset: number;
  lastAppendAt: number;
  retainedBytes: number;
  maxRecordBytes: number;
  deadLetters: number;
  cursors: Map<number, CursorModel>;
}

interface QueueModel {
  id: number;
  tenant: number;
  name: string;
  createdAt: number;
  optionsVersion: number;
  retryLimit: number;
  configured: boolean;
  partitions: Map<string, PartitionModel>;
  registrations: Map<number, { mode: number; instant: number; conflation: boolean }>;
}

interface Model {
  queues: Map<string, QueueModel>;
  nextQueue: number;
  nextPartition: number;
  appended: number;
}

const TENANTS = [1, 2].map((n) => new Uint8Array(16).fill(n));
const QUEUES = ['orders', 'größe', 'a.b'];
const PARTITIONS = ['Default', 'p', 'кошка', '', 'x'.repeat(60), 'customer-1', 'customer-2'];
const GROUPS = ['__QUEUE_MODE__', 'g1', 'g2', 'g3', 'g4', 'g5', 'g6', 'g7'];
export const leaseId = (n: number): Uint8Array => {
  const id = new Uint8Array(16).fill(7);
  id[15] = n;
  return id;
};

/** One random step: a kind and three numbers that pick its targets. */
export type Step = readonly [kind: number, a: number, b: number, c: number];

export class World {
  tables: TablesImpl = createTables();
  readonly store = new Map<string, Uint8Array>();
  readonly model: Model = { queues: new Map(), nextQueue: 1, nextPartition: 1, appended: 0 };
  now = 1_700_000_000_000_000;

  constructor() {
    for (const tenant of TENANTS) {
      const id = this.tables.names.ensureTenant(tenant);
      for (const group of GROUPS) this.tables.names.ensureGroup(id, group);
    }
  }

  stamp(): Micros {
    this.now += 1;
    return micros(this.now);
  }

  flush(): void {
    const hex = (key: Uint8Array): string => Buffer.from(key).toString('hex');
    this.tables.flushDirty({
      get: (key) => this.store.get(hex(key)),
      put: (key, value) => void this.store.set(hex(key), value),
      delete: (key) => void this.store.delete(hex(key)),
    });
  }

  restart(): void {
    this.flush();
    const header = encodeHeader({
      appliedIndex: 5,
      appliedTerm: 2,
      digest: new Uint8Array(8),
      clusterVersion: 6,
      lastStamp: this.now,
      counters: this.tables.counters(),
    });
    this.tables = createTables();
    this.tables.restoreCounters(decodeHeader(header).counters);
    for (const key of [...this.store.keys()].sort()) {
      const bytes = Buffer.from(key, 'hex');
      if (!COLUMN_KEYSPACES.includes(bytes[0]!)) continue;
      this.tables.loadRow(bytes, this.store.get(key)!);
    }
    this.tables.finishLoad();
    const numbers = GROUPS.map((name) => this.tables.names.group(1 as TenantId, name));
    expect(numbers).toEqual(GROUPS.map((_, i) => i + 1));
    expect(GROUPS).toContain(this.tables.names.groupName(3 as ConsumerGroupId));
    const before = this.store.size;
    let puts = 0;
    this.tables.flushDirty({ get: () => undefined, put: () => puts++, delete: () => puts++ });
    expect([puts, this.store.size]).toEqual([0, before]);
  }

  // Targets ---------------------------------------------------------------------------------------

  queueNames(a: number): { tenant: number; name: string; key: string } {
    const tenant = (a % TENANTS.length) + 1;
    const name = QUEUES[a % QUEUES.length]!;
    return { tenant, name, key: `${tenant}/${name}` };
  }

  queue(a: number): QueueModel {
    const { tenant, name, key } = this.queueNames(a);
    const known = this.model.queues.get(key);
    if (known !== undefined) return known;
    const createdAt = this.stamp();
    const id = this.tables.names.ensureTenant(TENANTS[tenant - 1]!);
    const row = this.tables.queues.create(id, name, createdAt, OPTIONS);
    expect(row.id).toBe(this.model.nextQueue);
    const queue: QueueModel = {
      id: this.model.nextQueue++,
      tenant,
      name,
      createdAt,
      optionsVersion: 1,
      retryLimit: OPTIONS.retryLimit,
      configured: false,
      partitions: new Map(),
      registrations: new Map(),
    };
    this.model.queues.set(key, queue);
    return queue;
  }

  partition(a: number, b: number): { partition: PartitionModel; slot: number } {
    const queue = this.queue(a);
    const name = PARTITIONS[b % PARTITIONS.length]!;
    const found = this.tables.partitions.find(queue.id as QueueId, name);
    const known = queue.partitions.get(name);
    expect(found >= 0).toBe(known !== undefined);
    if (known !== undefined) return { partition: known, slot: found };
    const createdAt = this.stamp();
    const row = this.tables.queues.byId(queue.id as QueueId)!;
    const slot = this.tables.partitions.create(row, name, createdAt);
    const partition: PartitionModel = {
      id: this.model.nextPartition++,
      name,
      createdAt,
      logStart: 0,
      lastOffset: -1,
      lastAppendAt: 0,
      retainedBytes: 0,
      maxRecordBytes: 0,
      deadLetters: 0,
      cursors: new Map(),
    };
    queue.partitions.set(name, partition);
    return { partition, slot };
  }

  cursor(a: number, b: number, c: number): { cursor: CursorModel; slot: number } {
    const { partition, slot: at } = this.partition(a, b);
    const group = ((c % GROUPS.length) + 1) as ConsumerGroupId;
    const found = this.tables.cursors.find(at, group);
    const known = partition.cursors.get(group);
    expect(found >= 0).toBe(known !== undefined);
    if (known !== undefined) return { cursor: known, slot: found };
    const createdAt = this.stamp();
    const slot = this.tables.cursors.create(at, group, (c % 3) - 1, createdAt);
    const cursor: CursorModel = {
      committed: (c % 3) - 1,
      createdAt,
      version: 1,
      attemptOffset: -1,
      attemptCount: 0,
      batchRetryCount: 0,
      totalConsumed: 0,
      released: null,
      lease: null,
    };
    partition.cursors.set(group, cursor);
    return { cursor, slot };
  }

  // Steps -----------------------------------------------------------------------------------------

  run([kind, a, b, c]: Step): void {
    const steps = [
      () => this.append(a, b, c),
      () => this.retain(a, b, c),
      () => this.changeCursor(a, b, c),
      () => this.lease(a, b, c),
      () => this.release(c),
      () => this.register(a, b, c),
      () => this.configure(a, b),
      () => this.deleteQueue(a),
      () => void this.tables.purgeStep((b % 5) + 1),
      () => this.finishGarbage(),
      () => this.flush(),
      () => this.restart(),
      () => this.deadLetter(a, b, c),
      () => this.extend(c),
    ];
    steps[kind % steps.length]!();
  }

  private append(a: number, b: number, c: number): void {
    const { partition, slot } = this.partition(a, b);
    const createdAt = this.stamp();
    const run = { count: (c % 9) + 1, bytes: c + 1, maxRecord: c % 50, createdAt };
    this.tables.partitions.append(slot, run);
    partition.lastOffset += run.count;
    partition.retainedBytes += run.bytes;
    partition.maxRecordBytes = Math.max(partition.maxRecordBytes, run.maxRecord);
    partition.lastAppendAt = createdAt;
    this.model.appended += run.count;
  }

  private retain(a: number, b: number, c: number): void {
    const { partition, slot } = this.partition(a, b);
    const target = Math.min(c * 3, partition.lastOffset + 1);
    const removed = Math.min(c, partition.retainedBytes);
    this.tables.partitions.setLogStart(slot, c * 3, removed);
    if (target <= partition.logStart) return;
    partition.logStart = target;
    partition.retainedBytes -= removed;
    if (target > partition.lastOffset) partition.retainedBytes = 0;
  }

  private changeCursor(a: number, b: number, c: number): void {
    const { cursor, slot } = this.cursor(a, b, c);
    const { cursors } = this.tables;
    cursors.bump(slot);
    cursors.setCommitted(slot, c);
    cursors.setAttempt(slot, c - 1, a);
    cursors.setBatchRetryCount(slot, b);
    cursors.addConsumed(slot, a);
    cursor.version += 1;
    cursor.committed = c;
    cursor.attemptOffset = c - 1;
    cursor.attemptCount = a;
    cursor.batchRetryCount = b;
    cursor.totalConsumed += a;
  }

  private lease(a: number, b: number, c: number): void {
    const { cursor, slot } = this.cursor(a, b, c);
    const id = c % 5 === 0 ? b % 4 : 0;
    const acquiredAt = this.stamp();
    const times = { acquiredAt, expiresAt: micros(acquiredAt + c), term: a + 1 };
    const span = { firstOffset: c, batchEnd: c + b, conflated: c % 2 === 0 };
    this.tables.cursors.setLease(slot, { leaseId: leaseId(id), ...times, ...span });
    const { firstOffset: first, batchEnd: end, conflated } = span;
    cursor.lease = { id, first, end, conflated, ...times };
  }

  private extend(c: number): void {
    const leased = this.leased(c);
    if (leased === undefined || leased.cursor.lease === null) return;
    const expiresAt = this.stamp();
    this.tables.cursors.extendLease(leased.slot, expiresAt);
    leased.cursor.lease.expiresAt = expiresAt;
  }

  private release(c: number): void {
    const leased = this.leased(c);
    if (leased === undefined || leased.cursor.lease === null) return;
    const { cursor, slot } = leased;
    const { id, first, end } = leased.cursor.lease;
    this.tables.cursors.clearLease(slot);
    cursor.lease = null;
    if (c % 3 === 0) return;
    this.tables.cursors.setReleased(slot, leaseId(id), first, end);
    cursor.released = { id, first, last: end };
  }

  /** Any cursor that has a lease. */
  private leased(pick: number): { cursor: CursorModel; slot: number } | undefined {
    const found: { cursor: CursorModel; slot: number }[] = [];
    for (const queue of this.model.queues.values()) {
      for (const { id, cursors } of queue.partitions.values()) {
        const partition = this.tables.partitions.byId(id as PartitionId);
        for (const [group, cursor] of cursors) {
          if (cursor.lease === null) continue;
          const slot = this.tables.cursors.find(partition, group as ConsumerGroupId);
          found.push({ cursor, slot });
        }
      }
    }
    return found[pick % found.length];
  }

  private register(a: number, b: number, c: number): void {
    const queue = this.queue(a);
    const group = ((b % GROUPS.length) + 1) as ConsumerGroupId;
    const queueId = queue.id as QueueId;
    const { registrations } = this.tables;
    const known = registrations.find(queueId, group);
    expect(known !== undefined).toBe(queue.registrations.has(group));
    if (c % 4 === 0) {
      registrations.remove(queueId, group);
      queue.registrations.delete(group);
    } else if (known !== undefined) {
      known.instant = micros(c);
      registrations.touch(known);
      queue.registrations.get(group)!.instant = c;
    } else {
      const policy = { mode: StartMode.Timestamp, instant: micros(c), conflation: c % 2 === 0 };
      const rest = { registeredAt: micros(this.now), namespace: 'ns', task: 't' };
      registrations.create({ queueId, groupId: group, ...policy, ...rest });
      queue.registrations.set(group, policy);
    }
  }

  private configure(a: number, b: number): void {
    const queue = this.queue(a);
    const row = this.tables.queues.byId(queue.id as QueueId)!;
    row.options = { ...row.options, retryLimit: b };
    row.optionsVersion += 1;
    row.configured = true;
    this.tables.queues.touch(row);
    queue.retryLimit = b;
    queue.optionsVersion += 1;
    queue.configured = true;
  }

  private deleteQueue(a: number): void {
    const { tenant, name, key } = this.queueNames(a);
    const id = this.tables.names.ensureTenant(TENANTS[tenant - 1]!);
    const row = this.tables.queues.find(id, name);
    expect(row !== undefined).toBe(this.model.queues.has(key));
    if (row === undefined) return;
    this.tables.queues.remove(row);
    for (const { id: partition, name: known } of this.model.queues.get(key)!.partitions.values()) {
      expect(this.tables.partitions.byId(partition as PartitionId)).toBe(-1);
      expect(this.tables.partitions.find(row.id, known)).toBe(-1);
    }
    this.model.queues.delete(key);
  }

  private finishGarbage(): void {
    for (const { queueId, columnsFreed } of this.tables.garbageQueues()) {
      if (columnsFreed) this.tables.finishGarbage(queueId);
      else expect(() => this.tables.finishGarbage(queueId)).toThrow('still has columns');
    }
  }

  private deadLetter(a: number, b: number, c: number): void {
    const { partition, slot } = this.partition(a, b);
    const delta = c % 3 === 0 && partition.deadLetters > 0 ? -1 : 1;
    this.tables.partitions.addDeadLetters(slot, delta);
    partition.deadLetters += delta;
  }
}
