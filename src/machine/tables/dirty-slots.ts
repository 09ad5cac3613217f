/**
 * Slots changed since the last flush, each once: a bitmap says whether, a list says which. Unmarking
 * clears only the bit; a slot marked again may then stand twice in the list and is still visited once.
 */

const PAGE_SHIFT = 15;
const PAGE_MASK = (1 << PAGE_SHIFT) - 1;
const INITIAL_SLOTS = 1024;
/** A drained list keeps at most this much room. */
const RETAINED_SLOTS = 0x1_0000;

export class DirtySlots {
  private readonly pages: Uint32Array[] = [];
  private list = new Int32Array(INITIAL_SLOTS);
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
    if (this.listed === this.list.length) this.grow();
    this.list[this.listed++] = slot;
  }

  unmark(slot: number): void {
    const page = this.pages[slot >>> PAGE_SHIFT];
    if (page !== undefined) page[(slot & PAGE_MASK) >>> 5]! &= ~(1 << (slot & 31));
  }

  /** Visits every marked slot once and forgets it. `visit` must not mark. */
  drain(visit: (slot: number) => void): void {
    for (let i = 0; i < this.listed; i++) {
      const slot = this.list[i]!;
      const page = this.pages[slot >>> PAGE_SHIFT]!;
      const word = (slot & PAGE_MASK) >>> 5;
      const bit = 1 << (slot & 31);
      if ((page[word]! & bit) === 0) continue;
      page[word]! &= ~bit;
      visit(slot);
    }
    this.listed = 0;
    if (this.list.length > RETAINED_SLOTS) this.list = new Int32Array(INITIAL_SLOTS);
  }

  private grow(): void {
    const grown = new Int32Array(this.list.length * 2);
    grown.set(this.list);
    this.list = grown;
  }
}
