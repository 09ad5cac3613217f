/**
 * Depth of a queue for one group, or for the worst named group (messages.md §9.3): pending, leased,
 * ready, per partition and summed.
 */
import type { Tables } from '../machine/tables/tables.js';
import { QUEUE_MODE_GROUP } from '../machine/tables/tables.js';
import type { QueueRow } from '../machine/tables/tables.js';
import type { Group } from '../raft/index.js';
import { walkPartitions } from './partition-walk.js';

export interface PartitionDepth {
  readonly partition: string;
  readonly pending: number;
  readonly processing: number;
  readonly ready: number;
}

export interface QueueDepth {
  readonly queue: string;
  readonly group: string | null;
  pending: number;
  processing: number;
  ready: number;
  partitionsPending: number;
  partitionsReady: number;
  conflation: boolean;
  effectivePending: number;
  effectiveReady: number;
  readonly partitions: PartitionDepth[];
}

export async function queueDepth(
  group: Group,
  queue: QueueRow,
  consumerGroup: string | null,
): Promise<QueueDepth | null> {
  const { tables } = group;
  const groupId =
    consumerGroup === null ? undefined : tables.names.group(queue.tenant, consumerGroup);
  const registration =
    groupId === undefined ? undefined : tables.registrations.find(queue.id, groupId);
  const depth: QueueDepth = {
    queue: queue.name,
    group: consumerGroup,
    pending: 0,
    processing: 0,
    ready: 0,
    partitionsPending: 0,
    partitionsReady: 0,
    conflation: registration?.conflation ?? false,
    effectivePending: 0,
    effectiveReady: 0,
    partitions: [],
  };
  const reader: DepthReader = {
    tables,
    queue,
    consumerGroup,
    groupId,
    namedGroups: tables.registrations
      .ofQueue(queue.id)
      .filter((row) => tables.names.groupName(row.groupId) !== QUEUE_MODE_GROUP).length,
    nowMicros: group.nowMicros(),
  };
  const complete = await walkPartitions(tables, queue.id, (slot) =>
    addPartition(depth, reader, slot),
  );
  if (!complete) return null;
  depth.effectivePending = depth.conflation ? depth.partitionsPending : depth.pending;
  depth.effectiveReady = depth.conflation ? depth.partitionsReady : depth.ready;
  depth.partitions.sort((a, b) => (a.partition < b.partition ? -1 : 1));
  return depth;
}

interface DepthReader {
  readonly tables: Tables;
  readonly queue: QueueRow;
  readonly consumerGroup: string | null;
  readonly groupId: number | undefined;
  /** Named groups registered on the queue. */
  readonly namedGroups: number;
  readonly nowMicros: number;
}

function addPartition(depth: QueueDepth, reader: DepthReader, slot: number): void {
  const { partitions } = reader.tables;
  const last = partitions.lastOffset(slot);
  const walk = readersOf(reader, slot);
  const pending = Math.max(last - Math.max(walk.committed, partitions.logStart(slot) - 1), 0);
  const processing = Math.min(walk.leased, pending);
  const ready = pending - processing;
  depth.pending += pending;
  depth.processing += processing;
  depth.ready += ready;
  if (pending > 0) depth.partitionsPending += 1;
  if (ready > 0) depth.partitionsReady += 1;
  depth.partitions.push({ partition: partitions.name(slot), pending, processing, ready });
}

/** Committed offset that counts, and what is leased (of the one group, else of all). */
function readersOf(reader: DepthReader, slot: number): { committed: number; leased: number } {
  const { cursors, leases, names, partitions } = reader.tables;
  let queueMode = -1;
  let named = Infinity;
  let own = -1;
  let leased = 0;
  let namedCursors = 0;
  for (let c = partitions.firstCursor(slot); c >= 0; c = cursors.nextOnPartition(c)) {
    const committed = cursors.committed(c);
    const isOwn = cursors.groupId(c) === reader.groupId;
    if (isOwn) own = committed;
    if (names.groupName(cursors.groupId(c)) === QUEUE_MODE_GROUP) queueMode = committed;
    else {
      named = Math.min(named, committed);
      namedCursors += 1;
    }
    const lease = cursors.lease(c);
    if (lease < 0 || leases.expiresAt(lease) <= reader.nowMicros) continue;
    if (reader.consumerGroup === null || isOwn) {
      leased += Math.max(leases.batchEnd(lease) - committed, 0);
    }
  }
  if (reader.consumerGroup !== null) return { committed: own, leased };
  // A registered group that has no cursor here has everything pending.
  if (reader.namedGroups > namedCursors) return { committed: -1, leased };
  return { committed: named === Infinity ? queueMode : named, leased };
}
