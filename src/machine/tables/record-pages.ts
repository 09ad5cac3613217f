/**
 * Fixed-width records in pages of typed memory: the columns of partitions, cursors and leases. The
 * fields of one slot stand side by side, so touching a record costs one or two cache lines instead of
 * one per field, and growth adds a page without copying. Freed slots are reused, last freed first.
 *
 *   page = 4096 records:   | f64 f64 … | 16B id? | i32 i32 … |   stride is a multiple of 8 bytes
 *
 * Fields are addressed by their position in units of their width inside the record. A slot that was
 * never allocated has no page: reading it throws.
 */

import { invariant } from '../../common/invariant.js';

const PAGE_SHIFT = 12;
const PAGE_RECORDS = 1 << PAGE_SHIFT;
const PAGE_MASK = PAGE_RECORDS - 1;
const MAX_SLOTS = 0x7fff_f000;

export class RecordPages {
  private readonly doubles: Float64Array[] = [];
  private readonly ints: Int32Array[] = [];
  private readonly octets: Uint8Array[] = [];
  private readonly strideDoubles: number;
  private readonly strideInts: number;
  private nextSlot = 0;
  private freeHead = -1;

  /** `linkField`: the i32 field that chains free slots; overwritten while a slot is free. */
  constructor(
    private readonly strideBytes: number,
    private readonly linkField: number,
  ) {
    invariant(strideBytes % 8 === 0, 'stride is not a multiple of 8');
    this.strideDoubles = strideBytes / 8;
    this.strideInts = strideBytes / 4;
  }

  /** Slots ever used; every allocated slot is below. */
  get limit(): number {
    return this.nextSlot;
  }

  /** Bytes of all pages. */
  get sizeBytes(): number {
    return this.doubles.length * PAGE_RECORDS * this.strideBytes;
  }

  /** A zeroed slot. */
  allocate(): number {
    const free = this.freeHead;
    if (free >= 0) {
      this.freeHead = this.int(free, this.linkField);
      this.setInt(free, this.linkField, 0);
      return free;
    }
    const slot = this.nextSlot;
    if ((slot & PAGE_MASK) === 0) this.addPage();
    this.nextSlot = slot + 1;
    return slot;
  }

  /** Zeroes the record and gives the slot back. */
  release(slot: number): void {
    const at = (slot & PAGE_MASK) * this.strideInts;
    this.ints[slot >>> PAGE_SHIFT]!.fill(0, at, at + this.strideInts);
    this.setInt(slot, this.linkField, this.freeHead);
    this.freeHead = slot;
  }

  double(slot: number, field: number): number {
    return this.doubles[slot >>> PAGE_SHIFT]![(slot & PAGE_MASK) * this.strideDoubles + field]!;
  }

  setDouble(slot: number, field: number, value: number): void {
    this.doubles[slot >>> PAGE_SHIFT]![(slot & PAGE_MASK) * this.strideDoubles + field] = value;
  }

  int(slot: number, field: number): number {
    return this.ints[slot >>> PAGE_SHIFT]![(slot & PAGE_MASK) * this.strideInts + field]!;
  }

  setInt(slot: number, field: number, value: number): void {
    this.ints[slot >>> PAGE_SHIFT]![(slot & PAGE_MASK) * this.strideInts + field] = value;
  }

  /** The i32 field read as u32. */
  unsigned(slot: number, field: number): number {
    return this.int(slot, field) >>> 0;
  }

  /** Compares 16 bytes; random bytes of an id stand at its end, so it starts there. */
  idEquals(slot: number, atByte: number, id: Uint8Array): boolean {
    if (id.length !== 16) return false;
    const page = this.octets[slot >>> PAGE_SHIFT]!;
    const at = (slot & PAGE_MASK) * this.strideBytes + atByte;
    for (let i = 15; i >= 0; i--) if (page[at + i] !== id[i]) return false;
    return true;
  }

  setId(slot: number, atByte: number, id: Uint8Array): void {
    invariant(id.length === 16, 'id is not 16 bytes');
    const page = this.octets[slot >>> PAGE_SHIFT]!;
    const at = (slot & PAGE_MASK) * this.strideBytes + atByte;
    for (let i = 0; i < 16; i++) page[at + i] = id[i]!;
  }

  /** Four bytes, little-endian on every processor. */
  word(slot: number, atByte: number): number {
    const page = this.octets[slot >>> PAGE_SHIFT]!;
    return littleWord(page, (slot & PAGE_MASK) * this.strideBytes + atByte);
  }

  /** A copy of 16 bytes. */
  copyId(slot: number, atByte: number): Uint8Array {
    const at = (slot & PAGE_MASK) * this.strideBytes + atByte;
    return this.octets[slot >>> PAGE_SHIFT]!.slice(at, at + 16);
  }

  private addPage(): void {
    invariant(this.nextSlot < MAX_SLOTS, 'too many records');
    const memory = new ArrayBuffer(PAGE_RECORDS * this.strideBytes);
    this.doubles.push(new Float64Array(memory));
    this.ints.push(new Int32Array(memory));
    this.octets.push(new Uint8Array(memory));
  }
}

export function littleWord(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
