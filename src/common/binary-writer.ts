/**
 * Growable little-endian writer behind every codec: commands, rows, records, frames. It owns one
 * buffer, doubles it when full and never allocates per field. Numbers outside a field's range are
 * a broken invariant, not data. `maxBytes` bounds the buffer.
 *
 *   varint: 7 bits per byte, low group first, high bit = more follow; at most 8 bytes (safe integers)
 *   bytes, string: varint length, then the bytes (strings as UTF-8)
 */

import { invariant, InvariantViolation } from './invariant.js';
import { utf8Length, writeUtf8 } from './utf8.js';

const TWO_32 = 0x1_0000_0000;
const TWO_48 = 0x1_0000_0000_0000;
const DEFAULT_MAX_BYTES = 0x4000_0000;
/** A cleared writer keeps at most this much memory. */
const RETAIN_BYTES = 0x10_0000;
/** Below this a loop beats `set` plus a view. */
const SHORT_COPY_BYTES = 48;

const floatScratch = new DataView(new ArrayBuffer(8));

export class BinaryWriter {
  private buffer: Uint8Array;
  private position = 0;

  constructor(
    private readonly initialBytes = 256,
    private readonly maxBytes = DEFAULT_MAX_BYTES,
  ) {
    this.buffer = new Uint8Array(initialBytes);
  }

  /** Bytes written so far. */
  get length(): number {
    return this.position;
  }

  /** The memory behind the writer; valid until the next write. Only [0, length) is defined. */
  get bytes(): Uint8Array {
    return this.buffer;
  }

  /** Forgets what was written; memory is kept up to 1 MiB. */
  clear(): void {
    this.position = 0;
    if (this.buffer.length > RETAIN_BYTES) this.buffer = new Uint8Array(this.initialBytes);
  }

  /** Cuts back to `length` bytes, a value read from `length` before. */
  truncate(length: number): void {
    invariant(length <= this.position, 'truncate beyond the end');
    this.position = length;
  }

  /** What was written, as a view; valid until the next write. */
  view(): Uint8Array {
    return this.buffer.subarray(0, this.position);
  }

  /** A copy of what was written. */
  toBytes(): Uint8Array {
    return this.buffer.slice(0, this.position);
  }

  /**
   * Makes room for `size` bytes, moves past them and returns where they start. Not zeroed. May replace
   * the buffer: take the position first, then `bytes`.
   */
  reserve(size: number): number {
    const at = this.position;
    if (at + size > this.buffer.length) this.grow(at + size);
    this.position = at + size;
    return at;
  }

  u8(value: number): void {
    if ((value & 0xff) !== value) outOfRange('u8', value);
    const at = this.reserve(1);
    this.buffer[at] = value;
  }

  boolean(value: boolean): void {
    this.u8(value ? 1 : 0);
  }

  u16(value: number): void {
    if ((value & 0xffff) !== value) outOfRange('u16', value);
    const at = this.reserve(2);
    this.buffer[at] = value;
    this.buffer[at + 1] = value >>> 8;
  }

  u32(value: number): void {
    if (value >>> 0 !== value) outOfRange('u32', value);
    const at = this.reserve(4);
    putWord(this.buffer, at, value);
  }

  i32(value: number): void {
    if ((value | 0) !== value) outOfRange('i32', value);
    const at = this.reserve(4);
    putWord(this.buffer, at, value);
  }

  u48(value: number): void {
    if (!(Number.isSafeInteger(value) && value >= 0 && value < TWO_48)) outOfRange('u48', value);
    const at = this.reserve(6);
    const high = Math.floor(value / TWO_32);
    putWord(this.buffer, at, value % TWO_32);
    this.buffer[at + 4] = high;
    this.buffer[at + 5] = high >>> 8;
  }

  /** A non-negative safe integer in 8 bytes. */
  u64(value: number): void {
    if (!(Number.isSafeInteger(value) && value >= 0)) outOfRange('u64', value);
    this.i64(value);
  }

  /** A safe integer in 8 bytes, two's complement. */
  i64(value: number): void {
    if (!Number.isSafeInteger(value)) outOfRange('i64', value);
    const at = this.reserve(8);
    const high = Math.floor(value / TWO_32);
    putWord(this.buffer, at, value - high * TWO_32);
    putWord(this.buffer, at + 4, high);
  }

  f64(value: number): void {
    floatScratch.setFloat64(0, value, true);
    const at = this.reserve(8);
    for (let i = 0; i < 8; i++) this.buffer[at + i] = floatScratch.getUint8(i);
  }

  /** A non-negative safe integer in 1 … 8 bytes. */
  varint(value: number): void {
    if (value < 0x80 && value >= 0 && (value | 0) === value) {
      const at = this.reserve(1);
      this.buffer[at] = value;
      return;
    }
    if (!(Number.isSafeInteger(value) && value >= 0)) outOfRange('varint', value);
    const at = this.reserve(8);
    this.position = putVarint(this.buffer, at, value);
  }

  /** A safe integer of either sign within ±2^52 (zigzag). */
  signedVarint(value: number): void {
    this.varint(value >= 0 ? value * 2 : -value * 2 - 1);
  }

  /** Bytes as they are, without a length. */
  raw(bytes: Uint8Array): void {
    this.rawRange(bytes, 0, bytes.length);
  }

  /** bytes[start, end) as they are, without a length. */
  rawRange(bytes: Uint8Array, start: number, end: number): void {
    const size = end - start;
    const at = this.reserve(size);
    if (size > SHORT_COPY_BYTES) {
      this.buffer.set(size === bytes.length ? bytes : bytes.subarray(start, end), at);
      return;
    }
    const buffer = this.buffer;
    for (let i = 0; i < size; i++) buffer[at + i] = bytes[start + i]!;
  }

  /** Length and bytes. */
  lengthPrefixed(bytes: Uint8Array): void {
    this.varint(bytes.length);
    this.rawRange(bytes, 0, bytes.length);
  }

  /** Length and bytes[start, end). */
  lengthPrefixedRange(bytes: Uint8Array, start: number, end: number): void {
    this.varint(end - start);
    this.rawRange(bytes, start, end);
  }

  /** Length and UTF-8 bytes of a text. */
  string(text: string): void {
    const units = text.length;
    if (units < 0x2a) {
      // At most 126 bytes: the length fits one byte, so write first and note the length afterwards.
      const at = this.reserve(1 + units * 3);
      this.position = writeUtf8(text, this.buffer, at + 1);
      this.buffer[at] = this.position - at - 1;
      return;
    }
    const size = utf8Length(text);
    this.varint(size);
    const at = this.reserve(size);
    writeUtf8(text, this.buffer, at);
  }

  /** Overwrites 4 bytes written earlier, e.g. a length known only at the end. */
  patchU32(at: number, value: number): void {
    invariant(at + 4 <= this.position, 'patch beyond the end');
    if (value >>> 0 !== value) outOfRange('u32', value);
    putWord(this.buffer, at, value);
  }

  private grow(needed: number): void {
    invariant(needed <= this.maxBytes, 'writer is over its bound', () => ({ needed }));
    const grown = new Uint8Array(Math.min(this.maxBytes, Math.max(needed, this.buffer.length * 2)));
    grown.set(this.buffer.subarray(0, this.position));
    this.buffer = grown;
  }
}

function putWord(buffer: Uint8Array, at: number, value: number): void {
  buffer[at] = value;
  buffer[at + 1] = value >>> 8;
  buffer[at + 2] = value >>> 16;
  buffer[at + 3] = value >>> 24;
}

function putVarint(buffer: Uint8Array, at: number, value: number): number {
  let p = at;
  let rest = value;
  while (rest >= 0x8000_0000) {
    buffer[p++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  while (rest >= 0x80) {
    buffer[p++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  buffer[p++] = rest;
  return p;
}

function outOfRange(field: string, value: number): never {
  throw new InvariantViolation(`${field} out of range`, { value });
}
