/**
 * Removing a cursor for good: the column, its lease and the row of its metadata. The metadata goes at
 * once, not with the next flush, for a cursor of the same name may come back in the same entry.
 */
import { cursorMetadataKey } from '../tables/keyspaces.js';
import type { ApplyContext } from './context.js';

export function removeCursor(context: ApplyContext, cursor: number): void {
  const { cursors } = context.tables;
  if (cursors.hasMetadata(cursor)) context.rows.delete(metadataKeyOf(context, cursor));
  cursors.remove(cursor);
}

export function metadataKeyOf(context: ApplyContext, cursor: number): Uint8Array {
  const { cursors, partitions } = context.tables;
  const slot = cursors.partitionSlot(cursor);
  return cursorMetadataKey(partitions.queueId(slot), partitions.id(slot), cursors.groupId(cursor));
}
