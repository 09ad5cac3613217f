/** The lanes with most pending (admin.md §1.2): one walk in slices, a bounded selection, few row reads. */
import type { PartitionId } from '../../common/ids.js';
import type { QueueRow, Tables } from '../../machine/tables/tables.js';
import { ObjectHeap } from '../../reads/object-heap.js';
import { appendedAt, cursorLag, lagSeconds } from '../../reads/lag.js';
import { partitionStats } from '../../reads/partition-stats.js';
import { walkPartitions } from '../../reads/partition-walk.js';
import { partitionUuidText } from '../../reads/partition-identity.js';
import { Slices } from '../../reads/slices.js';
import type { Group } from '../../raft/index.js';

/** Partitions one answer walks; beyond them it says that it is truncated. */
const WALK_LIMIT = 2_000_000;

interface Lane {
  /** Position of its queue in the list. */
  readonly order: number;
  readonly queue: QueueRow;
  readonly partition: string;
  readonly partitionId: PartitionId;
  readonly uuid: string;
  readonly pending: number;
  readonly processing: number;
  readonly nextOffset: number;
  /** µs; 0 when caught up, null when only a row knows. */
  readonly oldestAt: number | null;
  readonly newestAt: number;
}

export interface TopPartition {
  readonly queue: string;
  readonly partition: string;
  readonly id: string;
  readonly pending: number;
  readonly processing: number;
  readonly lagSeconds: number | null;
}

export interface TopPartitions {
  readonly partitions: readonly TopPartition[];
  readonly walked: number;
  readonly truncated: boolean;
}

export async function topPartitions(
  group: Group,
  queues: readonly QueueRow[],
  limit: number,
): Promise<TopPartitions> {
  // The heap's first is the one to give way: the least of those kept.
  const kept = new ObjectHeap<Lane>((a, b) => isBehind(b, a));
  const slices = new Slices();
  const clock = { tables: group.tables, nowMicros: group.nowMicros() };
  let walked = 0;
  let truncated = false;
  for (const [order, queue] of queues.entries()) {
    if (walked + queue.partitionCount > WALK_LIMIT) {
      truncated = true;
      continue;
    }
    await walkPartitions({ tables: group.tables, slices }, queue.id, (slot) => {
      walked += 1;
      const { rawPending, processing, floor } = partitionStats(clock, slot);
      const full = kept.size >= limit;
      if (full && !mayEnter(group.tables, kept.first, { order, rawPending, slot })) return;
      kept.push(laneOf(group, { order, queue, slot, rawPending, processing, floor }));
      if (full) kept.pop();
    });
    if (slices.isSpent()) await slices.pause();
  }
  const lanes = drain(kept).reverse();
  return { partitions: await withLag(group, lanes, clock.nowMicros), walked, truncated };
}

interface Seen {
  readonly order: number;
  readonly queue: QueueRow;
  readonly slot: number;
  readonly rawPending: number;
  readonly processing: number;
  readonly floor: number;
}

function laneOf(group: Group, seen: Seen): Lane {
  const { tables } = group;
  const { partitions } = tables;
  const { slot, order, queue, processing } = seen;
  const lag = cursorLag(tables, slot, seen.floor);
  return {
    ...{ order, queue, processing, pending: seen.rawPending },
    partition: partitions.name(slot),
    partitionId: partitions.id(slot),
    uuid: partitionUuidText(partitions, slot),
    nextOffset: lag.nextOffset,
    oldestAt: lag.oldestAt,
    newestAt: partitions.lastAppendAt(slot),
  };
}

/** Cheap, because most lanes of a large queue end here: a tie of nothing pending changes nothing. */
function mayEnter(
  { partitions }: Tables,
  least: Lane | undefined,
  seen: Pick<Seen, 'order' | 'rawPending' | 'slot'>,
): boolean {
  if (least === undefined || seen.rawPending !== least.pending) {
    return seen.rawPending > (least?.pending ?? -1);
  }
  if (seen.rawPending === 0 || seen.order !== least.order) return seen.order < least.order;
  return partitions.name(seen.slot) < least.partition;
}

/** Most pending first, then the order of queues, then the name. */
function isBehind(a: Lane, b: Lane): boolean {
  if (a.pending !== b.pending) return a.pending > b.pending;
  return a.order !== b.order ? a.order < b.order : a.partition < b.partition;
}

function drain(heap: ObjectHeap<Lane>): Lane[] {
  const lanes: Lane[] = [];
  for (let lane = heap.pop(); lane !== undefined; lane = heap.pop()) lanes.push(lane);
  return lanes;
}

async function withLag(group: Group, lanes: readonly Lane[], now: number): Promise<TopPartition[]> {
  const view = lanes.some(({ oldestAt }) => oldestAt === null) ? await group.view() : null;
  try {
    const rows: TopPartition[] = [];
    const slices = new Slices();
    for (const lane of lanes) {
      if (slices.isSpent()) await slices.pause();
      const { queue, partition, uuid: id, pending, processing, partitionId } = lane;
      let { oldestAt } = lane;
      if (oldestAt === null && view !== null) {
        const place = { queueId: queue.id, partitionId, offset: lane.nextOffset };
        oldestAt = await appendedAt(view, place);
      }
      const seconds = pending === 0 ? null : lagSeconds(now, oldestAt ?? lane.newestAt);
      rows.push({ queue: queue.name, partition, id, pending, processing, lagSeconds: seconds });
    }
    return rows;
  } finally {
    await view?.close();
  }
}
