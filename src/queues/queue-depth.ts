/**
 * Depth of a queue for one group, or for the worst named group (messages.md §9.3): pending, leased,
 * ready, per partition and summed.
 */
import type { Tables } from '../machine/tables/tables.js';
import { QUEUE_MODE_GROUP } from '../machine/tables/tables.js';
import type { QueueRow } from '../machine/tables/tables.js';
import type { Group } from '../raft/index.js';
import { walkPartitions } from '../reads/partition-walk.js';
import type { Slices } from '../reads/slices.js';
import { isSuperseded } from '../machine/tables/settled.js';

interface PartitionDepth {
  readonly name: string;
  readonly pending: number;
  readonly processing: number;
  readonly ready: number;
}

export interface QueueDepth {
  readonly queue: string;
  readonly group: string | null;
  readonly conflation: boolean;
  pending: number;
  processing: number;
  ready: number;
  partitionsPending: number;
  partitionsReady: number;
  isTruncated: boolean;
  readonly listed: PartitionDepth[];
}

export interface DepthQuery {
  /** Null: the worst named group. */
  readonly consumerGroup: string | null;
  readonly mostListed: number;
  readonly slices: Slices;
}

/** Null when the queue was deleted meanwhile. */
export async function queueDepth(
  group: Group,
  queue: QueueRow,
  query: DepthQuery,
): Promise<QueueDepth | null> {
  const { tables } = group;
  const { consumerGroup, slices } = query;
  const groupId =
    consumerGroup === null ? undefined : tables.names.group(queue.tenant, consumerGroup);
  const registration =
    groupId === undefined ? undefined : tables.registrations.find(queue.id, groupId);
  const depth: QueueDepth = {
    queue: queue.name,
    group: consumerGroup,
    conflation: registration?.conflation ?? false,
    pending: 0,
    processing: 0,
    ready: 0,
    partitionsPending: 0,
    partitionsReady: 0,
    isTruncated: false,
    listed: [],
  };
  const reader: DepthReader = {
    tables,
    consumerGroup,
    groupId,
    registered: new Set(
      tables.registrations
        .ofQueue(queue.id)
        .map((row) => row.groupId)
        .filter((id) => tables.names.groupName(id) !== QUEUE_MODE_GROUP),
    ),
    nowMicros: group.nowMicros(),
    mostListed: query.mostListed,
  };
  const complete = await walkPartitions({ tables, slices }, queue.id, (slot) =>
    addPartition(depth, reader, slot),
  );
  return complete ? depth : null;
}

/** The answer but its partitions. A conflating group gets one message per partition. */
export function depthMembers(depth: QueueDepth): object {
  const { listed: _listed, isTruncated, ...counts } = depth;
  return {
    ...counts,
    effectivePending: depth.conflation ? depth.partitionsPending : depth.pending,
    effectiveReady: depth.conflation ? depth.partitionsReady : depth.ready,
    ...(isTruncated ? { partitionsTruncated: true } : {}),
  };
}

interface DepthReader {
  readonly tables: Tables;
  readonly consumerGroup: string | null;
  readonly groupId: number | undefined;
  /** Named groups registered on the queue. */
  readonly registered: ReadonlySet<number>;
  readonly nowMicros: number;
  readonly mostListed: number;
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
  if (depth.listed.length >= reader.mostListed) depth.isTruncated = true;
  else depth.listed.push({ name: partitions.name(slot), pending, processing, ready });
}

/** Committed offset that counts, and what is leased (of the one group, else of all). */
function readersOf(reader: DepthReader, slot: number): { committed: number; leased: number } {
  const { cursors, leases, names, partitions } = reader.tables;
  let queueMode = -1;
  let named = Infinity;
  let own = -1;
  let leased = 0;
  let registeredHere = 0;
  for (let c = partitions.firstCursor(slot); c >= 0; c = cursors.nextOnPartition(c)) {
    if (isSuperseded(reader.tables, c)) continue;
    const committed = cursors.committed(c);
    const isOwn = cursors.groupId(c) === reader.groupId;
    if (isOwn) own = committed;
    if (names.groupName(cursors.groupId(c)) === QUEUE_MODE_GROUP) queueMode = committed;
    else {
      named = Math.min(named, committed);
      if (reader.registered.has(cursors.groupId(c))) registeredHere += 1;
    }
    const lease = cursors.lease(c);
    if (lease < 0 || leases.expiresAt(lease) <= reader.nowMicros) continue;
    if (reader.consumerGroup === null || isOwn) {
      leased += Math.max(leases.batchEnd(lease) - committed, 0);
    }
  }
  if (reader.consumerGroup !== null) return { committed: own, leased };
  // A registered group that has no cursor here has everything pending.
  if (reader.registered.size > registeredHere) return { committed: -1, leased };
  return { committed: named === Infinity ? queueMode : named, leased };
}
