/**
 * Slots changed since the last flush, each once: a bitmap says whether, a list says which. Unmarking
 * clears only the bit; a slot marked again may then stand twice in the list and is still visited once.
 */

const PAGE_SHIFT = 15;
const PAGE_MASK = (1 << PAGE_SHIFT) - 1;
/** Slots per chunk of the list; growth never copies. */
const CHUNK_SHIFT = 14;
const CHUNK_MASK = (1 << CHUNK_SHIFT) - 1;
/** A drained list keeps at most these. */
const RETAINED_CHUNKS = 4;

export class DirtySlots {
  private readonly pages: Uint32Array[] = [];
  private readonly list: Int32Array[] = [];
  private listed = 0;

  /** Upper bound of the slots a drain visits. */
  get size(): number {
    return this.listed;
  }

  mark(slot: number): void {
    const at = slot >>> PAGE_SHIFT;
    while (at >= this.pages.length) this.pages.push(new Uint32Array(1 << (PAGE_SHIFT - 5)));
    const page = this.pages[at]!;
    const word = (slot & PAGE_MASK) >>> 5;
    const bit = 1 << (slot & 31);
    if ((page[word]! & bit) !== 0) return;
    page[word]! |= bit;
    const chunk = this.listed >>> CHUNK_SHIFT;
    if (chunk === this.list.length) this.list.push(new Int32Array(1 << CHUNK_SHIFT));
    this.list[chunk]![this.listed & CHUNK_MASK] = slot;
    this.listed += 1;
  }

  unmark(slot: number): void {
    const page = this.pages[slot >>> PAGE_SHIFT];
    if (page !== undefined) page[(slot & PAGE_MASK) >>> 5]! &= ~(1 << (slot & 31));
  }

  /** Visits every marked slot once and forgets it. `visit` must not mark. */
  drain(visit: (slot: number) => void): void {
    for (let i = 0; i < this.listed; i++) {
      const slot = this.list[i >>> CHUNK_SHIFT]![i & CHUNK_MASK]!;
      const page = this.pages[slot >>> PAGE_SHIFT]!;
      const word = (slot & PAGE_MASK) >>> 5;
      const bit = 1 << (slot & 31);
      if ((page[word]! & bit) === 0) continue;
      page[word]! &= ~bit;
      visit(slot);
    }
    this.listed = 0;
    if (this.list.length > RETAINED_CHUNKS) this.list.length = RETAINED_CHUNKS;
  }
}
