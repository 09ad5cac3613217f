/**
 * Reads of queues: list, lanes, detail, depth, sizes (messages.md §9.3, admin.md §1.2). Each waits for
 * a read barrier, then counts from columns and renders in slices; nothing walks or renders all
 * partitions in one go. Answers are JSON bytes; null means that the queue does not exist.
 */
import { Inject, Injectable } from '@nestjs/common';
import { timestampText } from '../common/timestamp.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import type { QueueRow } from '../machine/tables/tables.js';
import type { Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import { figuresOf } from '../reads/figure-cache.js';
import { MAX_LOOKUPS, oldestFromRows, type Retained } from './oldest-messages.js';
import { shownOptions } from '../reads/queue-options.js';
import { addTo, noTotals, partitionStats, type QueueTotals } from '../reads/partition-stats.js';
import { walkPartitions } from '../reads/partition-walk.js';
import { depthMembers, queueDepth } from './queue-depth.js';
import { detailRow, detailText, type DetailRow, statsObject } from './queue-detail.js';
import type { QueueFilter } from './queue-filter.js';
import { selectQueues } from './queue-filter.js';
import { queueUuidText } from '../reads/partition-identity.js';
import { jsonWith, Slices, sortByName } from '../reads/slices.js';

@Injectable()
export class QueueReadsService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  async list(tenant: Uint8Array, filter: QueueFilter): Promise<Buffer> {
    const group = await this.settled(tenant);
    const kv = group.tables.kv.totals(group.tables.names.tenant(tenant));
    const { rows } = await figuresOf(group).read(selectQueues(newestFirst(group, tenant), filter));
    return jsonWith(
      { kvRows: kv.rows, kvBytes: kv.bytes, timerRows: 0, timerBytes: 0 },
      {
        name: 'queues',
        brackets: '[]',
        rows,
        text: ({ queue, figures }) => JSON.stringify(listRow(queue, figures)),
      },
      new Slices(),
    );
  }

  async lanes(tenant: Uint8Array, filter: QueueFilter): Promise<Buffer> {
    const group = await this.settled(tenant);
    return jsonWith(
      { stats: 'lanes' },
      {
        name: 'queues',
        brackets: '[]',
        rows: selectQueues(newestFirst(group, tenant), filter),
        text: (queue) => JSON.stringify(laneRow(queue)),
      },
      new Slices(),
    );
  }

  async detail(tenant: Uint8Array, name: string): Promise<Buffer | null> {
    const group = await this.settled(tenant);
    const queue = findQueue(group, tenant, name);
    const listed = queue === undefined ? null : await this.partitionRows(group, queue);
    if (queue === undefined || listed === null) return null;
    const { rows, totals, slices, text } = listed;
    return jsonWith(
      detailMembers(queue, totals, rows.length),
      {
        name: 'partitions',
        brackets: '[]',
        rows,
        text,
      },
      slices,
    );
  }

  /** The detail in the shape of the status routes. */
  async status(tenant: Uint8Array, name: string): Promise<Buffer | null> {
    const group = await this.settled(tenant);
    const queue = findQueue(group, tenant, name);
    const listed = queue === undefined ? null : await this.partitionRows(group, queue);
    if (queue === undefined || listed === null) return null;
    const { rows, totals, slices, text } = listed;
    return jsonWith(
      statusMembers(queue, totals, rows.length),
      {
        name: 'partitions',
        brackets: '[]',
        rows,
        text,
      },
      slices,
    );
  }

  async depth(
    tenant: Uint8Array,
    name: string,
    consumerGroup: string | undefined,
  ): Promise<Buffer | null> {
    const group = await this.settled(tenant);
    const queue = findQueue(group, tenant, name);
    if (queue === undefined) return null;
    const slices = new Slices();
    const depth = await queueDepth(group, queue, {
      consumerGroup: consumerGroup ?? null,
      mostListed: this.mostListed,
      slices,
    });
    if (depth === null) return null;
    return jsonWith(
      depthMembers(depth),
      {
        name: 'partitions',
        brackets: '[]',
        rows: await sortByName(depth.listed, slices),
        text: ({ name: partition, pending, processing, ready }) =>
          JSON.stringify({ partition, pending, processing, ready }),
      },
      slices,
    );
  }

  async sizes(tenant: Uint8Array, name: string): Promise<Buffer | null> {
    const group = await this.settled(tenant);
    const queue = findQueue(group, tenant, name);
    if (queue === undefined) return null;
    const { tables } = group;
    const slices = new Slices();
    const sizes: { readonly name: string; readonly bytes: number }[] = [];
    const complete = await walkPartitions({ tables, slices }, queue.id, (slot) => {
      if (sizes.length >= this.mostListed) return;
      const { partitions } = tables;
      sizes.push({ name: partitions.name(slot), bytes: partitions.retainedBytes(slot) });
    });
    if (!complete) return null;
    const truncated = queue.partitionCount > sizes.length;
    return jsonWith(
      { queue: queue.name, ...(truncated ? { truncated } : {}) },
      {
        name: 'partitions',
        brackets: '{}',
        rows: sizes,
        text: (size) => `${JSON.stringify(size.name)}:${size.bytes}`,
      },
      slices,
    );
  }

  /** Partitions by name with their counts; null when the queue was deleted meanwhile. */
  private async partitionRows(group: Group, queue: QueueRow): Promise<PartitionRows | null> {
    const { tables } = group;
    const slices = new Slices();
    const totals = noTotals();
    const listed: DetailRow[] = [];
    const lookups: Retained[] = [];
    const clock = { tables, nowMicros: group.nowMicros() };
    const complete = await walkPartitions({ tables, slices }, queue.id, (slot) => {
      addTo(totals, partitionStats(clock, slot), tables.partitions.retainedBytes(slot));
      if (listed.length >= this.mostListed) return;
      const row = detailRow(tables, slot);
      listed.push(row);
      if (row.lookup !== null && lookups.length < MAX_LOOKUPS) lookups.push(row.lookup);
    });
    if (!complete) return null;
    const oldest = await oldestFromRows(group, queue.id, lookups);
    const text = (row: DetailRow): string => detailText(clock, row, oldest.get(row.partitionId));
    return { rows: await sortByName(listed, slices), totals, slices, text };
  }

  /** Partitions one answer names at most. */
  private get mostListed(): number {
    return this.config.server.dashSizesMax;
  }

  private async settled(tenant: Uint8Array): Promise<Group> {
    const group = this.groups.ofTenant(tenant);
    await group.readBarrier({ deadlineMs: deadlineAfter(this.config.server.defaultTimeoutMs) });
    return group;
  }
}

interface PartitionRows {
  readonly rows: readonly DetailRow[];
  readonly totals: QueueTotals;
  readonly slices: Slices;
  text(row: DetailRow): string;
}

export function findQueue(group: Group, tenant: Uint8Array, name: string): QueueRow | undefined {
  const id = group.tables.names.tenant(tenant);
  return id === undefined ? undefined : group.tables.queues.find(id, name);
}

function newestFirst(group: Group, tenant: Uint8Array): QueueRow[] {
  const id = group.tables.names.tenant(tenant);
  return id === undefined ? [] : group.tables.queues.list(id).reverse();
}

function laneRow(queue: QueueRow): unknown {
  return {
    id: queueUuidText(queue),
    name: queue.name,
    queue: queue.name,
    partitions: queue.partitionCount,
    createdAt: timestampText(queue.createdAt),
  };
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
    options: shownOptions(queue.options),
    createdAt: timestampText(queue.createdAt),
  };
}

/** Everything of the detail but its partitions. */
function detailMembers(queue: QueueRow, totals: QueueTotals, listed: number): object {
  return {
    id: queueUuidText(queue),
    name: queue.name,
    namespace: queue.options.namespace,
    task: queue.options.task,
    createdAt: timestampText(queue.createdAt),
    options: shownOptions(queue.options),
    ...(queue.partitionCount > listed ? { partitionsTruncated: true } : {}),
    segments: { segments: queue.partitionCount, messages: totals.total },
    totals: statsObject(totals),
    retainedBytes: totals.retainedBytes,
  };
}

/** Everything of the status but its partitions. */
function statusMembers(queue: QueueRow, totals: QueueTotals, listed: number): object {
  const { namespace, task, priority } = queue.options;
  return {
    queue: {
      ...{ id: queueUuidText(queue), name: queue.name, namespace, task, priority },
      createdAt: timestampText(queue.createdAt),
      config: shownOptions(queue.options),
    },
    ...(queue.partitionCount > listed ? { partitionsTruncated: true } : {}),
    totals: { messages: statsObject(totals) },
  };
}
