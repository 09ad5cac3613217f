/**
 * Hands out slot numbers 0, 1, 2 … for columns and takes them back; the slot freed last is given out
 * first. Slots are node-local (they depend on history): never let one decide a verdict, an order on
 * the wire or a digest.
 */

import { invariant } from './invariant.js';
import { Int32Column } from './paged-column.js';

const LIVE = -2;
const NONE = -1;

export class SlotAllocator {
  /** Per slot: LIVE, or the next free slot, or NONE at the end of the free list. */
  private readonly links = new Int32Column(NONE);
  private firstFree = NONE;
  private used = 0;
  private live = 0;

  constructor(private readonly maxSlots = 0x7fff_ffff) {}

  /** Slots in use. */
  get liveCount(): number {
    return this.live;
  }

  /** One more than the highest slot ever given out. */
  get slotCount(): number {
    return this.used;
  }

  get isFull(): boolean {
    return this.live >= this.maxSlots;
  }

  allocate(): number {
    invariant(this.live < this.maxSlots, 'no slot left');
    const slot = this.firstFree === NONE ? this.used++ : this.firstFree;
    if (slot === this.firstFree) this.firstFree = this.links.get(slot);
    this.links.set(slot, LIVE);
    this.live += 1;
    return slot;
  }

  release(slot: number): void {
    invariant(this.isLive(slot), 'release of a slot that is not live');
    this.links.set(slot, this.firstFree);
    this.firstFree = slot;
    this.live -= 1;
  }

  isLive(slot: number): boolean {
    return slot >= 0 && slot < this.used && this.links.get(slot) === LIVE;
  }

  /** The first live slot at or after `from`, −1 when there is none. Walks in ascending order. */
  nextLive(from: number): number {
    for (let slot = from; slot < this.used; slot++) {
      if (this.links.get(slot) === LIVE) return slot;
    }
    return NONE;
  }

  clear(): void {
    this.links.clear();
    this.firstFree = NONE;
    this.used = 0;
    this.live = 0;
  }
}
