/**
 * The rings of a queue from which one group can get something, in name order, so that a pop of any
 * partition looks at nothing else. Insertion and removal move a tail of references; the front, where pops
 * take from, is an index.
 */
import type { GroupCursor } from './group-cursor.js';

const COMPACT_AT = 64;

export class ReadyRings {
  private cursors: GroupCursor[] = [];
  private front = 0;

  get size(): number {
    return this.cursors.length - this.front;
  }

  first(): GroupCursor | undefined {
    return this.cursors[this.front];
  }

  at(index: number): GroupCursor | undefined {
    return this.cursors[this.front + index];
  }

  add(cursor: GroupCursor): void {
    const at = this.placeOf(cursor.ring.partition);
    if (this.cursors[at]?.ring.partition === cursor.ring.partition) this.cursors[at] = cursor;
    else if (at === this.front && this.front > 0) {
      this.front -= 1;
      this.cursors[this.front] = cursor;
    } else this.cursors.splice(at, 0, cursor);
  }

  remove(cursor: GroupCursor): void {
    const at = this.placeOf(cursor.ring.partition);
    if (this.cursors[at] !== cursor) return;
    if (at !== this.front) {
      this.cursors.splice(at, 1);
      return;
    }
    this.front += 1;
    if (this.front === this.cursors.length) {
      this.cursors.length = 0;
      this.front = 0;
    }
    if (this.front < COMPACT_AT || this.front * 2 < this.cursors.length) return;
    this.cursors = this.cursors.slice(this.front);
    this.front = 0;
  }

  /** First position in use whose name is not before `partition`. */
  private placeOf(partition: string): number {
    let low = this.front;
    let high = this.cursors.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.cursors[middle]?.ring.partition ?? '') < partition) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
