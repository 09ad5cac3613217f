/**
 * How far the readers of a partition have come, as retention counts it (spec §2.9). A cursor that is only
 * a start (a pinned pop of a group that was not registered) took nothing yet: it holds what the group is
 * to get, but settles nothing by itself; it does not count once the group registered, for the registered
 * policy decides then, as for a partition the group never saw.
 */
import type { ConsumerGroupId } from '../../common/ids.js';
import type { Tables } from './tables.js';

export function isSuperseded(tables: Tables, cursor: number): boolean {
  const { cursors, partitions, registrations } = tables;
  if (!cursors.isStart(cursor)) return false;
  const queueId = partitions.queueId(cursors.partitionSlot(cursor));
  return registrations.find(queueId, cursors.groupId(cursor)) !== undefined;
}

/** Lowest committed offset of all cursors; -1 when nobody took anything. */
export function settledByAll(tables: Tables, slot: number): number {
  const { cursors, partitions } = tables;
  let lowest = Infinity;
  let hasTaken = false;
  for (let c = partitions.firstCursor(slot); c >= 0; c = cursors.nextOnPartition(c)) {
    if (isSuperseded(tables, c)) continue;
    if (!cursors.isStart(c)) hasTaken = true;
    lowest = Math.min(lowest, cursors.committed(c));
  }
  return hasTaken ? lowest : -1;
}

/** What one group has committed on the partition; -1 when it took nothing. */
export function settledBy(tables: Tables, slot: number, group: ConsumerGroupId): number {
  const { cursors } = tables;
  const cursor = cursors.find(slot, group);
  return cursor < 0 || cursors.isStart(cursor) ? -1 : cursors.committed(cursor);
}
