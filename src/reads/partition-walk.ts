/**
 * Walks the partitions of a queue in slices, giving the loop back in between. Slots are node-local and
 * may be reused after an await, so each slice goes on from an id: where that partition is gone, from the
 * next one. The walk ends when the queue is gone.
 */
import type { PartitionId, QueueId } from '../common/ids.js';
import type { Tables } from '../machine/tables/tables.js';

export interface Walk {
  readonly tables: Tables;
  readonly slices: { isSpent(rows?: number): boolean; pause(): Promise<void> };
}

/** Calls `visit` for each partition slot of the queue; false when the queue went away meanwhile. */
export async function walkPartitions(
  walk: Walk,
  queueId: QueueId,
  visit: (slot: number) => void,
): Promise<boolean> {
  const { slices } = walk;
  const { partitions, queues } = walk.tables;
  let slot = queues.byId(queueId)?.firstPartition ?? -1;
  while (slot >= 0) {
    visit(slot);
    slot = partitions.nextInQueue(slot);
    if (slot < 0 || !slices.isSpent()) continue;
    const resumeAt = partitions.id(slot);
    await slices.pause();
    if (queues.byId(queueId) === undefined) return false;
    slot = slotFrom(walk.tables, queueId, resumeAt);
  }
  return true;
}

/**
 * First partition of the queue whose id is at or above `id`, -1 when there is none. Partitions of a
 * queue are chained in id order; only a partition that was dropped costs a walk.
 */
export function slotFrom(tables: Tables, queueId: QueueId, id: PartitionId): number {
  const { partitions, queues } = tables;
  const known = partitions.byId(id);
  if (known >= 0) return known;
  let slot = queues.byId(queueId)?.firstPartition ?? -1;
  while (slot >= 0 && partitions.id(slot) < id) slot = partitions.nextInQueue(slot);
  return slot;
}
