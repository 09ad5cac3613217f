/**
 * Leases that ended and delays or windows that are over: their partitions are judged again, by the tick
 * and before pops are served, so that no pop misses what became claimable before it came. In slices: many
 * leases may end at one instant.
 */
import type { Tables } from '../../machine/tables/tables.js';
import type { ConsumerLane } from './consumer-lane.js';
import type { ExpiryHeap } from './expiry-heap.js';
import type { InspectContext } from './inspect.js';
import type { LaneRegister } from './lane-register.js';

/** Due times handled before the loop gets a turn. */
const DUE_SLICE = 2_000;

export interface DueParts {
  /** Leases, by cursor slot. */
  readonly expiries: ExpiryHeap;
  /** Delays and windows, by partition slot. */
  readonly holds: ExpiryHeap;
  readonly lanes: LaneRegister;
  readonly tables: Tables;
}

export class DueSlots {
  private isMoreScheduled = false;

  constructor(
    private readonly parts: DueParts,
    /** Null once the dispatcher stopped. */
    private readonly context: () => InspectContext | null,
    private readonly rejudged: (lane: ConsumerLane) => void,
  ) {}

  clear(): void {
    this.parts.expiries.clear();
    this.parts.holds.clear();
  }

  take(): void {
    const { expiries, holds, lanes, tables } = this.parts;
    const context = this.context();
    if (context === null) return;
    const { partitions, cursors } = tables;
    for (let n = 0; n < DUE_SLICE; n += 1) {
      const cursor = expiries.takeDue(context.nowMicros);
      const slot = cursor >= 0 ? cursors.partitionSlot(cursor) : -1;
      const held = holds.takeDue(context.nowMicros);
      if (cursor < 0 && held < 0) return;
      if (slot >= 0) {
        const lane = lanes.find(partitions.queueId(slot), cursors.groupId(cursor));
        if (lane !== undefined) this.rejudge(lane, slot, context);
      }
      if (held < 0) continue;
      for (const lane of lanes.ofQueue(partitions.queueId(held))) {
        this.rejudge(lane, held, context);
      }
    }
    this.scheduleMore();
  }

  private scheduleMore(): void {
    if (this.isMoreScheduled) return;
    this.isMoreScheduled = true;
    setImmediate(() => {
      this.isMoreScheduled = false;
      this.take();
    });
  }

  private rejudge(lane: ConsumerLane, slot: number, context: InspectContext): void {
    lane.reconsider(context, slot);
    this.rejudged(lane);
  }
}
