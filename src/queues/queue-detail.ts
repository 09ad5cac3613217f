/** One partition of the queue detail (admin.md §1.2), and the stats objects it shares with the totals. */
import { timestampText } from '../common/timestamp.js';
import type { Tables } from '../machine/tables/tables.js';
import type { Retained } from './oldest-messages.js';
import { oldestFromColumns } from './oldest-messages.js';
import type { PartitionStats, QueueTotals } from '../reads/partition-stats.js';
import { partitionUuidText } from '../reads/partition-identity.js';

export interface DetailRow {
  readonly name: string;
  /** Set when the time of the oldest message stands in the append rows only. */
  readonly lookup: Retained | null;
  /** The row as it is answered; `oldestMessage` is filled in after the lookup. */
  readonly wire: { oldestMessage: string | null; readonly [field: string]: unknown };
}

/** The detail's counts: pending includes what is leased. */
export function statsObject(
  stats: Omit<QueueTotals, 'retainedBytes'>,
): Record<string, number | null> {
  return {
    total: stats.total,
    pending: stats.rawPending,
    processing: stats.processing,
    completed: stats.completed,
    failed: null,
    deadLetter: stats.deadLetter,
  };
}

export function detailRow(tables: Tables, slot: number, stats: PartitionStats): DetailRow {
  const { partitions } = tables;
  const counts = statsObject(stats);
  const newest = partitions.lastAppendAt(slot);
  const oldest = oldestFromColumns(tables, slot);
  const name = partitions.name(slot);
  const lookup =
    oldest === null
      ? {
          partitionId: partitions.id(slot),
          logStart: partitions.logStart(slot),
          lastOffset: partitions.lastOffset(slot),
        }
      : null;
  const wire = {
    id: partitionUuidText(partitions, slot),
    name,
    createdAt: timestampText(partitions.createdAt(slot)),
    messages: counts,
    stats: counts,
    cursor: { totalConsumed: stats.totalConsumed, batchesConsumed: 0 },
    lastActivity: timeOrNull(stats.lastActivity),
    oldestMessage: timeOrNull(oldest ?? 0),
    newestMessage: stats.total === 0 ? null : timeOrNull(newest),
    retainedBytes: partitions.retainedBytes(slot),
  };
  return { name, lookup, wire };
}

function timeOrNull(micros: number): string | null {
  return micros === 0 ? null : timestampText(micros);
}
