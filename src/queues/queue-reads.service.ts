/**
 * Reads of queues: list, lanes, detail, depth, sizes (messages.md §9.3, admin.md §1.2). Each waits for
 * a read barrier, then counts from columns in slices; nothing walks all partitions in one go.
 */
import { Inject, Injectable } from '@nestjs/common';
import { timestampText } from '../common/timestamp.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import type { QueueRow } from '../machine/tables/tables.js';
import type { Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { optionsOnWire } from './option-values.js';
import type { PartitionStats } from './partition-stats.js';
import { partitionStats } from './partition-stats.js';
import { walkPartitions } from './partition-walk.js';
import { queueDepth } from './queue-depth.js';
import type { QueueDepth } from './queue-depth.js';
import { partitionUuidText, queueUuidText } from './queue-uuid.js';

const MAX_LISTED_PARTITIONS = 100_000;

interface QueueTotals {
  total: number;
  rawPending: number;
  processing: number;
  completed: number;
  deadLetter: number;
  retainedBytes: number;
}

@Injectable()
export class QueueReadsService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  async list(tenant: Uint8Array): Promise<unknown> {
    const group = await this.settled(tenant);
    const rows = [];
    for (const queue of newestFirst(group, tenant)) {
      const totals = await sumQueue(group, queue);
      if (totals !== null) rows.push(listRow(queue, totals));
    }
    return { queues: rows, kvRows: 0, kvBytes: 0, timerRows: 0, timerBytes: 0 };
  }

  async lanes(tenant: Uint8Array): Promise<unknown> {
    const group = await this.settled(tenant);
    const queues = newestFirst(group, tenant).map((queue) => ({
      id: queueUuidText(queue),
      name: queue.name,
      queue: queue.name,
      partitions: queue.partitionCount,
      createdAt: timestampText(queue.createdAt),
    }));
    return { queues, stats: 'lanes' };
  }

  /** Null when the queue does not exist. */
  async detail(tenant: Uint8Array, name: string): Promise<unknown> {
    const group = await this.settled(tenant);
    const queue = findQueue(group, tenant, name);
    if (queue === undefined) return null;
    const totals = noTotals();
    const partitions: DetailRow[] = [];
    const clock = { tables: group.tables, nowMicros: group.nowMicros() };
    const complete = await walkPartitions(group.tables, queue.id, (slot) => {
      const stats = partitionStats(clock, slot);
      const bytes = group.tables.partitions.retainedBytes(slot);
      addTo(totals, stats, bytes);
      if (partitions.length < MAX_LISTED_PARTITIONS) {
        partitions.push(detailRow(group, slot, stats));
      }
    });
    if (!complete) return null;
    partitions.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    return {
      id: queueUuidText(queue),
      name: queue.name,
      namespace: queue.options.namespace,
      task: queue.options.task,
      createdAt: timestampText(queue.createdAt),
      options: optionsOnWire(queue.options),
      partitions,
      ...(queue.partitionCount > partitions.length ? { partitionsTruncated: true } : {}),
      segments: { segments: partitions.length, messages: totals.total },
      totals: statsObject(totals),
      retainedBytes: totals.retainedBytes,
    };
  }

  async depth(
    tenant: Uint8Array,
    name: string,
    consumerGroup: string | undefined,
  ): Promise<QueueDepth | null> {
    const group = await this.settled(tenant);
    const queue = findQueue(group, tenant, name);
    if (queue === undefined) return null;
    return queueDepth(group, queue, consumerGroup ?? null);
  }

  async sizes(tenant: Uint8Array, name: string): Promise<unknown> {
    const group = await this.settled(tenant);
    const queue = findQueue(group, tenant, name);
    if (queue === undefined) return null;
    const sizes = new Map<string, number>();
    const complete = await walkPartitions(group.tables, queue.id, (slot) => {
      if (sizes.size >= MAX_LISTED_PARTITIONS) return;
      const { partitions } = group.tables;
      sizes.set(partitions.name(slot), partitions.retainedBytes(slot));
    });
    if (!complete) return null;
    return {
      queue: queue.name,
      partitions: Object.fromEntries(sizes),
      ...(queue.partitionCount > sizes.size ? { truncated: true } : {}),
    };
  }

  private async settled(tenant: Uint8Array): Promise<Group> {
    const group = this.groups.ofTenant(tenant);
    await group.readBarrier({ deadlineMs: deadlineAfter(this.config.server.defaultTimeoutMs) });
    return group;
  }
}

export function findQueue(group: Group, tenant: Uint8Array, name: string): QueueRow | undefined {
  const id = group.tables.names.tenant(tenant);
  return id === undefined ? undefined : group.tables.queues.find(id, name);
}

function newestFirst(group: Group, tenant: Uint8Array): QueueRow[] {
  const id = group.tables.names.tenant(tenant);
  return id === undefined ? [] : [...group.tables.queues.list(id)].reverse();
}

async function sumQueue(group: Group, queue: QueueRow): Promise<QueueTotals | null> {
  const totals = noTotals();
  const clock = { tables: group.tables, nowMicros: group.nowMicros() };
  const complete = await walkPartitions(group.tables, queue.id, (slot) =>
    addTo(totals, partitionStats(clock, slot), group.tables.partitions.retainedBytes(slot)),
  );
  return complete ? totals : null;
}

function noTotals(): QueueTotals {
  return { total: 0, rawPending: 0, processing: 0, completed: 0, deadLetter: 0, retainedBytes: 0 };
}

function addTo(totals: QueueTotals, stats: PartitionStats, bytes: number): void {
  totals.total += stats.total;
  totals.rawPending += stats.rawPending;
  totals.processing += stats.processing;
  totals.completed += stats.completed;
  totals.deadLetter += stats.deadLetter;
  totals.retainedBytes += bytes;
}

function listRow(queue: QueueRow, totals: QueueTotals): unknown {
  return {
    id: queueUuidText(queue),
    name: queue.name,
    queue: queue.name,
    namespace: queue.options.namespace,
    task: queue.options.task,
    storage: 'segments',
    partitions: queue.partitionCount,
    segments: { segments: queue.partitionCount, messages: totals.total },
    messages: {
      total: totals.total,
      pending: totals.rawPending - totals.processing,
      processing: totals.processing,
      completed: totals.completed,
      deadLetter: totals.deadLetter,
    },
    retainedBytes: totals.retainedBytes,
    options: optionsOnWire(queue.options),
    createdAt: timestampText(queue.createdAt),
  };
}

/** The detail's counts: pending includes what is leased. */
function statsObject(stats: Omit<QueueTotals, 'retainedBytes'>): Record<string, number | null> {
  return {
    total: stats.total,
    pending: stats.rawPending,
    processing: stats.processing,
    completed: stats.completed,
    failed: null,
    deadLetter: stats.deadLetter,
  };
}

interface DetailRow {
  readonly name: string;
  readonly [field: string]: unknown;
}

function detailRow(group: Group, slot: number, stats: PartitionStats): DetailRow {
  const { partitions } = group.tables;
  const counts = statsObject(stats);
  const newest = partitions.lastAppendAt(slot);
  return {
    id: partitionUuidText(partitions, slot),
    name: partitions.name(slot),
    createdAt: timestampText(partitions.createdAt(slot)),
    messages: counts,
    stats: counts,
    cursor: { totalConsumed: stats.totalConsumed, batchesConsumed: 0 },
    lastActivity: stats.lastActivity === 0 ? null : timestampText(stats.lastActivity),
    oldestMessage: oldestMessage(partitions.logStart(slot), {
      total: stats.total,
      createdAt: partitions.createdAt(slot),
    }),
    newestMessage: stats.total === 0 || newest === 0 ? null : timestampText(newest),
    retainedBytes: partitions.retainedBytes(slot),
  };
}

/**
 * The first append of a partition is stamped with its creation time. Once retention moved the start
 * up, the stamp stands in the append rows only; the detail then leaves it out.
 */
function oldestMessage(
  logStart: number,
  partition: { readonly total: number; readonly createdAt: number },
): string | null {
  if (partition.total === 0 || logStart > 0) return null;
  return timestampText(partition.createdAt);
}
