/**
 * Counting rules of one partition (admin.md §1.2): total, raw pending behind the floor cursor, leased.
 * Columns only, O(cursors of the partition).
 */
import type { Tables } from '../machine/tables/tables.js';
import { QUEUE_MODE_GROUP } from '../machine/tables/tables.js';
import { isSuperseded } from '../machine/tables/settled.js';

export interface PartitionStats {
  readonly total: number;
  /** Behind the slowest reader, leased messages included. */
  readonly rawPending: number;
  readonly processing: number;
  readonly deadLetter: number;
  readonly completed: number;
  readonly totalConsumed: number;
  /** Committed offset of the slowest reader, -1 when nobody reads. */
  readonly floor: number;
  readonly liveLeases: number;
  /** What they hold, not capped by what is retained. */
  readonly leased: number;
  /** µs of the newest lease acquisition, 0 when none is known. */
  readonly lastActivity: number;
}

export interface StatsClock {
  readonly tables: Tables;
  readonly nowMicros: number;
}

export function partitionStats(clock: StatsClock, slot: number): PartitionStats {
  const { partitions } = clock.tables;
  const last = partitions.lastOffset(slot);
  const start = partitions.logStart(slot);
  const total = Math.max(last - start + 1, 0);
  const cursors = walkCursors(clock, slot);
  const rawPending = Math.max(last - Math.max(cursors.floor, start - 1), 0);
  const deadLetter = partitions.deadLetters(slot);
  return {
    total,
    rawPending,
    processing: Math.min(cursors.leased, rawPending),
    deadLetter,
    completed: Math.max(total - rawPending - deadLetter, 0),
    totalConsumed: cursors.consumed,
    floor: cursors.floor,
    liveLeases: cursors.liveLeases,
    leased: cursors.leased,
    lastActivity: cursors.lastActivity,
  };
}

interface CursorWalk {
  floor: number;
  leased: number;
  liveLeases: number;
  consumed: number;
  lastActivity: number;
}

/** Floor = the slowest named group, else queue mode, else nothing was ever read (−1). */
function walkCursors(clock: StatsClock, slot: number): CursorWalk {
  const { cursors, leases, names, partitions } = clock.tables;
  const walk: CursorWalk = { floor: -1, leased: 0, liveLeases: 0, consumed: 0, lastActivity: 0 };
  let named = Infinity;
  let queueMode = -1;
  for (let c = partitions.firstCursor(slot); c >= 0; c = cursors.nextOnPartition(c)) {
    if (isSuperseded(clock.tables, c)) continue;
    const committed = cursors.committed(c);
    if (names.groupName(cursors.groupId(c)) === QUEUE_MODE_GROUP) queueMode = committed;
    else named = Math.min(named, committed);
    walk.consumed += cursors.totalConsumed(c);
    const lease = cursors.lease(c);
    if (lease < 0) continue;
    walk.lastActivity = Math.max(walk.lastActivity, leases.acquiredAt(lease));
    if (leases.expiresAt(lease) > clock.nowMicros) {
      walk.liveLeases += 1;
      walk.leased += Math.max(leases.batchEnd(lease) - committed, 0);
    }
  }
  walk.floor = named === Infinity ? queueMode : named;
  return walk;
}

/** Sums over the partitions of a queue. */
export interface QueueTotals {
  total: number;
  rawPending: number;
  processing: number;
  completed: number;
  deadLetter: number;
  retainedBytes: number;
}

export function noTotals(): QueueTotals {
  return { total: 0, rawPending: 0, processing: 0, completed: 0, deadLetter: 0, retainedBytes: 0 };
}

export function addTo(totals: QueueTotals, stats: PartitionStats, bytes: number): void {
  totals.total += stats.total;
  totals.rawPending += stats.rawPending;
  totals.processing += stats.processing;
  totals.completed += stats.completed;
  totals.deadLetter += stats.deadLetter;
  totals.retainedBytes += bytes;
}
