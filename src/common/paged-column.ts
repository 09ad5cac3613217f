/**
 * Growable columns of numbers indexed by slot: the memory of partitions and cursors (no object per
 * row). Pages of 65,536 slots, so growing never copies more than the first page, which starts small.
 * A slot never written reads as the column's initial value. Slots are the caller's (SlotAllocator).
 *
 * `get` and `set` are repeated per element type on purpose: one shared body would see several array
 * types and lose the fast path.
 */

const PAGE_SHIFT = 16;
const PAGE_SLOTS = 1 << PAGE_SHIFT;
const PAGE_MASK = PAGE_SLOTS - 1;
const FIRST_PAGE_SLOTS = 256;

type NumberArray = Float64Array | Uint32Array | Int32Array | Uint8Array;

abstract class PagedColumn<A extends NumberArray> {
  protected readonly pages: A[] = [];
  protected slots = 0;

  constructor(protected readonly initial = 0) {}

  /** Slots that have memory; all below it are readable and writable without growth. */
  get capacity(): number {
    return this.slots;
  }

  /** Gives memory back; every slot reads as the initial value again. */
  clear(): void {
    this.pages.length = 0;
    this.slots = 0;
  }

  protected abstract allocate(slots: number): A;

  protected growTo(slot: number): void {
    const needed = slot + 1;
    if (needed <= PAGE_SLOTS) {
      let size = FIRST_PAGE_SLOTS;
      while (size < needed) size *= 2;
      this.setFirstPage(size);
      return;
    }
    if (this.slots < PAGE_SLOTS) this.setFirstPage(PAGE_SLOTS);
    while (this.slots < needed) {
      this.pages.push(this.newPage(PAGE_SLOTS));
      this.slots += PAGE_SLOTS;
    }
  }

  private setFirstPage(size: number): void {
    const page = this.newPage(size);
    const old = this.pages[0];
    if (old !== undefined) page.set(old);
    this.pages[0] = page;
    this.slots = size;
  }

  private newPage(size: number): A {
    const page = this.allocate(size);
    if (this.initial !== 0) page.fill(this.initial);
    return page;
  }
}

/** Any number; also integers up to 2^53 (offsets, microseconds, log indexes). */
export class Float64Column extends PagedColumn<Float64Array> {
  get(slot: number): number {
    if (slot >= this.slots) return this.initial;
    return this.pages[slot >>> PAGE_SHIFT]![slot & PAGE_MASK]!;
  }

  set(slot: number, value: number): void {
    if (slot >= this.slots) this.growTo(slot);
    this.pages[slot >>> PAGE_SHIFT]![slot & PAGE_MASK] = value;
  }

  protected allocate(slots: number): Float64Array {
    return new Float64Array(slots);
  }
}

/** Integers 0 … 2^32 − 1. */
export class Uint32Column extends PagedColumn<Uint32Array> {
  get(slot: number): number {
    if (slot >= this.slots) return this.initial;
    return this.pages[slot >>> PAGE_SHIFT]![slot & PAGE_MASK]!;
  }

  set(slot: number, value: number): void {
    if (slot >= this.slots) this.growTo(slot);
    this.pages[slot >>> PAGE_SHIFT]![slot & PAGE_MASK] = value;
  }

  protected allocate(slots: number): Uint32Array {
    return new Uint32Array(slots);
  }
}

/** Integers −2^31 … 2^31 − 1; links use −1 for "none". */
export class Int32Column extends PagedColumn<Int32Array> {
  get(slot: number): number {
    if (slot >= this.slots) return this.initial;
    return this.pages[slot >>> PAGE_SHIFT]![slot & PAGE_MASK]!;
  }

  set(slot: number, value: number): void {
    if (slot >= this.slots) this.growTo(slot);
    this.pages[slot >>> PAGE_SHIFT]![slot & PAGE_MASK] = value;
  }

  protected allocate(slots: number): Int32Array {
    return new Int32Array(slots);
  }
}

/** Integers 0 … 255: states and flags. */
export class Uint8Column extends PagedColumn<Uint8Array> {
  get(slot: number): number {
    if (slot >= this.slots) return this.initial;
    return this.pages[slot >>> PAGE_SHIFT]![slot & PAGE_MASK]!;
  }

  set(slot: number, value: number): void {
    if (slot >= this.slots) this.growTo(slot);
    this.pages[slot >>> PAGE_SHIFT]![slot & PAGE_MASK] = value;
  }

  protected allocate(slots: number): Uint8Array {
    return new Uint8Array(slots);
  }
}

/** A fixed number of bytes per slot: lease ids, message ids. Unwritten slots read as zeros. */
export class BytesColumn {
  private readonly pages: Uint8Array[] = [];
  private slots = 0;

  constructor(readonly widthBytes: number) {}

  /** Copies the slot's bytes into target at `at`. */
  read(slot: number, target: Uint8Array, at: number): void {
    const width = this.widthBytes;
    const from = (slot & PAGE_MASK) * width;
    const page = slot < this.slots ? this.pages[slot >>> PAGE_SHIFT]! : undefined;
    for (let i = 0; i < width; i++) target[at + i] = page === undefined ? 0 : page[from + i]!;
  }

  /** Copies bytes[at, at + width) into the slot. */
  write(slot: number, bytes: Uint8Array, at: number): void {
    if (slot >= this.slots) this.growTo(slot);
    const page = this.pages[slot >>> PAGE_SHIFT]!;
    const to = (slot & PAGE_MASK) * this.widthBytes;
    for (let i = 0; i < this.widthBytes; i++) page[to + i] = bytes[at + i]!;
  }

  /** True when the slot holds bytes[at, at + width). */
  equals(slot: number, bytes: Uint8Array, at: number): boolean {
    const page = slot < this.slots ? this.pages[slot >>> PAGE_SHIFT]! : undefined;
    const from = (slot & PAGE_MASK) * this.widthBytes;
    for (let i = 0; i < this.widthBytes; i++) {
      if ((page === undefined ? 0 : page[from + i]!) !== bytes[at + i]!) return false;
    }
    return true;
  }

  clear(): void {
    this.pages.length = 0;
    this.slots = 0;
  }

  private growTo(slot: number): void {
    if (slot < PAGE_SLOTS) {
      let size = FIRST_PAGE_SLOTS;
      while (size <= slot) size *= 2;
      this.setFirstPage(size);
      return;
    }
    if (this.slots < PAGE_SLOTS) this.setFirstPage(PAGE_SLOTS);
    while (this.slots <= slot) {
      this.pages.push(new Uint8Array(PAGE_SLOTS * this.widthBytes));
      this.slots += PAGE_SLOTS;
    }
  }

  private setFirstPage(size: number): void {
    const page = new Uint8Array(size * this.widthBytes);
    const old = this.pages[0];
    if (old !== undefined) page.set(old);
    this.pages[0] = page;
    this.slots = size;
  }
}
