/**
 * Big-endian writer for store keys: comparing two keys byte by byte compares their fields in order.
 * Text inside a key is escaped so that no field can run into the next one:
 *
 *   text "a\0b"  →  61 00 FF 62 00 01      (00 inside becomes 00 FF, 00 01 ends the text)
 *
 * so "a" < "a\0" < "ab" holds in the key as it does in the bytes of the text. A text that is the last
 * field of a key may be written with `tail`, unescaped and without an end.
 */

import { DecodeError } from './binary-reader.js';
import { QueenError } from './errors.js';
import { InvariantViolation } from './invariant.js';
import { writeUtf8 } from './utf8.js';

const TWO_32 = 0x1_0000_0000;
const TWO_48 = 0x1_0000_0000_0000;

/** Longest key. What is written is bounded far below (name-budget.ts); a read may name anything. */
export const MAX_KEY_BYTES = 4096;

export class KeyWriter {
  private readonly buffer = new Uint8Array(MAX_KEY_BYTES);
  private position = 0;

  get length(): number {
    return this.position;
  }

  clear(): this {
    this.position = 0;
    return this;
  }

  /** Cuts back to `length`, e.g. to write many keys with one common start. */
  truncate(length: number): this {
    if (length > this.position) throw new InvariantViolation('truncate beyond the end');
    this.position = length;
    return this;
  }

  /** The key, as a view; valid until the next write. */
  view(): Uint8Array {
    return this.buffer.subarray(0, this.position);
  }

  /** A copy of the key. */
  toBytes(): Uint8Array {
    return this.buffer.slice(0, this.position);
  }

  u8(value: number): this {
    if ((value & 0xff) !== value) outOfRange('u8', value);
    this.buffer[this.take(1)] = value;
    return this;
  }

  u16(value: number): this {
    if ((value & 0xffff) !== value) outOfRange('u16', value);
    const at = this.take(2);
    this.buffer[at] = value >>> 8;
    this.buffer[at + 1] = value;
    return this;
  }

  u32(value: number): this {
    if (value >>> 0 !== value) outOfRange('u32', value);
    this.putWord(this.take(4), value);
    return this;
  }

  u48(value: number): this {
    if (!(Number.isSafeInteger(value) && value >= 0 && value < TWO_48)) outOfRange('u48', value);
    const high = Math.floor(value / TWO_32);
    const at = this.take(6);
    this.buffer[at] = high >>> 8;
    this.buffer[at + 1] = high;
    this.putWord(at + 2, value % TWO_32);
    return this;
  }

  /** A non-negative safe integer in 8 bytes. */
  u64(value: number): this {
    if (!(Number.isSafeInteger(value) && value >= 0)) outOfRange('u64', value);
    const at = this.take(8);
    this.putWord(at, Math.floor(value / TWO_32));
    this.putWord(at + 4, value % TWO_32);
    return this;
  }

  /** Bytes of a fixed width the reader knows. */
  fixed(bytes: Uint8Array, start = 0, end = bytes.length): this {
    const at = this.take(end - start);
    for (let i = start; i < end; i++) this.buffer[at + i - start] = bytes[i]!;
    return this;
  }

  /** Escaped bytes with an end mark; more fields may follow. */
  text(bytes: Uint8Array, start = 0, end = bytes.length): this {
    for (let i = start; i < end; i++) {
      const byte = bytes[i]!;
      this.buffer[this.take(1)] = byte;
      if (byte === 0) this.buffer[this.take(1)] = 0xff;
    }
    const at = this.take(2);
    this.buffer[at] = 0;
    this.buffer[at + 1] = 1;
    return this;
  }

  /** Escaped UTF-8 text with an end mark; more fields may follow. */
  string(value: string): this {
    const scratch = new Uint8Array(value.length * 3);
    return this.text(scratch, 0, writeUtf8(value, scratch, 0));
  }

  /** UTF-8 text as the last field: no escape, no end. */
  tail(value: string): this {
    const start = this.take(value.length * 3);
    this.position = writeUtf8(value, this.buffer, start);
    return this;
  }

  private take(size: number): number {
    const at = this.position;
    if (at + size > MAX_KEY_BYTES) throw new QueenError('name_too_long');
    this.position = at + size;
    return at;
  }

  private putWord(at: number, value: number): void {
    this.buffer[at] = value >>> 24;
    this.buffer[at + 1] = value >>> 16;
    this.buffer[at + 2] = value >>> 8;
    this.buffer[at + 3] = value;
  }
}

/** Big-endian fields of a key, read in place. The caller checks the key's length where it matters. */
export function keyU16(key: Uint8Array, at: number): number {
  need(key, at, 2);
  return (key[at]! << 8) | key[at + 1]!;
}

export function keyU32(key: Uint8Array, at: number): number {
  need(key, at, 4);
  return ((key[at]! << 24) | (key[at + 1]! << 16) | (key[at + 2]! << 8) | key[at + 3]!) >>> 0;
}

export function keyU48(key: Uint8Array, at: number): number {
  return keyU16(key, at) * TWO_32 + keyU32(key, at + 2);
}

export function keyU64(key: Uint8Array, at: number): number {
  const value = keyU32(key, at) * TWO_32 + keyU32(key, at + 4);
  if (!Number.isSafeInteger(value)) throw new DecodeError('integer out of range', at);
  return value;
}

/** Unescapes a text field at `at`: its bytes and the position after its end mark. */
export function keyText(key: Uint8Array, at: number): { bytes: Uint8Array; next: number } {
  const bytes = new Uint8Array(key.length - at);
  let size = 0;
  for (let p = at; p < key.length; p++) {
    const byte = key[p]!;
    if (byte === 0) {
      const mark = key[++p];
      if (mark === 1) return { bytes: bytes.subarray(0, size), next: p + 1 };
      if (mark !== 0xff) throw new DecodeError('bad escape in a key', p);
    }
    bytes[size++] = byte;
  }
  throw new DecodeError('text without end in a key', at);
}

function need(key: Uint8Array, at: number, size: number): void {
  if (at < 0 || at + size > key.length) throw new DecodeError('key too short', at);
}

function outOfRange(field: string, value: number): never {
  throw new InvariantViolation(`${field} out of range in a key`, { value });
}
