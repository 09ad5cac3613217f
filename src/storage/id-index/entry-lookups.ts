/**
 * The id lookups one entry announced, and what the runs said to them. Filled by prefetch, read by
 * execute; cleared by raising the epoch, so that clearing costs nothing. A fragment that is not here
 * was not announced: execute then has to look itself.
 */
const FIRST_SLOTS = 1 << 10;
const NONE = -1;

export class EntryLookups {
  private epoch = 1;
  private count = 0;
  private hi = new Uint32Array(FIRST_SLOTS);
  private lo = new Uint32Array(FIRST_SLOTS);
  private slotEpoch = new Uint32Array(FIRST_SLOTS);
  /** First result of the fragment. */
  private head = new Int32Array(FIRST_SLOTS);
  private resultOffset: number[] = [];
  private resultBase: number[] = [];
  private resultNext: number[] = [];

  begin(): void {
    this.epoch += 1;
    this.count = 0;
    if (this.resultOffset.length === 0) return;
    this.resultOffset = [];
    this.resultBase = [];
    this.resultNext = [];
  }

  /** False when the fragment was announced before. */
  announce(hi: number, lo: number): boolean {
    if ((this.count + 1) * 2 > this.hi.length) this.grow();
    const slot = this.slotOf(hi, lo);
    if (this.slotEpoch[slot] === this.epoch) return false;
    this.count += 1;
    this.slotEpoch[slot] = this.epoch;
    this.hi[slot] = hi;
    this.lo[slot] = lo;
    this.head[slot] = NONE;
    return true;
  }

  isAnnounced(hi: number, lo: number): boolean {
    return this.slotEpoch[this.slotOf(hi, lo)] === this.epoch;
  }

  /** Adds a place in front of those known: call oldest first. */
  addResult(hi: number, lo: number, place: { offset: number; base: number }): void {
    const slot = this.slotOf(hi, lo);
    const result = this.resultOffset.length;
    this.resultOffset.push(place.offset);
    this.resultBase.push(place.base);
    this.resultNext.push(this.head[slot] as number);
    this.head[slot] = result;
  }

  /** Newest first; true when the visitor stopped. */
  visit(hi: number, lo: number, visit: (offset: number, base: number) => boolean): boolean {
    if (this.resultOffset.length === 0) return false;
    let result = this.head[this.slotOf(hi, lo)] as number;
    while (result !== NONE) {
      const offset = this.resultOffset[result] as number;
      if (visit(offset, this.resultBase[result] as number)) return true;
      result = this.resultNext[result] as number;
    }
    return false;
  }

  private slotOf(hi: number, lo: number): number {
    const mask = this.hi.length - 1;
    let slot = (lo ^ (hi >>> 7)) & mask;
    while (this.slotEpoch[slot] === this.epoch) {
      if (this.lo[slot] === lo && this.hi[slot] === hi) return slot;
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  private grow(): void {
    const { hi, lo, slotEpoch, head } = this;
    const slots = hi.length * 2;
    this.hi = new Uint32Array(slots);
    this.lo = new Uint32Array(slots);
    this.slotEpoch = new Uint32Array(slots);
    this.head = new Int32Array(slots);
    for (let from = 0; from < hi.length; from += 1) {
      if (slotEpoch[from] !== this.epoch) continue;
      const slot = this.slotOf(hi[from] as number, lo[from] as number);
      this.hi[slot] = hi[from] as number;
      this.lo[slot] = lo[from] as number;
      this.slotEpoch[slot] = this.epoch;
      this.head[slot] = head[from] as number;
    }
  }
}
