/**
 * Sums over the partitions of a queue for listings and analytics: counts, bytes, the oldest message the
 * slowest reader has not consumed, when lanes were written. One walk fills all of them.
 */
import type { PartitionId, QueueId } from '../common/ids.js';
import type { QueueRow, Tables } from '../machine/tables/tables.js';
import type { Group } from '../raft/group/group.js';
import { appendedAt, cursorLag } from './lag.js';
import { addTo, noTotals, partitionStats, type QueueTotals } from './partition-stats.js';
import { walkPartitions } from './partition-walk.js';
import type { Slices } from './slices.js';

const HOUR_MICROS = 3_600_000_000;
/** Partitions whose oldest message only a row can tell, per queue; the others are taken by their newest. */
const MAX_LOOKUPS = 32;
const MAX_CANDIDATES = 256;

export interface QueueFigures extends QueueTotals {
  readonly queueId: QueueId;
  partitions: number;
  /** Most messages that one partition has pending. */
  mostPending: number;
  /** µs of the oldest message not consumed by the slowest reader, 0 when there is none. */
  oldestPendingAt: number;
  /** Live leases, and what they still hold. */
  leases: number;
  leased: number;
  leasedPartitions: number;
  deadLetterPartitions: number;
  consumed: number;
  liveHour: number;
  liveDay: number;
  liveWeek: number;
  createdDay: number;
  /** µs; 0 without any partition. */
  oldestWriteAt: number;
  newestWriteAt: number;
}

interface Candidate {
  readonly partitionId: PartitionId;
  readonly offset: number;
  /** No message of it is older, none is newer. */
  readonly createdAt: number;
  readonly newestAt: number;
}

/** Null when the queue was deleted meanwhile. */
export async function queueFigures(
  group: Pick<Group, 'tables' | 'nowMicros' | 'view'>,
  queue: QueueRow,
  slices: Slices,
): Promise<QueueFigures | null> {
  const walk = new FigureWalk(group.tables, queue.id, group.nowMicros());
  const { tables } = group;
  const complete = await walkPartitions({ tables, slices }, queue.id, (slot) => walk.add(slot));
  if (!complete) return null;
  await walk.lookUpOldest(group);
  return walk.figures;
}

class FigureWalk {
  readonly figures: QueueFigures;
  private candidates: Candidate[] = [];
  private readonly clock: { readonly tables: Tables; readonly nowMicros: number };

  constructor(tables: Tables, queueId: QueueId, nowMicros: number) {
    this.clock = { tables, nowMicros };
    this.figures = {
      ...noTotals(),
      ...{ queueId, partitions: 0, mostPending: 0, oldestPendingAt: 0, leases: 0, leased: 0 },
      ...{ leasedPartitions: 0, deadLetterPartitions: 0, consumed: 0, liveHour: 0, liveDay: 0 },
      ...{ liveWeek: 0, createdDay: 0, oldestWriteAt: 0, newestWriteAt: 0 },
    };
  }

  add(slot: number): void {
    const { figures, clock } = this;
    const { partitions } = clock.tables;
    const stats = partitionStats(clock, slot);
    addTo(figures, stats, partitions.retainedBytes(slot));
    figures.partitions += 1;
    figures.mostPending = Math.max(figures.mostPending, stats.rawPending);
    figures.leases += stats.liveLeases;
    figures.leased += stats.leased;
    if (stats.liveLeases > 0) figures.leasedPartitions += 1;
    if (stats.deadLetter > 0) figures.deadLetterPartitions += 1;
    figures.consumed += stats.totalConsumed;
    this.addWrites(slot);
    if (stats.rawPending > 0) this.addPending(slot, stats.floor);
  }

  /** Asks the rows where they can still make the oldest message older. */
  async lookUpOldest(group: Pick<Group, 'view'>): Promise<void> {
    const { figures } = this;
    const open = this.candidates.filter(({ createdAt }) => this.isOlder(createdAt));
    if (open.length === 0) return;
    open.sort((a, b) => a.newestAt - b.newestAt);
    const view = await group.view();
    try {
      for (const { partitionId, offset, newestAt, createdAt } of open.slice(0, MAX_LOOKUPS)) {
        if (!this.isOlder(createdAt)) continue;
        const { queueId } = figures;
        const at = (await appendedAt(view, { queueId, partitionId, offset })) ?? newestAt;
        if (this.isOlder(at)) figures.oldestPendingAt = at;
      }
    } finally {
      await view.close();
    }
    for (const { newestAt } of open.slice(MAX_LOOKUPS)) {
      if (this.isOlder(newestAt)) figures.oldestPendingAt = newestAt;
    }
  }

  private addWrites(slot: number): void {
    const { figures, clock } = this;
    const { partitions } = clock.tables;
    const at = partitions.lastAppendAt(slot);
    const age = clock.nowMicros - at;
    if (age <= HOUR_MICROS) figures.liveHour += 1;
    if (age <= 24 * HOUR_MICROS) figures.liveDay += 1;
    if (age <= 7 * 24 * HOUR_MICROS) figures.liveWeek += 1;
    if (clock.nowMicros - partitions.createdAt(slot) <= 24 * HOUR_MICROS) figures.createdDay += 1;
    if (figures.oldestWriteAt === 0 || at < figures.oldestWriteAt) figures.oldestWriteAt = at;
    figures.newestWriteAt = Math.max(figures.newestWriteAt, at);
  }

  private addPending(slot: number, floor: number): void {
    const { partitions } = this.clock.tables;
    const { oldestAt, nextOffset: offset } = cursorLag(this.clock.tables, slot, floor);
    if (oldestAt !== null) {
      if (this.isOlder(oldestAt)) this.figures.oldestPendingAt = oldestAt;
      return;
    }
    const createdAt = partitions.createdAt(slot);
    if (!this.isOlder(createdAt)) return;
    const newestAt = partitions.lastAppendAt(slot);
    this.candidates.push({ partitionId: partitions.id(slot), offset, createdAt, newestAt });
    if (this.candidates.length <= MAX_CANDIDATES) return;
    this.candidates.sort((a, b) => a.newestAt - b.newestAt);
    for (const { newestAt: at } of this.candidates.slice(MAX_LOOKUPS)) {
      if (this.isOlder(at)) this.figures.oldestPendingAt = at;
    }
    this.candidates = this.candidates.slice(0, MAX_LOOKUPS);
  }

  private isOlder(at: number): boolean {
    return this.figures.oldestPendingAt === 0 || at < this.figures.oldestPendingAt;
  }
}
