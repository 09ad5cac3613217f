/**
 * The newest ids, in memory: an open-addressing table of typed columns, ordered by fragment (home slot
 * = top bits, linear probing, no wrap: a spare tail takes what spills over the end). Grows by doubling,
 * which keeps the order and so costs one pass; at its limit it is sealed into a run file as it is.
 */
import { homeOf, tagOf } from './fragment.js';

/** Slots behind the last home slot. */
export const SPARE_SLOTS = 4096;
const FIRST_BITS = 12;
const MAX_LOAD = 0.75;
const MAX_SAME = 8;
const SPILL_MARGIN = 64;

export class IdTable {
  bits: number;
  count = 0;
  private spilled = false;
  /** Range of createdAt inside, µs. */
  oldest = Infinity;
  newest = 0;
  /** 0 = empty slot, else the tag of the fragment there. */
  tags: Uint16Array<ArrayBuffer>;
  hi: Uint32Array<ArrayBuffer>;
  lo: Uint32Array<ArrayBuffer>;
  offset: Float64Array<ArrayBuffer>;
  /** Offset minus the first offset of the append. */
  delta: Uint32Array<ArrayBuffer>;

  /** Begins small; `firstBits` spares the growing where the rate is known to fill it. */
  constructor(
    private readonly maxBits: number,
    firstBits = FIRST_BITS,
  ) {
    this.bits = Math.min(maxBits, firstBits);
    const slots = this.slotCount;
    this.tags = new Uint16Array(slots);
    this.hi = new Uint32Array(slots);
    this.lo = new Uint32Array(slots);
    this.offset = new Float64Array(slots);
    this.delta = new Uint32Array(slots);
  }

  get slotCount(): number {
    return (1 << this.bits) + SPARE_SLOTS;
  }

  /** Full: seal it and start another one. */
  get isFull(): boolean {
    if (this.bits < this.maxBits) return false;
    return this.count >= MAX_LOAD * (1 << this.bits) || this.spilled;
  }

  /**
   * Adds a place unless it is there already (a replay). Of one fragment only the 8 newest places are
   * kept: a client that repeats one id for ever (dedup off) must not make probes longer and longer.
   */
  add(hi: number, lo: number, offset: number, delta: number): void {
    const { bits, maxBits } = this;
    if (bits < maxBits && (this.spilled || this.count >= MAX_LOAD * (1 << bits))) this.grow();
    const { tags } = this;
    let slot = homeOf(hi, this.bits);
    let same = 0;
    let oldest = -1;
    while (tags[slot] !== 0) {
      if (this.lo[slot] === lo && this.hi[slot] === hi) {
        if (this.offset[slot] === offset) return;
        same += 1;
        if (oldest < 0 || this.offsetAt(slot) < this.offsetAt(oldest)) oldest = slot;
      }
      slot += 1;
    }
    if (same < MAX_SAME) {
      // The last slot stays empty: it ends every probe.
      if (slot >= tags.length - SPILL_MARGIN) this.spilled = true;
      if (slot >= tags.length - 1) throw new Error('id table overflows its spare slots');
      this.put(slot, hi, lo);
      this.count += 1;
    } else slot = oldest;
    this.offset[slot] = offset;
    this.delta[slot] = delta;
  }

  /** Visits the places of a fragment, newest first; true when the visitor stopped. */
  visit(hi: number, lo: number, visit: (offset: number, base: number) => boolean): boolean {
    const { tags } = this;
    const tag = tagOf(lo);
    let slot = homeOf(hi, this.bits);
    let found: number[] | undefined;
    for (let seen = tags[slot] as number; seen !== 0; seen = tags[++slot] as number) {
      if (seen !== tag || this.lo[slot] !== lo || this.hi[slot] !== hi) continue;
      if (found === undefined) found = [slot];
      else found.push(slot);
    }
    if (found === undefined) return false;
    if (found.length > 1) found.sort((a, b) => this.offsetAt(b) - this.offsetAt(a));
    for (const at of found) {
      const offset = this.offsetAt(at);
      if (visit(offset, offset - (this.delta[at] as number))) return true;
    }
    return false;
  }

  private offsetAt(slot: number): number {
    return this.offset[slot] as number;
  }

  private put(slot: number, hi: number, lo: number): void {
    this.tags[slot] = tagOf(lo);
    this.hi[slot] = hi;
    this.lo[slot] = lo;
  }

  private grow(): void {
    const { tags, hi, lo, offset, delta } = this;
    this.bits += 1;
    this.spilled = false;
    const slots = this.slotCount;
    this.tags = new Uint16Array(slots);
    this.hi = new Uint32Array(slots);
    this.lo = new Uint32Array(slots);
    this.offset = new Float64Array(slots);
    this.delta = new Uint32Array(slots);
    for (let from = 0; from < tags.length; from += 1) {
      if (tags[from] === 0) continue;
      const high = hi[from] as number;
      let slot = homeOf(high, this.bits);
      while (this.tags[slot] !== 0) slot += 1;
      this.put(slot, high, lo[from] as number);
      this.offset[slot] = offset[from] as number;
      this.delta[slot] = delta[from] as number;
    }
  }
}
