/**
 * Names as bytes in chunks of 1 MiB: no string and no object per name. A name is known by its `ref`,
 * a u32 (its position ÷ 4). Released names leave a hole that the next name of the same size class
 * takes, so the arena does not grow under create/delete churn.
 *
 *   record:  ┌────────┬───────────────┬─────────┐   rounded up to 4 bytes, never across chunks
 *            │ length │ bytes         │ padding │
 *            │ u16 LE │ 0 … 65,535    │         │   a free record holds the next free ref (u32 LE)
 *            └────────┴───────────────┴─────────┘
 */

import { invariant } from './invariant.js';
import { readUtf8, writeUtf8 } from './utf8.js';

const CHUNK_SHIFT = 20;
const CHUNK_BYTES = 1 << CHUNK_SHIFT;
const CHUNK_UNITS = CHUNK_BYTES / 4;
const UNIT_MASK = CHUNK_UNITS - 1;
const FIRST_CHUNK_BYTES = 4096;
const MAX_CHUNKS = 2 ** 14;
const MAX_NAME_BYTES = 0xffff;
/** Records up to this many 4-byte units are reused exactly by size. */
const REUSED_UNITS = 256;
const NO_REF = 0xffff_ffff;

export class ByteArena {
  private readonly chunks: Uint8Array[] = [];
  /** Next free unit of the last chunk. */
  private unitInChunk = CHUNK_UNITS;
  private readonly freeByUnits = new Uint32Array(REUSED_UNITS + 1).fill(NO_REF);
  private live = 0;

  /** Bytes of live records, headers and padding included. */
  get liveBytes(): number {
    return this.live;
  }

  /** Memory held. */
  get allocatedBytes(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  }

  /** Stores bytes[start, end) and returns its ref. */
  append(bytes: Uint8Array, start = 0, end = bytes.length): number {
    const size = end - start;
    invariant(size >= 0 && size <= MAX_NAME_BYTES, 'name too long for the arena');
    const units = unitsFor(size);
    const ref = this.takeRecord(units);
    const chunk = this.chunks[Math.floor(ref / CHUNK_UNITS)]!;
    const at = (ref & UNIT_MASK) * 4;
    chunk[at] = size;
    chunk[at + 1] = size >>> 8;
    for (let i = 0; i < size; i++) chunk[at + 2 + i] = bytes[start + i]!;
    this.live += units * 4;
    return ref;
  }

  appendText(text: string): number {
    const scratch = new Uint8Array(text.length * 3);
    return this.append(scratch, 0, writeUtf8(text, scratch, 0));
  }

  /** Gives a name back. Its ref must not be used afterwards. */
  release(ref: number): void {
    const units = unitsFor(this.lengthAt(ref));
    this.live -= units * 4;
    if (units > REUSED_UNITS) return;
    const chunk = this.chunkOf(ref);
    const at = this.recordAt(ref);
    const next = this.freeByUnits[units]!;
    for (let i = 0; i < 4; i++) chunk[at + i] = next >>> (8 * i);
    this.freeByUnits[units] = ref;
  }

  /** Bytes of the name. */
  lengthAt(ref: number): number {
    const chunk = this.chunkOf(ref);
    const at = this.recordAt(ref);
    return chunk[at]! | (chunk[at + 1]! << 8);
  }

  /** The chunk that holds the name; its bytes start at `bytesAt(ref)`. Do not write to it. */
  chunkOf(ref: number): Uint8Array {
    return this.chunks[Math.floor(ref / CHUNK_UNITS)]!;
  }

  /** Position of the name's first byte in its chunk. */
  bytesAt(ref: number): number {
    return this.recordAt(ref) + 2;
  }

  /** True when the name is bytes[start, end). */
  equals(ref: number, bytes: Uint8Array, start: number, end: number): boolean {
    const chunk = this.chunkOf(ref);
    const at = this.recordAt(ref);
    const size = end - start;
    if ((chunk[at]! | (chunk[at + 1]! << 8)) !== size) return false;
    for (let i = 0; i < size; i++) {
      if (chunk[at + 2 + i] !== bytes[start + i]) return false;
    }
    return true;
  }

  /** Byte order of two names: negative, 0 or positive. */
  compare(a: number, b: number): number {
    const chunkA = this.chunkOf(a);
    const chunkB = this.chunkOf(b);
    const atA = this.bytesAt(a);
    const atB = this.bytesAt(b);
    const lengthA = this.lengthAt(a);
    const lengthB = this.lengthAt(b);
    const common = Math.min(lengthA, lengthB);
    for (let i = 0; i < common; i++) {
      const difference = chunkA[atA + i]! - chunkB[atB + i]!;
      if (difference !== 0) return difference;
    }
    return lengthA - lengthB;
  }

  /** A copy of the name. */
  bytes(ref: number): Uint8Array {
    const at = this.bytesAt(ref);
    return this.chunkOf(ref).slice(at, at + this.lengthAt(ref));
  }

  /** The name as a string, for answers and listings. */
  text(ref: number): string {
    const at = this.bytesAt(ref);
    return readUtf8(this.chunkOf(ref), at, at + this.lengthAt(ref));
  }

  clear(): void {
    this.chunks.length = 0;
    this.unitInChunk = CHUNK_UNITS;
    this.freeByUnits.fill(NO_REF);
    this.live = 0;
  }

  private recordAt(ref: number): number {
    return (ref & UNIT_MASK) * 4;
  }

  private takeRecord(units: number): number {
    const free = units <= REUSED_UNITS ? this.freeByUnits[units]! : NO_REF;
    if (free === NO_REF) return this.extend(units);
    const chunk = this.chunkOf(free);
    const at = this.recordAt(free);
    let next = 0;
    for (let i = 3; i >= 0; i--) next = next * 256 + chunk[at + i]!;
    this.freeByUnits[units] = next;
    return free;
  }

  private extend(units: number): number {
    if (this.unitInChunk + units > CHUNK_UNITS) {
      invariant(this.chunks.length < MAX_CHUNKS, 'arena is full');
      this.chunks.push(new Uint8Array(this.chunks.length === 0 ? FIRST_CHUNK_BYTES : CHUNK_BYTES));
      this.unitInChunk = 0;
    }
    const last = this.chunks.length - 1;
    const unit = this.unitInChunk;
    this.unitInChunk = unit + units;
    this.growChunk(last, this.unitInChunk * 4);
    return last * CHUNK_UNITS + unit;
  }

  /** Only the first chunk is smaller than 1 MiB. */
  private growChunk(index: number, neededBytes: number): void {
    const chunk = this.chunks[index]!;
    if (neededBytes <= chunk.length) return;
    let size = chunk.length;
    while (size < neededBytes) size *= 2;
    const grown = new Uint8Array(size);
    grown.set(chunk);
    this.chunks[index] = grown;
  }
}

function unitsFor(size: number): number {
  return (size + 2 + 3) >>> 2;
}
