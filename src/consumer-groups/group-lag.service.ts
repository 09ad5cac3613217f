/**
 * Reads of consumer groups: list, detail, lagging (messages.md §10). Each waits for a read barrier,
 * walks cursors in slices and asks append rows only where the columns cannot tell a time.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { ConsumerGroupId, PartitionId } from '../common/ids.js';
import { timestampMillisText } from '../common/timestamp.js';
import { uuidText } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import { deadlineAfter } from '../http/deadlines.js';
import type { QueueRow, Tables } from '../machine/tables/tables.js';
import type { Group } from '../raft/index.js';
import { Groups } from '../raft/index.js';
import {
  appendedAt,
  cursorLag,
  LAG_LOOKUPS_MS,
  lagSeconds,
  MAX_LAG_LOOKUPS,
} from '../reads/lag.js';
import type { CursorLag } from '../reads/lag.js';
import { partitionUuidText, queuesOf } from '../reads/partition-identity.js';
import { walkPartitions } from '../reads/partition-walk.js';
import { joined, jsonArray, jsonWith, Slices, sortInSlices } from '../reads/slices.js';
import { isSuperseded } from '../machine/tables/settled.js';
import { GroupSums, listRow } from './group-sums.js';

/** One cursor with messages before it, or one of the group asked for. */
interface LaggingCursor {
  readonly queue: QueueRow;
  readonly group: string;
  readonly partition: string;
  readonly partitionId: PartitionId;
  readonly partitionUuid: string;
  readonly workerId: string | null;
  readonly totalConsumed: number;
  readonly messages: number;
  readonly nextOffset: number;
  /** µs of the newest append: stands in for a time that is not looked up. */
  readonly newestAt: number;
  oldestAt: number | null;
}

interface BehindCursor {
  readonly cursor: LaggingCursor;
  readonly seconds: number;
}

export interface LaggingList {
  /** A JSON array. */
  readonly bytes: Buffer;
  /** More cursors than QUEEN_DASH_SIZES_MAX would belong to it. */
  readonly isTruncated: boolean;
}

interface Collected {
  readonly found: readonly LaggingCursor[];
  /** Queues that the bound keeps cursors out of. */
  readonly cut: Set<QueueRow>;
}

@Injectable()
export class GroupLagService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  /** One row per (group, queue) with a cursor, by group, then queue. */
  async list(tenant: Uint8Array): Promise<Buffer> {
    const group = await this.settled(tenant);
    const slices = new Slices();
    const sums = new GroupSums(group.tables, group.nowMicros());
    for (const queue of queuesOf(group.tables, tenant)) {
      await walkPartitions({ tables: group.tables, slices }, queue.id, (slot) =>
        sums.addPartition(queue, slot),
      );
      if (slices.isSpent()) await slices.pause();
    }
    await sums.lookUpTimes(group);
    return jsonArray(sums.rows(), (row) => JSON.stringify(listRow(group.tables, row)), slices);
  }

  /** By queue, then partition; null when the group has no cursor. */
  async detail(tenant: Uint8Array, name: string): Promise<Buffer | null> {
    const group = await this.settled(tenant);
    const { found, cut } = await this.collect(group, tenant, { group: name, atLeast: null });
    if (found.length === 0) return null;
    const slices = new Slices();
    const sorted = await sortInSlices(found, byPartition, slices);
    const now = group.nowMicros();
    const pieces: Buffer[] = [];
    const add = async (queue: QueueRow, rows: readonly LaggingCursor[]): Promise<void> => {
      const head = `${pieces.length === 0 ? '{' : ','}${JSON.stringify(queue.name)}:`;
      const text = (cursor: LaggingCursor): string => JSON.stringify(detailRow(cursor, now));
      const members = {
        ...{ conflation: conflates(group, queue, name), kind: 'queen' },
        ...(cut.has(queue) ? { truncated: true } : {}),
      };
      const long = { name: 'partitions', brackets: '[]', rows, text } as const;
      pieces.push(Buffer.from(head), await jsonWith(members, long, slices));
      cut.delete(queue);
    };
    for (let from = 0; from < sorted.length;) {
      const { queue } = sorted[from] as LaggingCursor;
      let end = from;
      while (end < sorted.length && sorted[end]?.queue === queue) end += 1;
      await add(queue, sorted.slice(from, end));
      from = end;
    }
    // Queues the bound left nothing of.
    for (const queue of [...cut]) await add(queue, []);
    return joined([...pieces, Buffer.from('}')], slices);
  }

  /** Cursors more than `minLagSeconds` behind, worst first. */
  async lagging(tenant: Uint8Array, minLagSeconds: number): Promise<LaggingList> {
    const group = await this.settled(tenant);
    const now = group.nowMicros();
    const wanted = { group: null, atLeast: minLagSeconds };
    const { found, cut } = await this.collect(group, tenant, wanted);
    const slices = new Slices();
    const behind: BehindCursor[] = [];
    for (const cursor of found) {
      const seconds = lagSeconds(now, cursor.oldestAt ?? cursor.newestAt);
      if (seconds > minLagSeconds) behind.push({ cursor, seconds });
      if (slices.isSpent()) await slices.pause();
    }
    const rows = await sortInSlices(behind, worstFirst, slices);
    const bytes = await jsonArray(rows, (row) => JSON.stringify(laggingRow(row)), slices);
    return { bytes, isTruncated: cut.size > 0 };
  }

  /** Judges by numbers first: most cursors of a large queue end there and cost no object. */
  private async collect(
    group: Group,
    tenant: Uint8Array,
    wanted: { readonly group: string | null; readonly atLeast: number | null },
  ): Promise<Collected> {
    const { tables } = group;
    const { cursors, partitions } = tables;
    const slices = new Slices();
    const found: LaggingCursor[] = [];
    const cut = new Set<QueueRow>();
    const now = group.nowMicros();
    const isNamed = namedGroup(tables, wanted.group);
    for (const queue of queuesOf(tables, tenant)) {
      await walkPartitions({ tables, slices }, queue.id, (slot) => {
        if (cut.has(queue)) return;
        const longest = lagSeconds(now, partitions.createdAt(slot));
        if (wanted.atLeast !== null && longest <= wanted.atLeast) return;
        for (let c = partitions.firstCursor(slot); c >= 0; c = cursors.nextOnPartition(c)) {
          if (!isNamed(cursors.groupId(c)) || isSuperseded(tables, c)) continue;
          const lag = cursorLag(tables, slot, cursors.committed(c));
          if (wanted.atLeast !== null && !mayLag(lag, { now, atLeast: wanted.atLeast })) continue;
          if (found.length >= this.config.server.dashSizesMax) cut.add(queue);
          else found.push(laggingCursor(group, queue, { cursor: c, lag }));
        }
      });
      if (slices.isSpent()) await slices.pause();
    }
    await lookUpTimes(group, found);
    return { found, cut };
  }

  private async settled(tenant: Uint8Array): Promise<Group> {
    const group = this.groups.ofTenant(tenant);
    await group.readBarrier({ deadlineMs: deadlineAfter(this.config.server.defaultTimeoutMs) });
    return group;
  }
}

/** Whether a group number is of the name; any without one. Numbers are compared once each. */
function namedGroup(tables: Tables, name: string | null): (id: ConsumerGroupId) => boolean {
  const known = new Map<ConsumerGroupId, boolean>();
  return (id) => {
    if (name === null) return true;
    const same = known.get(id) ?? tables.names.groupName(id) === name;
    known.set(id, same);
    return same;
  };
}

function mayLag(lag: CursorLag, { now, atLeast }: { now: number; atLeast: number }): boolean {
  if (lag.messages === 0) return false;
  return lag.oldestAt === null || lagSeconds(now, lag.oldestAt) > atLeast;
}

function laggingCursor(
  group: Group,
  queue: QueueRow,
  { cursor, lag }: { readonly cursor: number; readonly lag: CursorLag },
): LaggingCursor {
  const { cursors, leases, names, partitions } = group.tables;
  const slot = cursors.partitionSlot(cursor);
  const lease = cursors.lease(cursor);
  const live = lease >= 0 && leases.expiresAt(lease) > group.nowMicros();
  return {
    queue,
    group: names.groupName(cursors.groupId(cursor)),
    partition: partitions.name(slot),
    partitionId: partitions.id(slot),
    partitionUuid: partitionUuidText(partitions, slot),
    workerId: live ? uuidText(leases.copyId(lease)) : null,
    totalConsumed: cursors.totalConsumed(cursor),
    messages: lag.messages,
    nextOffset: lag.nextOffset,
    newestAt: partitions.lastAppendAt(slot),
    oldestAt: lag.oldestAt,
  };
}

async function lookUpTimes(group: Group, found: readonly LaggingCursor[]): Promise<void> {
  const unknown = found.filter(({ oldestAt }) => oldestAt === null).slice(0, MAX_LAG_LOOKUPS);
  if (unknown.length === 0) return;
  const view = await group.view();
  const endMs = performance.now() + LAG_LOOKUPS_MS;
  try {
    for (const cursor of unknown) {
      if (performance.now() >= endMs) break;
      const { partitionId, nextOffset: offset, queue } = cursor;
      cursor.oldestAt = await appendedAt(view, { queueId: queue.id, partitionId, offset });
    }
  } finally {
    await view.close();
  }
}

function detailRow(cursor: LaggingCursor, now: number): object {
  return {
    partition: cursor.partition,
    workerId: cursor.workerId,
    lastConsumedAt: null,
    totalConsumed: cursor.totalConsumed,
    offsetLag: cursor.messages,
    timeLagSeconds: lagSeconds(now, cursor.oldestAt ?? cursor.newestAt),
    leaseActive: cursor.workerId !== null,
  };
}

function worstFirst(a: BehindCursor, b: BehindCursor): number {
  return b.seconds - a.seconds || byPartition(a.cursor, b.cursor);
}

function laggingRow(row: BehindCursor): object {
  const { cursor, seconds } = row;
  return {
    consumer_group: cursor.group,
    queue_name: cursor.queue.name,
    partition_name: cursor.partition,
    partition_id: cursor.partitionUuid,
    worker_id: cursor.workerId,
    kind: 'queen',
    offset_lag: cursor.messages,
    time_lag_seconds: seconds,
    lag_hours: Math.round((seconds / 3600) * 100) / 100,
    oldest_unconsumed_at: timestampMillisText(cursor.oldestAt ?? cursor.newestAt),
    last_consumed_at: null,
  };
}

function conflates(group: Group, queue: QueueRow, name: string): boolean {
  const { names, registrations } = group.tables;
  const id = names.group(queue.tenant, name);
  return id !== undefined && registrations.find(queue.id, id)?.conflation === true;
}

function byPartition(a: LaggingCursor, b: LaggingCursor): number {
  if (a.queue.name !== b.queue.name) return a.queue.name < b.queue.name ? -1 : 1;
  if (a.partition !== b.partition) return a.partition < b.partition ? -1 : 1;
  return a.group < b.group ? -1 : a.group > b.group ? 1 : 0;
}
