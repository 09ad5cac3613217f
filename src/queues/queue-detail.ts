/** One partition of the queue detail (admin.md §1.2), and the stats objects it shares with the totals. */
import type { PartitionId } from '../common/ids.js';
import { timestampText } from '../common/timestamp.js';
import type { Tables } from '../machine/tables/tables.js';
import type { Retained } from './oldest-messages.js';
import { oldestFromColumns } from './oldest-messages.js';
import { partitionStats, type QueueTotals, type StatsClock } from '../reads/partition-stats.js';
import { partitionUuidText } from '../reads/partition-identity.js';

/** What a listed partition is kept as until it is rendered: few bytes, because there may be very many. */
export interface DetailRow {
  readonly name: string;
  readonly partitionId: PartitionId;
  /** Set when the time of the oldest message stands in the append rows only. */
  readonly lookup: Retained | null;
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

export function detailRow(tables: Tables, slot: number): DetailRow {
  const { partitions } = tables;
  const id = partitions.id(slot);
  const lookup =
    oldestFromColumns(tables, slot) === null
      ? {
          partitionId: id,
          logStart: partitions.logStart(slot),
          lastOffset: partitions.lastOffset(slot),
        }
      : null;
  return { name: partitions.name(slot), partitionId: id, lookup };
}

/** `oldestAt`: µs from the append rows, where one was looked up. */
export function detailText(
  clock: StatsClock,
  row: DetailRow,
  oldestAt: number | undefined,
): string {
  const { partitions } = clock.tables;
  const slot = partitions.byId(row.partitionId);
  // Deleted since it was listed.
  if (slot < 0) return '';
  const stats = partitionStats(clock, slot);
  const counts = statsObject(stats);
  return JSON.stringify({
    id: partitionUuidText(partitions, slot),
    name: row.name,
    createdAt: timestampText(partitions.createdAt(slot)),
    messages: counts,
    stats: counts,
    cursor: { totalConsumed: stats.totalConsumed, batchesConsumed: 0 },
    lastActivity: timeOrNull(stats.lastActivity),
    oldestMessage: timeOrNull(oldestAt ?? oldestFromColumns(clock.tables, slot) ?? 0),
    newestMessage: stats.total === 0 ? null : timeOrNull(partitions.lastAppendAt(slot)),
    retainedBytes: partitions.retainedBytes(slot),
  });
}

function timeOrNull(micros: number): string | null {
  return micros === 0 ? null : timestampText(micros);
}
