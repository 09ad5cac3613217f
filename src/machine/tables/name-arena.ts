/**
 * UTF-8 names in 1 MiB chunks of memory, addressed by a u32 reference in units of 8 bytes (32 GiB).
 * Freed names are reused by size class, so creating and deleting queues for ever does not leak.
 *
 *   used:  | u16 length | bytes … | pad to 8 |        free:  | u32 next reference + 1 | … |
 */
import { invariant } from '../../common/invariant.js';
import { readUtf8 } from '../../common/utf8.js';

const UNIT_BYTES = 8;
const CHUNK_SHIFT = 17;
const CHUNK_UNITS = 1 << CHUNK_SHIFT;
const CHUNK_MASK = CHUNK_UNITS - 1;
const LENGTH_BYTES = 2;

/** Longest name in bytes; the edge refuses far shorter ones. */
export const MAX_NAME_BYTES = 0xffff;

export class NameArena {
  private readonly chunks: Uint8Array[] = [];
  private nextUnit = 0;
  /** Head of the free list per size class, as reference + 1. */
  private readonly free: number[] = [];

  get sizeBytes(): number {
    return this.chunks.length * CHUNK_UNITS * UNIT_BYTES;
  }

  /** Copies bytes[start, end) in and returns the reference. */
  add(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    invariant(length >= 0 && length <= MAX_NAME_BYTES, 'name too long', () => ({ length }));
    const reference = this.take(unitsOf(length));
    const chunk = this.chunks[reference >>> CHUNK_SHIFT]!;
    const at = (reference & CHUNK_MASK) * UNIT_BYTES;
    chunk[at] = length;
    chunk[at + 1] = length >>> 8;
    for (let i = 0; i < length; i++) chunk[at + LENGTH_BYTES + i] = bytes[start + i]!;
    return reference;
  }

  equals(reference: number, bytes: Uint8Array, start: number, end: number): boolean {
    const chunk = this.chunks[reference >>> CHUNK_SHIFT]!;
    const at = (reference & CHUNK_MASK) * UNIT_BYTES;
    const length = end - start;
    if ((chunk[at]! | (chunk[at + 1]! << 8)) !== length) return false;
    const from = at + LENGTH_BYTES;
    for (let i = 0; i < length; i++) if (chunk[from + i] !== bytes[start + i]) return false;
    return true;
  }

  text(reference: number): string {
    const chunk = this.chunks[reference >>> CHUNK_SHIFT]!;
    const at = (reference & CHUNK_MASK) * UNIT_BYTES;
    const from = at + LENGTH_BYTES;
    return readUtf8(chunk, from, from + (chunk[at]! | (chunk[at + 1]! << 8)));
  }

  /** The name's bytes, as a view; valid until the name is released. */
  view(reference: number): Uint8Array {
    const chunk = this.chunks[reference >>> CHUNK_SHIFT]!;
    const at = (reference & CHUNK_MASK) * UNIT_BYTES;
    const from = at + LENGTH_BYTES;
    return chunk.subarray(from, from + (chunk[at]! | (chunk[at + 1]! << 8)));
  }

  release(reference: number): void {
    const chunk = this.chunks[reference >>> CHUNK_SHIFT]!;
    const at = (reference & CHUNK_MASK) * UNIT_BYTES;
    const units = unitsOf(chunk[at]! | (chunk[at + 1]! << 8));
    const next = this.free[units] ?? 0;
    for (let i = 0; i < 4; i++) chunk[at + i] = next >>> (8 * i);
    this.free[units] = reference + 1;
  }

  private take(units: number): number {
    const head = this.free[units] ?? 0;
    if (head > 0) {
      const reference = head - 1;
      const chunk = this.chunks[reference >>> CHUNK_SHIFT]!;
      const at = (reference & CHUNK_MASK) * UNIT_BYTES;
      this.free[units] =
        (chunk[at]! | (chunk[at + 1]! << 8) | (chunk[at + 2]! << 16) | (chunk[at + 3]! << 24)) >>>
        0;
      return reference;
    }
    // A name never crosses chunks; the rest of a full chunk is given up.
    const room = CHUNK_UNITS - (this.nextUnit & CHUNK_MASK);
    if ((this.nextUnit & CHUNK_MASK) !== 0 && room < units) this.nextUnit += room;
    if (this.nextUnit >= this.chunks.length * CHUNK_UNITS) {
      invariant(this.nextUnit + CHUNK_UNITS < 0xffff_ffff, 'name arena is full');
      this.chunks.push(new Uint8Array(CHUNK_UNITS * UNIT_BYTES));
    }
    const reference = this.nextUnit;
    this.nextUnit += units;
    return reference;
  }
}

function unitsOf(length: number): number {
  return (length + LENGTH_BYTES + UNIT_BYTES - 1) >>> 3;
}
