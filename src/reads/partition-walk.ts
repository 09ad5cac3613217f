/**
 * Walks the partitions of a queue in slices, giving the loop back in between. Slots are node-local and
 * may be reused after an await, so each slice re-checks the partition it stopped at and ends the walk
 * when that partition is gone (its queue was deleted).
 */
import type { QueueId } from '../common/ids.js';
import type { Tables } from '../machine/tables/tables.js';
import type { Slices } from './slices.js';

export interface Walk {
  readonly tables: Tables;
  readonly slices: Slices;
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
    slot = partitions.byId(resumeAt);
  }
  return true;
}
