/**
 * FIFO of partition slots that look claimable for one lane, each at most once. A growable ring of
 * 32-bit slots plus a membership bitmap: no object per partition. Membership is a hint: the lane
 * inspects a slot again when it takes it.
 */
const INITIAL_CAPACITY = 64;

export class ReadyRing {
  private slots = new Uint32Array(INITIAL_CAPACITY);
  private head = 0;
  private length = 0;
  private bitmap = new Uint32Array(2);

  get size(): number {
    return this.length;
  }

  has(slot: number): boolean {
    const word = this.bitmap[slot >>> 5];
    return word !== undefined && (word & (1 << (slot & 31))) !== 0;
  }

  /** Appends unless present; returns whether it was added. */
  push(slot: number): boolean {
    if (this.has(slot)) return false;
    if (this.length === this.slots.length) this.grow();
    this.slots[(this.head + this.length) & (this.slots.length - 1)] = slot;
    this.length += 1;
    this.mark(slot);
    return true;
  }

  /** Takes the oldest slot, or -1. */
  shift(): number {
    if (this.length === 0) return -1;
    const slot = this.slots[this.head] ?? 0;
    this.head = (this.head + 1) & (this.slots.length - 1);
    this.length -= 1;
    this.bitmap[slot >>> 5] = (this.bitmap[slot >>> 5] ?? 0) & ~(1 << (slot & 31));
    return slot;
  }

  private mark(slot: number): void {
    const word = slot >>> 5;
    if (word >= this.bitmap.length) {
      const grown = new Uint32Array(Math.max(word + 1, this.bitmap.length * 2));
      grown.set(this.bitmap);
      this.bitmap = grown;
    }
    this.bitmap[word] = (this.bitmap[word] ?? 0) | (1 << (slot & 31));
  }

  private grow(): void {
    const grown = new Uint32Array(this.slots.length * 2);
    for (let i = 0; i < this.length; i += 1) {
      grown[i] = this.slots[(this.head + i) & (this.slots.length - 1)] ?? 0;
    }
    this.slots = grown;
    this.head = 0;
  }
}
