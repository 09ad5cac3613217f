/** The lanes being consumed on this leader, found by queue (events) and by (queue, group) (pops). */
import type { ConsumerGroupId, QueueId } from '../../common/ids.js';
import type { Tables } from '../../machine/tables/tables.js';
import type { LaneTimers } from './consumer-lane.js';
import { ConsumerLane } from './consumer-lane.js';
import type { WaitingPop } from './waiting-pop.js';

const NO_LANES: readonly ConsumerLane[] = [];

export class LaneRegister {
  /** Lanes taken up and dropped since the start. */
  loaded = 0;
  unloaded = 0;
  private readonly byQueue = new Map<number, ConsumerLane[]>();

  constructor(
    private readonly tables: Tables,
    private readonly timers: LaneTimers,
  ) {}

  ofQueue(queueId: number): readonly ConsumerLane[] {
    return this.byQueue.get(queueId) ?? NO_LANES;
  }

  find(queueId: number, groupId: number): ConsumerLane | undefined {
    const lanes = this.byQueue.get(queueId);
    if (lanes === undefined) return undefined;
    for (const lane of lanes) if (lane.groupId === groupId) return lane;
    return undefined;
  }

  ensure(queueId: QueueId, groupId: ConsumerGroupId): ConsumerLane {
    const found = this.find(queueId, groupId);
    if (found !== undefined) return found;
    const lane = new ConsumerLane(queueId, groupId, this.tables, this.timers);
    this.loaded += 1;
    const lanes = this.byQueue.get(queueId);
    if (lanes === undefined) this.byQueue.set(queueId, [lane]);
    else lanes.push(lane);
    return lane;
  }

  *all(): IterableIterator<ConsumerLane> {
    for (const lanes of this.byQueue.values()) yield* lanes;
  }

  /** A partition of the queue was dropped; returns the pops that were pinned to it. */
  forget(queueId: number, slot: number): WaitingPop[] {
    this.timers.holds.remove(slot);
    return this.ofQueue(queueId).flatMap((lane) => lane.forget(slot));
  }

  dropQueue(queueId: number): void {
    this.unloaded += this.ofQueue(queueId).length;
    this.byQueue.delete(queueId);
  }

  /** Drops lanes nobody waits on and nobody used since `beforeMs`. */
  dropIdle(beforeMs: number): void {
    for (const [queueId, lanes] of this.byQueue) {
      const kept = lanes.filter((lane) => !lane.idle || lane.lastUsedMs > beforeMs);
      if (kept.length === lanes.length) continue;
      this.unloaded += lanes.length - kept.length;
      if (kept.length === 0) this.byQueue.delete(queueId);
      else this.byQueue.set(queueId, kept);
    }
  }

  clear(): void {
    for (const lanes of this.byQueue.values()) this.unloaded += lanes.length;
    this.byQueue.clear();
  }
}
