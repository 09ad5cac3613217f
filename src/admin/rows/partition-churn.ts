/**
 * Partitions made and removed per queue between two looks. What was made is counted as it happens
 * (partition numbers and creation stamps only grow), what was removed is what the queue's count then
 * lacks. Every node counts; only the leader's numbers are written down, so that nothing counts twice.
 */
import type { QueueRow, Tables } from '../../machine/tables/tables.js';

export interface Churn {
  readonly created: number;
  readonly deleted: number;
}

const NONE: Churn = { created: 0, deleted: 0 };

export class PartitionChurn {
  private readonly created = new Map<number, number>();
  private counts = new Map<number, number>();
  private newestId = -1;

  /** Partitions stamped after `sinceMicros` are new. */
  constructor(
    private readonly tables: Tables,
    private readonly sinceMicros: number,
  ) {
    this.counts = this.currentCounts();
  }

  /** Listens to appends: a partition comes into being with its first one. */
  appended(slot: number): void {
    const { partitions } = this.tables;
    const id = partitions.id(slot);
    if (id <= this.newestId || partitions.createdAt(slot) <= this.sinceMicros) return;
    this.newestId = id;
    const queueId = partitions.queueId(slot);
    this.created.set(queueId, (this.created.get(queueId) ?? 0) + 1);
  }

  /** By queue id, since the last turn. */
  turn(): ReadonlyMap<number, Churn> {
    const counts = this.currentCounts();
    const churn = new Map<number, Churn>();
    for (const [queueId, count] of counts) {
      const created = this.created.get(queueId) ?? 0;
      const deleted = Math.max((this.counts.get(queueId) ?? 0) + created - count, 0);
      if (created > 0 || deleted > 0) churn.set(queueId, { created, deleted });
    }
    this.created.clear();
    this.counts = counts;
    return churn;
  }

  private currentCounts(): Map<number, number> {
    const queues: readonly QueueRow[] = this.tables.queues.live();
    return new Map(queues.map(({ id, partitionCount }) => [id, partitionCount]));
  }
}

export const churnOf = (churn: ReadonlyMap<number, Churn>, queueId: number): Churn =>
  churn.get(queueId) ?? NONE;
