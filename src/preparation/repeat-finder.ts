/**
 * Finds repeats of (target, transactionId) inside one request: open addressing over the 16-byte hashes,
 * positions only. Its memory serves the next request.
 */
export class RepeatFinder {
  private slots = new Int32Array(0);
  private targets = new Uint32Array(0);
  private hashes: Uint8Array = new Uint8Array(0);
  private mask = 0;

  /** Begins a request of so many items, whose hashes (16 B each) stand in `hashes`. */
  begin(count: number, hashes: Uint8Array): void {
    let size = 2;
    while (size < count * 2) size *= 2;
    if (size > this.slots.length) {
      this.slots = new Int32Array(size);
      this.targets = new Uint32Array(size);
    } else this.slots.fill(0, 0, size);
    this.hashes = hashes;
    this.mask = size - 1;
  }

  /** Index of an earlier item with the same target and hash, or -1 after remembering this one. */
  firstWith(item: number, target: number): number {
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
