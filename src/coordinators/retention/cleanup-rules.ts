/**
 * When a partition may go (spec §2.9): it retains nothing, has no dead letter, and neither a write, a
 * lease nor a new cursor since the instant. The machine judges the same again when the drop is applied.
 */
import type { Tables } from '../../machine/tables/tables.js';

export function droppable(tables: Tables, slot: number, idleSince: number): boolean {
  const { partitions, cursors, leases } = tables;
  if (partitions.logStart(slot) <= partitions.lastOffset(slot)) return false;
  if (partitions.deadLetters(slot) > 0) return false;
  if (partitions.createdAt(slot) >= idleSince) return false;
  if (partitions.lastAppendAt(slot) >= idleSince) return false;
  for (let c = partitions.firstCursor(slot); c >= 0; c = cursors.nextOnPartition(c)) {
    const lease = cursors.lease(c);
    if (cursors.createdAt(c) >= idleSince) return false;
    if (lease >= 0 && leases.expiresAt(lease) >= idleSince) return false;
  }
  return true;
}
