/**
 * First-in-first-out queue (and deque) over one array whose size is a power of two; nothing is shifted.
 * `maxLength` is its bound: adding beyond it is a broken invariant, so ask `isFull` first.
 */

import { invariant } from './invariant.js';

const MIN_CELLS = 8;

export class RingBuffer<T> {
  private cells: Array<T | undefined>;
  private head = 0;
  private count = 0;

  constructor(
    private readonly maxLength = Number.MAX_SAFE_INTEGER,
    initialCells = MIN_CELLS,
  ) {
    let size = MIN_CELLS;
    while (size < initialCells) size *= 2;
    this.cells = new Array<T | undefined>(size).fill(undefined);
  }

  get length(): number {
    return this.count;
  }

  get isFull(): boolean {
    return this.count >= this.maxLength;
  }

  /** Adds at the end. */
  push(value: T): void {
    this.makeRoom();
    this.cells[(this.head + this.count) & (this.cells.length - 1)] = value;
    this.count += 1;
  }

  /** Adds at the front. */
  unshift(value: T): void {
    this.makeRoom();
    this.head = (this.head - 1) & (this.cells.length - 1);
    this.cells[this.head] = value;
    this.count += 1;
  }

  /** Takes from the front. */
  shift(): T | undefined {
    if (this.count === 0) return undefined;
    const value = this.cells[this.head];
    this.cells[this.head] = undefined;
    this.head = (this.head + 1) & (this.cells.length - 1);
    this.count -= 1;
    return value;
  }

  /** Takes from the end. */
  pop(): T | undefined {
    if (this.count === 0) return undefined;
    this.count -= 1;
    const at = (this.head + this.count) & (this.cells.length - 1);
    const value = this.cells[at];
    this.cells[at] = undefined;
    return value;
  }

  /** The element `index` places behind the front. */
  at(index: number): T | undefined {
    if (index < 0 || index >= this.count) return undefined;
    return this.cells[(this.head + index) & (this.cells.length - 1)];
  }

  get first(): T | undefined {
    return this.at(0);
  }

  get last(): T | undefined {
    return this.at(this.count - 1);
  }

  /** Drops `count` elements from the front. */
  drop(count: number): void {
    for (let i = 0; i < count && this.count > 0; i++) this.shift();
  }

  clear(): void {
    this.cells = new Array<T | undefined>(MIN_CELLS).fill(undefined);
    this.head = 0;
    this.count = 0;
  }

  /** From front to end. */
  *[Symbol.iterator](): IterableIterator<T> {
    for (let i = 0; i < this.count; i++) yield this.at(i) as T;
  }

  private makeRoom(): void {
    invariant(this.count < this.maxLength, 'ring buffer is over its bound');
    if (this.count < this.cells.length) return;
    const size = this.cells.length;
    const grown = new Array<T | undefined>(size * 2).fill(undefined);
    for (let i = 0; i < size; i++) grown[i] = this.cells[(this.head + i) & (size - 1)];
    this.cells = grown;
    this.head = 0;
  }
}
