/** One consumer group of a queue on this node: the rings it can get something from, and who waits. */
import { Fifo } from '../../common/fifo.js';
import type { GroupCursor } from '../rings/group-cursor.js';
import { ReadyRings } from '../rings/ready-rings.js';
import type { WaitingPop } from '../pops/waiting-pop.js';

export class QueueGroup {
  readonly ready = new ReadyRings();
  /** Pops of any partition, in arrival order. */
  readonly waiters = new Fifo<WaitingPop>();
  /** Pops of one partition, by its name; only names somebody waits for. */
  readonly waitersOf = new Map<string, Fifo<WaitingPop>>();
  /** Since when something can be delivered; 0 while nothing can. */
  availableSinceMs = 0;
  /** Rings of the queue that know this group; the others owe it everything they hold. */
  ringsSeen = 0;

  constructor(
    readonly name: string,
    /** Placed on partitions that come later. */
    readonly remembered: boolean,
  ) {}

  /** After anything that may have changed what the cursor can deliver. */
  refresh(cursor: GroupCursor, nowMs: number): void {
    const can = cursor.available > 0;
    if (can === cursor.availableSinceMs > 0) return;
    if (can) {
      cursor.availableSinceMs = Math.max(nowMs, Number.MIN_VALUE);
      if (this.ready.size === 0) this.availableSinceMs = cursor.availableSinceMs;
      this.ready.add(cursor);
    } else {
      this.forget(cursor);
    }
  }

  /** The cursor can deliver nothing any more, or its ring is gone. */
  forget(cursor: GroupCursor): void {
    if (cursor.availableSinceMs === 0) return;
    cursor.availableSinceMs = 0;
    this.ready.remove(cursor);
    if (this.ready.size === 0) this.availableSinceMs = 0;
  }
}
