/**
 * Hash index from a 32-bit hash to slot numbers, for up to hundreds of millions of entries without an
 * object per entry. Keys live with the caller, who answers "is this slot the key?" through a
 * SlotMatcher. Linear probing; deleted entries leave a mark that the next resize drops.
 *
 * Resizing is incremental: a new table is allocated (zero pages, no copy) and every insert or remove
 * moves a few entries over, so no call stalls. Meanwhile a lookup asks the new table, then the old.
 *
 *   cell: slot + 1, 0 = empty, −1 = deleted; the full hash stands beside it
 */

import { invariant } from './invariant.js';

/** The caller's side of a lookup: compares the key it is looking for with the key of a slot. */
export interface SlotMatcher {
  matches(slot: number): boolean;
}

const EMPTY = 0;
const DELETED = -1;
const MIN_CELLS = 16;
/** `clear` keeps a table up to this size. */
const KEPT_CELLS = 256;
const MAX_CELLS = 2 ** 30;
/** Old cells moved per insert or remove. */
const CELLS_PER_STEP = 64;
/** A table shrinks at most by this, so that the old one is empty before the new one is full. */
const MAX_SHRINK = 16;

class Table {
  readonly cells: Int32Array;
  readonly hashes: Int32Array;
  readonly mask: number;
  /** Cells that are not empty: live and deleted. */
  filled = 0;

  constructor(size: number) {
    this.cells = new Int32Array(size);
    this.hashes = new Int32Array(size);
    this.mask = size - 1;
  }

  reset(): void {
    this.cells.fill(EMPTY);
    this.filled = 0;
  }

  /** Cell of the matching entry, −1 when there is none. */
  findCell(hash: number, matcher: SlotMatcher): number {
    const { cells, hashes, mask } = this;
    let cell = hash & mask;
    for (;;) {
      const held = cells[cell]!;
      if (held === EMPTY) return -1;
      if (held !== DELETED && hashes[cell] === hash && matcher.matches(held - 1)) return cell;
      cell = (cell + 1) & mask;
    }
  }

  /** Cell that holds exactly this slot, −1 when there is none. */
  cellOfSlot(hash: number, slot: number): number {
    const { cells, mask } = this;
    let cell = hash & mask;
    for (;;) {
      const held = cells[cell]!;
      if (held === EMPTY) return -1;
      if (held === slot + 1) return cell;
      cell = (cell + 1) & mask;
    }
  }

  add(hash: number, slot: number): void {
    const { cells, hashes, mask } = this;
    let cell = hash & mask;
    while (cells[cell] !== EMPTY) cell = (cell + 1) & mask;
    cells[cell] = slot + 1;
    hashes[cell] = hash;
    this.filled += 1;
  }
}

export class SlotIndex {
  private current = new Table(MIN_CELLS);
  /** The table being emptied, while a resize is under way. */
  private old: Table | undefined;
  private moved = 0;
  private live = 0;

  /** Entries in the index. */
  get size(): number {
    return this.live;
  }

  get isResizing(): boolean {
    return this.old !== undefined;
  }

  /** Memory of the tables. */
  get sizeBytes(): number {
    return 8 * (this.current.cells.length + (this.old?.cells.length ?? 0));
  }

  /** The slot whose key matches, −1 when there is none. */
  find(hash: number, matcher: SlotMatcher): number {
    const wanted = hash | 0;
    const cell = this.current.findCell(wanted, matcher);
    if (cell >= 0) return this.current.cells[cell]! - 1;
    if (this.old === undefined) return -1;
    const oldCell = this.old.findCell(wanted, matcher);
    return oldCell >= 0 ? this.old.cells[oldCell]! - 1 : -1;
  }

  /** Adds a slot whose key is not in the index (the caller looked it up before). */
  insert(hash: number, slot: number): void {
    invariant(slot >= 0 && slot < 0x7fff_ffff, 'slot out of range');
    this.step();
    if ((this.current.filled + 1) * 10 > this.current.cells.length * 7) this.startResize();
    this.current.add(hash | 0, slot);
    this.live += 1;
  }

  /** Removes exactly this slot; false when it is not there. */
  remove(hash: number, slot: number): boolean {
    this.step();
    const removed =
      this.removeFrom(this.current, hash, slot) ||
      (this.old !== undefined && this.removeFrom(this.old, hash, slot));
    if (removed) this.live -= 1;
    return removed;
  }

  /** Forgets all entries; a small table is kept. */
  clear(): void {
    if (this.current.cells.length > KEPT_CELLS) this.current = new Table(MIN_CELLS);
    else this.current.reset();
    this.old = undefined;
    this.moved = 0;
    this.live = 0;
  }

  private removeFrom(table: Table, hash: number, slot: number): boolean {
    const cell = table.cellOfSlot(hash | 0, slot);
    if (cell < 0) return false;
    table.cells[cell] = DELETED;
    return true;
  }

  private startResize(): void {
    while (this.old !== undefined) this.step();
    let size = Math.max(MIN_CELLS, this.current.cells.length / MAX_SHRINK);
    while (size * 8 < (this.live + 1) * 20) size *= 2;
    invariant(size <= MAX_CELLS, 'hash index is full');
    this.old = this.current;
    this.moved = 0;
    this.current = new Table(size);
  }

  /** Moves the next few old cells; the old table is dropped when all are moved. */
  private step(): void {
    const old = this.old;
    if (old === undefined) return;
    const stop = Math.min(old.cells.length, this.moved + CELLS_PER_STEP);
    for (let cell = this.moved; cell < stop; cell++) {
      const held = old.cells[cell]!;
      if (held === EMPTY || held === DELETED) continue;
      this.current.add(old.hashes[cell]!, held - 1);
      old.cells[cell] = DELETED;
    }
    this.moved = stop;
    if (stop === old.cells.length) this.old = undefined;
  }
}
