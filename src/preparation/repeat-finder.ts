/**
 * Finds repeats of (target, transactionId) inside one request: open addressing over the 16-byte hashes,
 * positions only. A request of one item costs nothing.
 */
export class RepeatFinder {
  private readonly slots: Int32Array;
  private readonly targets: Uint32Array;
  private readonly mask: number;

  constructor(
    count: number,
    private readonly hashes: Uint8Array,
  ) {
    const size = count < 2 ? 0 : 2 ** Math.ceil(Math.log2(count * 2));
    this.slots = new Int32Array(size);
    this.targets = new Uint32Array(size === 0 ? 0 : count);
    this.mask = size - 1;
  }

  /** Index of an earlier item with the same target and hash, or -1 after remembering this one. */
  firstWith(item: number, target: number): number {
    if (this.slots.length === 0) return -1;
    let slot = (this.word(item) ^ Math.imul(target, 0x9e3779b1)) & this.mask;
    for (;;) {
      const seen = (this.slots[slot] ?? 0) - 1;
      if (seen < 0) break;
      if (this.targets[seen] === target && this.sameHash(seen, item)) return seen;
      slot = (slot + 1) & this.mask;
    }
    this.slots[slot] = item + 1;
    this.targets[item] = target;
    return -1;
  }

  private word(item: number): number {
    const { hashes } = this;
    const at = item * 16;
    return (
      (hashes[at] ?? 0) |
      ((hashes[at + 1] ?? 0) << 8) |
      ((hashes[at + 2] ?? 0) << 16) |
      ((hashes[at + 3] ?? 0) << 24)
    );
  }

  private sameHash(a: number, b: number): boolean {
    const { hashes } = this;
    for (let k = 0; k < 16; k += 1) if (hashes[a * 16 + k] !== hashes[b * 16 + k]) return false;
    return true;
  }
}
