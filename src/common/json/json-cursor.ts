/**
 * Pull cursor over a JSON text: walks the objects and arrays one is interested in and skips the rest,
 * without building values. A failure sticks: every call after it answers false, so a walk may check
 * `failure` once at its end.
 *
 *   cursor.reset(body);
 *   if (cursor.enterObject()) while (cursor.nextKey()) {
 *     if (cursor.keyIs(NAME)) …; else cursor.skip();     // exactly one value is consumed per key
 *   }
 *   cursor.finish();                                      // nothing but whitespace may follow
 */

import { skipColon, skipPlainString, skipString, skipValue, skipWhitespace } from './json-scan.js';
import { decodeString, hasEscape, unescapeInto } from './json-text.js';
import {
  BYTE_ORDER_MARK,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  failureAt,
  KIND_NONE,
  kindOfByte,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  TRAILING_BYTE,
  UNEXPECTED_BYTE,
  UNEXPECTED_END,
} from './json-syntax.js';

const EMPTY = new Uint8Array(0);
/** Longest field name a key with escapes is compared with. */
const MAX_NAME_BYTES = 64;
const MAX_ESCAPED_NAME_BYTES = MAX_NAME_BYTES * 6;

export class JsonCursor {
  bytes: Uint8Array = EMPTY;
  /** Content of the current key, between its quotes. */
  keyStart = 0;
  keyEnd = 0;
  /** The value skipped last, quotes and brackets included. */
  valueStart = 0;
  valueEnd = 0;
  /** It is a string with an escape. */
  valueHasEscape = false;
  /** 0, or the first failure (json-syntax.ts). */
  failure = 0;

  private position = 0;
  private end = 0;
  /** Just inside an opening bracket: no comma is expected. */
  private isFresh = false;
  private keyHasEscape = false;
  private stringHasEscape = false;
  private readonly nameScratch = new Uint8Array(MAX_ESCAPED_NAME_BYTES);

  /** Starts on bytes[start, end). A byte order mark at its start is a failure. */
  reset(bytes: Uint8Array, start = 0, end = bytes.length): void {
    this.bytes = bytes;
    this.position = start;
    this.end = end;
    this.failure = 0;
    this.isFresh = false;
    if (end - start >= 3 && bytes[start] === 0xef && bytes[start + 1] === 0xbb) {
      this.fail(failureAt(start, BYTE_ORDER_MARK));
    }
  }

  /** Lets go of the scanned bytes. */
  release(): void {
    this.bytes = EMPTY;
    this.position = 0;
    this.end = 0;
  }

  /** The kind of the value that comes next; KIND_NONE at the end or when no value starts here. */
  kind(): number {
    if (this.failure !== 0) return KIND_NONE;
    this.position = skipWhitespace(this.bytes, this.position, this.end);
    return this.position < this.end ? kindOfByte(this.bytes[this.position]!) : KIND_NONE;
  }

  /** Steps into the object that comes next; false when the next value is none. */
  enterObject(): boolean {
    return this.enter(OPEN_BRACE);
  }

  /** Steps into the array that comes next; false when the next value is none. */
  enterArray(): boolean {
    return this.enter(OPEN_BRACKET);
  }

  /** Moves to the next key of the object; false at its end, which is then behind the cursor. */
  nextKey(): boolean {
    if (!this.next(CLOSE_BRACE)) return false;
    const { bytes, end } = this;
    let p = this.position;
    if (bytes[p] !== QUOTE) return this.fail(failureAt(p, UNEXPECTED_BYTE));
    this.keyStart = p + 1;
    p = this.takeString(p + 1);
    if (p < 0) return this.fail(p);
    this.keyEnd = p - 1;
    this.keyHasEscape = this.stringHasEscape;
    p = skipColon(bytes, p, end);
    if (p < 0) return this.fail(p);
    this.position = p;
    return true;
  }

  /** Moves to the next element of the array; false at its end, which is then behind the cursor. */
  nextElement(): boolean {
    return this.next(CLOSE_BRACKET);
  }

  /** True when the current key, escapes resolved, is `name` (ASCII, at most 64 bytes). */
  keyIs(name: Uint8Array): boolean {
    if (this.keyHasEscape) return this.escapedKeyIs(name);
    const { bytes, keyStart } = this;
    if (this.keyEnd - keyStart !== name.length) return false;
    for (let i = 0; i < name.length; i++) if (bytes[keyStart + i] !== name[i]) return false;
    return true;
  }

  keyText(): string {
    return decodeString(this.bytes, this.keyStart, this.keyEnd);
  }

  /** Checks and skips the next value and notes where it is. */
  skip(): boolean {
    if (this.failure !== 0) return false;
    const { bytes, end } = this;
    const start = skipWhitespace(bytes, this.position, end);
    const isString = start < end && bytes[start] === QUOTE;
    const next = isString ? this.takeString(start + 1) : skipValue(bytes, start, end);
    if (next < 0) return this.fail(next);
    this.valueStart = start;
    this.valueEnd = next;
    this.valueHasEscape = isString && this.stringHasEscape;
    this.position = next;
    this.isFresh = false;
    return true;
  }

  /** Skips a string and answers its text; undefined when the next value is none (it stays). */
  readString(): string | undefined {
    if (this.failure !== 0 || this.kindIsNot(QUOTE) || !this.skip()) return undefined;
    return decodeString(this.bytes, this.valueStart + 1, this.valueEnd - 1);
  }

  /** True when the text is over; anything but whitespace is a failure. */
  finish(): boolean {
    if (this.failure !== 0) return false;
    const p = skipWhitespace(this.bytes, this.position, this.end);
    return p === this.end ? true : this.fail(failureAt(p, TRAILING_BYTE));
  }

  /** From the byte after an opening quote to the position after the closing one. */
  private takeString(start: number): number {
    const { bytes, end } = this;
    this.stringHasEscape = false;
    const plain = skipPlainString(bytes, start, end);
    if (plain >= 0) return plain;
    const next = skipString(bytes, start, end);
    if (next >= 0) this.stringHasEscape = hasEscape(bytes, start, next - 1);
    return next;
  }

  private kindIsNot(first: number): boolean {
    this.position = skipWhitespace(this.bytes, this.position, this.end);
    return this.position >= this.end || this.bytes[this.position] !== first;
  }

  private enter(bracket: number): boolean {
    if (this.failure !== 0 || this.kindIsNot(bracket)) return false;
    this.position += 1;
    this.isFresh = true;
    return true;
  }

  private next(closer: number): boolean {
    if (this.failure !== 0) return false;
    const { bytes, end } = this;
    let p = skipWhitespace(bytes, this.position, end);
    if (p >= end) return this.fail(failureAt(end, UNEXPECTED_END));
    if (bytes[p] === closer) {
      this.position = p + 1;
      this.isFresh = false;
      return false;
    }
    if (!this.isFresh) {
      if (bytes[p] !== COMMA) return this.fail(failureAt(p, UNEXPECTED_BYTE));
      p = skipWhitespace(bytes, p + 1, end);
      if (p >= end) return this.fail(failureAt(end, UNEXPECTED_END));
    }
    this.isFresh = false;
    this.position = p;
    return true;
  }

  private escapedKeyIs(name: Uint8Array): boolean {
    const size = this.keyEnd - this.keyStart;
    if (size > MAX_ESCAPED_NAME_BYTES) return false;
    const scratch = this.nameScratch;
    if (unescapeInto(this.bytes, this.keyStart, this.keyEnd, scratch, 0) !== name.length)
      return false;
    for (let i = 0; i < name.length; i++) if (scratch[i] !== name[i]) return false;
    return true;
  }

  private fail(failure: number): false {
    this.failure = failure;
    return false;
  }
}
