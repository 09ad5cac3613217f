/**
 * Writes JSON answers into one growable byte buffer: no objects, no intermediate strings. The caller
 * writes the structure itself (`fragment`, `ascii`); this class only escapes texts, formats numbers,
 * ids and times, and splices payload bytes unchanged.
 *
 *   writer.ascii('{"index":').integer(i).ascii(',"data":').splice(bytes, start, end).ascii('}')
 */

import { BinaryWriter } from '../binary-writer.js';
import { MICROS_TEXT_BYTES, writeTimestamp } from '../timestamp.js';
import { writeCodePoint } from '../utf8.js';
import { UUID_TEXT_BYTES, writeUuidText } from '../uuid-v7.js';
import { BACKSLASH, QUOTE } from './json-syntax.js';

const INITIAL_BYTES = 4096;
/** An escape takes at most 6 bytes for one byte or UTF-16 unit. */
const MAX_ESCAPED_BYTES = 6;
const TEXT_SLICE = 4096;
const DIGIT_0 = 0x30;
const HEX = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));

/** Letter after the backslash for bytes with a short escape, 0 for none. */
const SHORT_ESCAPE = new Uint8Array(128);
for (const [byte, letter] of [
  [8, 'b'],
  [9, 't'],
  [10, 'n'],
  [12, 'f'],
  [13, 'r'],
  [QUOTE, '"'],
  [BACKSLASH, '\\'],
] as const) {
  SHORT_ESCAPE[byte] = letter.charCodeAt(0);
}

const NEEDS_ESCAPE = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === QUOTE || byte === BACKSLASH ? 1 : 0,
);

function writeUnicodeEscape(target: Uint8Array, at: number, unit: number): number {
  target[at] = BACKSLASH;
  target[at + 1] = 0x75;
  for (let i = 0; i < 4; i++) target[at + 2 + i] = HEX[(unit >>> (12 - 4 * i)) & 15] ?? 0;
  return at + 6;
}

/** The escape of a control byte, a quote or a backslash. */
function writeEscape(target: Uint8Array, at: number, byte: number): number {
  const letter = SHORT_ESCAPE[byte] ?? 0;
  if (letter === 0) return writeUnicodeEscape(target, at, byte);
  target[at] = BACKSLASH;
  target[at + 1] = letter;
  return at + 2;
}

export class JsonWriter {
  private readonly out: BinaryWriter;

  constructor(initialBytes = INITIAL_BYTES) {
    this.out = new BinaryWriter(initialBytes);
  }

  get length(): number {
    return this.out.length;
  }

  clear(): this {
    this.out.clear();
    return this;
  }

  /** Cuts back to a length read before, e.g. to take a last comma back. */
  truncate(length: number): this {
    this.out.truncate(length);
    return this;
  }

  /** What was written, as a view; valid until the next write. */
  view(): Uint8Array {
    return this.out.view();
  }

  /** A copy of what was written. */
  toBytes(): Uint8Array {
    return this.out.toBytes();
  }

  /** One ASCII byte, e.g. a bracket. */
  byte(code: number): this {
    this.out.u8(code);
    return this;
  }

  /** Literal ASCII text, written as it is. */
  ascii(text: string): this {
    const at = this.out.reserve(text.length);
    const bytes = this.out.bytes;
    for (let i = 0; i < text.length; i++) bytes[at + i] = text.charCodeAt(i);
    return this;
  }

  /** Prepared JSON bytes. */
  fragment(bytes: Uint8Array): this {
    this.out.raw(bytes);
    return this;
  }

  /** JSON bytes[start, end) as they are: payloads, numbers or strings of a request. */
  splice(bytes: Uint8Array, start: number, end: number): this {
    this.out.rawRange(bytes, start, end);
    return this;
  }

  null(): this {
    return this.ascii('null');
  }

  boolean(value: boolean): this {
    return this.ascii(value ? 'true' : 'false');
  }

  /** A safe integer. */
  integer(value: number): this {
    if (value < 0 || value > 0x7fff_ffff) return this.number(value);
    let size = 1;
    for (let limit = 10; value >= limit; limit *= 10) size += 1;
    const at = this.out.reserve(size);
    const bytes = this.out.bytes;
    let rest = value;
    for (let p = at + size - 1; p >= at; p--) {
      const tenth = Math.floor(rest / 10);
      bytes[p] = DIGIT_0 + (rest - tenth * 10);
      rest = tenth;
    }
    return this;
  }

  /** Any number; what JSON cannot say (NaN, infinities) becomes null. */
  number(value: number): this {
    return Number.isFinite(value) ? this.ascii(String(value)) : this.null();
  }

  /** A decimal number in quotes, as partition ids travel. */
  integerText(value: number): this {
    return this.byte(QUOTE).integer(value).byte(QUOTE);
  }

  /** A quoted and escaped string, written as JSON.stringify writes it. */
  string(text: string): this {
    this.byte(QUOTE);
    for (let i = 0; i < text.length; i += TEXT_SLICE) {
      this.escapedSlice(text, i, Math.min(text.length, i + TEXT_SLICE));
    }
    return this.byte(QUOTE);
  }

  /** A string, or null for undefined. */
  stringOrNull(text: string | undefined): this {
    return text === undefined ? this.null() : this.string(text);
  }

  /** A quoted and escaped string from valid UTF-8 bytes[start, end). */
  utf8(bytes: Uint8Array, start: number, end: number): this {
    this.byte(QUOTE);
    let plain = start;
    for (let p = start; p < end; p++) {
      const byte = bytes[p] ?? 0;
      if (NEEDS_ESCAPE[byte] === 0) continue;
      this.out.rawRange(bytes, plain, p);
      const at = this.out.reserve(MAX_ESCAPED_BYTES);
      this.out.truncate(writeEscape(this.out.bytes, at, byte));
      plain = p + 1;
    }
    this.out.rawRange(bytes, plain, end);
    return this.byte(QUOTE);
  }

  /** The quoted text of the UUID at `at`. */
  uuid(bytes: Uint8Array, at = 0): this {
    const to = this.out.reserve(UUID_TEXT_BYTES + 2);
    const target = this.out.bytes;
    target[to] = QUOTE;
    target[writeUuidText(bytes, at, target, to + 1)] = QUOTE;
    return this;
  }

  /** A quoted time with 6 fraction digits, or 3. */
  timestamp(micros: number, digits: 6 | 3 = 6): this {
    const to = this.out.reserve(MICROS_TEXT_BYTES + 2);
    const target = this.out.bytes;
    target[to] = QUOTE;
    const end = writeTimestamp(micros, digits, target, to + 1);
    target[end] = QUOTE;
    this.out.truncate(end + 1);
    return this;
  }

  /** A lone surrogate at the edge of a slice is completed from the whole text. */
  private escapedSlice(text: string, from: number, to: number): void {
    const at = this.out.reserve((to - from) * MAX_ESCAPED_BYTES);
    const target = this.out.bytes;
    let p = at;
    for (let i = from; i < to; i++) {
      const unit = text.charCodeAt(i);
      if (unit < 0x80) {
        if (NEEDS_ESCAPE[unit] === 0) target[p++] = unit;
        else p = writeEscape(target, p, unit);
      } else if ((unit & 0xf800) !== 0xd800) {
        p = writeCodePoint(unit, target, p);
      } else {
        p = this.writeSurrogate(text, i, p);
      }
    }
    this.out.truncate(p);
  }

  /** A pair is written once, at its first unit; a lone surrogate is escaped. */
  private writeSurrogate(text: string, at: number, to: number): number {
    const target = this.out.bytes;
    const unit = text.charCodeAt(at);
    const point = text.codePointAt(at) ?? unit;
    if (point > 0xffff) return writeCodePoint(point, target, to);
    const before = unit >= 0xdc00 && at > 0 ? text.charCodeAt(at - 1) : 0;
    return (before & 0xfc00) === 0xd800 ? to : writeUnicodeEscape(target, to, unit);
  }
}
