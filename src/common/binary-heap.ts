/**
 * Indexed binary min-heap: slots ordered by a number (a due time, a priority), each slot at most once,
 * with change and removal of any slot in O(log n). Columns only, no object per entry. Equal numbers
 * are ordered by slot, so the order is a function of the contents, not of history.
 */

import { Float64Column, Int32Column } from './paged-column.js';

const ABSENT = -1;

export class IndexedHeap {
  /** By place in the heap. */
  private readonly slots = new Int32Column();
  private readonly keys = new Float64Column();
  /** By slot: its place, or ABSENT. */
  private readonly places = new Int32Column(ABSENT);
  private count = 0;

  get size(): number {
    return this.count;
  }

  has(slot: number): boolean {
    return this.places.get(slot) !== ABSENT;
  }

  /** The number of a slot; undefined when it is not in the heap. */
  keyOf(slot: number): number | undefined {
    const place = this.places.get(slot);
    return place === ABSENT ? undefined : this.keys.get(place);
  }

  /** The slot with the smallest number, −1 when the heap is empty. */
  get firstSlot(): number {
    return this.count === 0 ? ABSENT : this.slots.get(0);
  }

  /** The smallest number, Infinity when the heap is empty. */
  get firstKey(): number {
    return this.count === 0 ? Infinity : this.keys.get(0);
  }

  /** Adds the slot, or moves it when it is there already. The key must not be NaN. */
  set(slot: number, key: number): void {
    const place = this.places.get(slot);
    if (place === ABSENT) {
      this.count += 1;
      this.siftUp(this.count - 1, slot, key);
      return;
    }
    if (key < this.keys.get(place)) this.siftUp(place, slot, key);
    else this.siftDown(place, slot, key);
  }

  /** Takes out the first slot; −1 when the heap is empty. */
  takeFirst(): number {
    const slot = this.firstSlot;
    if (slot !== ABSENT) this.remove(slot);
    return slot;
  }

  /** Takes out any slot; false when it is not there. */
  remove(slot: number): boolean {
    const place = this.places.get(slot);
    if (place === ABSENT) return false;
    this.places.set(slot, ABSENT);
    this.count -= 1;
    if (place === this.count) return true;
    const lastSlot = this.slots.get(this.count);
    const lastKey = this.keys.get(this.count);
    const above = (place - 1) >> 1;
    if (place > 0 && this.isBefore(lastSlot, lastKey, above)) {
      this.siftUp(place, lastSlot, lastKey);
    } else {
      this.siftDown(place, lastSlot, lastKey);
    }
    return true;
  }

  clear(): void {
    this.slots.clear();
    this.keys.clear();
    this.places.clear();
    this.count = 0;
  }

  private isBefore(slot: number, key: number, place: number): boolean {
    const other = this.keys.get(place);
    return key < other || (key === other && slot < this.slots.get(place));
  }

  private put(place: number, slot: number, key: number): void {
    this.slots.set(place, slot);
    this.keys.set(place, key);
    this.places.set(slot, place);
  }

  private siftUp(start: number, slot: number, key: number): void {
    let place = start;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!this.isBefore(slot, key, above)) break;
      this.put(place, this.slots.get(above), this.keys.get(above));
      place = above;
    }
    this.put(place, slot, key);
  }

  private siftDown(start: number, slot: number, key: number): void {
    let place = start;
    for (;;) {
      let below = place * 2 + 1;
      if (below >= this.count) break;
      const right = below + 1;
      if (right < this.count && this.isBefore(this.slots.get(right), this.keys.get(right), below)) {
        below = right;
      }
      if (this.isBefore(slot, key, below)) break;
      this.put(place, this.slots.get(below), this.keys.get(below));
      place = below;
    }
    this.put(place, slot, key);
  }
}
