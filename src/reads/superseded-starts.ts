/**
 * A cursor that is only a start (messages.md §2.3: a pinned pop of a group that was not registered) does
 * not count once the group registered on the queue: the registered policy decides then, as for a
 * partition the group never saw.
 */
import type { Tables } from '../machine/tables/tables.js';

export function isSuperseded(tables: Tables, cursor: number): boolean {
  const { cursors, partitions, registrations } = tables;
  if (!cursors.isStart(cursor)) return false;
  const queueId = partitions.queueId(cursors.partitionSlot(cursor));
  return registrations.find(queueId, cursors.groupId(cursor)) !== undefined;
}
