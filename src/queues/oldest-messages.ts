/**
 * When the oldest retained message of a partition was appended. A partition that still has its first
 * append was created with it; once retention moved the start up, only the append rows know.
 */
import type { PartitionId, QueueId } from '../common/ids.js';
import type { Tables } from '../machine/tables/tables.js';
import type { Group } from '../raft/index.js';
import { appendHolding } from '../reads/append-rows.js';

/** Row lookups of one answer; partitions beyond that, or beyond the time for them, leave theirs out. */
export const MAX_LOOKUPS = 10_000;
const LOOKUPS_MS = 1_000;

export interface Retained {
  readonly partitionId: PartitionId;
  readonly logStart: number;
  readonly lastOffset: number;
}

/** µs, 0 when the partition is empty, null when the rows must be asked. */
export function oldestFromColumns(tables: Tables, slot: number): number | null {
  const { partitions } = tables;
  const start = partitions.logStart(slot);
  if (partitions.lastOffset(slot) < start) return 0;
  return start === 0 ? partitions.createdAt(slot) : null;
}

/** µs of the oldest retained append per partition; those that cannot be told are absent. */
export async function oldestFromRows(
  group: Pick<Group, 'view'>,
  queueId: QueueId,
  asked: readonly Retained[],
  nowMs: () => number = () => performance.now(),
): Promise<ReadonlyMap<PartitionId, number>> {
  const found = new Map<PartitionId, number>();
  if (asked.length === 0) return found;
  const view = await group.view();
  const endMs = nowMs() + LOOKUPS_MS;
  try {
    for (const { partitionId, logStart, lastOffset } of asked.slice(0, MAX_LOOKUPS)) {
      if (nowMs() >= endMs) break;
      const span = { queueId, partitionId, first: logStart, last: lastOffset };
      const append = await appendHolding(view, span, logStart);
      if (append !== null) found.set(partitionId, append.row.createdAt);
    }
  } finally {
    await view.close();
  }
  return found;
}
