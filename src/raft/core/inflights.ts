/**
 * Window of append messages sent and not yet acknowledged, bounded in messages and in payload bytes.
 * A ring that grows up to its bound. Indexes inside are strictly ascending, so one acknowledgement
 * frees everything up to its index. Never holds payloads.
 */
import type { LogIndex } from '../../common/ids.js';
import { invariant } from './invariant.js';

/** First allocation; the ring doubles up to the bound, most peers never need more. */
const INITIAL_SLOTS = 8;

export interface InflightLimits {
  readonly maxMessages: number;
  /** 0 = no byte limit. One message may exceed it; the window is then full until it is answered. */
  readonly maxBytes: number;
}

export class Inflights {
  private start = 0;
  private size = 0;
  private bytes = 0;
  private indexes: number[] = [];
  private sizes: number[] = [];

  constructor(private readonly limits: InflightLimits) {}

  get count(): number {
    return this.size;
  }

  full(): boolean {
    const { maxMessages, maxBytes } = this.limits;
    return this.size >= maxMessages || (maxBytes > 0 && this.bytes >= maxBytes);
  }

  /** Records a message whose last entry is `last`. */
  add(last: LogIndex, bytes: number): void {
    invariant(!this.full(), 'append sent into a full window', () => ({ last, count: this.size }));
    if (this.size === this.indexes.length) this.grow();
    const slot = (this.start + this.size) % this.indexes.length;
    this.indexes[slot] = last;
    this.sizes[slot] = bytes;
    this.size += 1;
    this.bytes += bytes;
  }

  /** Frees every message whose last entry is at or below `index`. */
  freeThrough(index: LogIndex): void {
    while (this.size > 0 && (this.indexes[this.start] ?? 0) <= index) {
      this.bytes -= this.sizes[this.start] ?? 0;
      this.start = (this.start + 1) % this.indexes.length;
      this.size -= 1;
    }
    if (this.size === 0) this.start = 0;
  }

  reset(): void {
    this.start = 0;
    this.size = 0;
    this.bytes = 0;
  }

  private grow(): void {
    const slots = Math.min(
      this.limits.maxMessages,
      Math.max(INITIAL_SLOTS, this.indexes.length * 2),
    );
    const indexes = new Array<number>(slots).fill(0);
    const sizes = new Array<number>(slots).fill(0);
    for (let i = 0; i < this.size; i += 1) {
      const from = (this.start + i) % this.indexes.length;
      indexes[i] = this.indexes[from] ?? 0;
      sizes[i] = this.sizes[from] ?? 0;
    }
    this.indexes = indexes;
    this.sizes = sizes;
    this.start = 0;
  }
}
