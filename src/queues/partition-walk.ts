/**
 * Walks the partitions of a queue in slices, giving the loop back in between. Slots are node-local and
 * may be reused after an await, so each slice re-checks the partition it stopped at and ends the walk
 * when that partition is gone (its queue was deleted).
 */
import type { Tables } from '../machine/tables/tables.js';

const SLICE = 1_000;

/** Calls `visit` for each partition slot of the queue; false when the queue went away meanwhile. */
export async function walkPartitions(
  tables: Tables,
  queueId: number,
  visit: (slot: number) => void,
): Promise<boolean> {
  const { partitions, queues } = tables;
  let slot = queues.byId(queueId as never)?.firstPartition ?? -1;
  while (slot >= 0) {
    for (let n = 0; n < SLICE && slot >= 0; n += 1) {
      visit(slot);
      slot = partitions.nextInQueue(slot);
    }
    if (slot < 0) break;
    const resumeAt = partitions.id(slot);
    await new Promise((resolve) => setImmediate(resolve));
    if (queues.byId(queueId as never) === undefined) return false;
    slot = partitions.byId(resumeAt);
  }
  return true;
}
