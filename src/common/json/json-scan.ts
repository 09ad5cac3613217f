/**
 * Strict RFC 8259 scan over bytes: it checks and skips a value without building anything. It accepts
 * exactly what JSON.parse accepts, except: invalid UTF-8 and nesting beyond MAX_DEPTH are refused.
 * Escaped lone surrogates are JSON and pass. Every function returns the position after what it read,
 * or a negative failure (json-syntax.ts), and reads nothing at or beyond `end`.
 */

import { utf8SequenceEnd } from '../utf8.js';
import {
  BACKSLASH,
  BAD_ESCAPE,
  BAD_NUMBER,
  CLOSE_BRACE,
  COLON,
  COMMA,
  CONTROL_IN_STRING,
  failureAt,
  INVALID_UTF8,
  MAX_DEPTH,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  TOO_DEEP,
  UNEXPECTED_BYTE,
  UNEXPECTED_END,
} from './json-syntax.js';

/** 1 for every byte that ends a run of ordinary string bytes: quote, backslash, control, ≥ 0x80. */
const STOPS_STRING = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === QUOTE || byte === BACKSLASH || byte < 0x20 || byte >= 0x80 ? 1 : 0,
);

const IS_HEX = Uint8Array.from({ length: 256 }, (_, byte) =>
  (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66)
    ? 1
    : 0,
);

/** Per depth: the bracket that closes it. Scans never overlap, so one stack serves all. */
const closers = new Uint8Array(MAX_DEPTH);

export function skipWhitespace(bytes: Uint8Array, start: number, end: number): number {
  let p = start;
  while (p < end) {
    const byte = bytes[p]!;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
    p++;
  }
  return p;
}

/** Position of the first byte at or after `start` that is no ordinary string byte, else `end`. */
function plainEnd(bytes: Uint8Array, start: number, end: number): number {
  let p = start;
  const wide = end - 4;
  while (
    p < wide &&
    (STOPS_STRING[bytes[p]!]! |
      STOPS_STRING[bytes[p + 1]!]! |
      STOPS_STRING[bytes[p + 2]!]! |
      STOPS_STRING[bytes[p + 3]!]!) ===
      0
  ) {
    p += 4;
  }
  while (p < end && STOPS_STRING[bytes[p]!] === 0) p++;
  return p;
}

/** From the byte after the opening quote to the position after the closing one. */
export function skipString(bytes: Uint8Array, start: number, end: number): number {
  let p = start;
  for (;;) {
    p = plainEnd(bytes, p, end);
    if (p >= end) return failureAt(end, UNEXPECTED_END);
    if (bytes[p] === QUOTE) return p + 1;
    p = skipSpecial(bytes, p, end);
    if (p < 0) return p;
  }
}

/** The same for a string of plain ASCII without escapes; −1 for any other (ask skipString then). */
export function skipPlainString(bytes: Uint8Array, start: number, end: number): number {
  const p = plainEnd(bytes, start, end);
  return p < end && bytes[p] === QUOTE ? p + 1 : -1;
}

/** One escape or one multi-byte character inside a string. */
function skipSpecial(bytes: Uint8Array, at: number, end: number): number {
  const byte = bytes[at]!;
  if (byte < 0x20) return failureAt(at, CONTROL_IN_STRING);
  if (byte >= 0x80) {
    const next = utf8SequenceEnd(bytes, at, end);
    return next === -1 ? failureAt(at, INVALID_UTF8) : next;
  }
  if (at + 1 >= end) return failureAt(end, UNEXPECTED_END);
  switch (bytes[at + 1]) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // slash
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 2;
    case 0x75: // u
      break;
    default:
      return failureAt(at, BAD_ESCAPE);
  }
  for (let i = 2; i < 6; i++) {
    if (at + i >= end) return failureAt(end, UNEXPECTED_END);
    if (IS_HEX[bytes[at + i]!] === 0) return failureAt(at, BAD_ESCAPE);
  }
  return at + 6;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

/** One or more digits from `at`; a failure when there is none. */
function skipDigits(bytes: Uint8Array, at: number, end: number): number {
  if (at >= end) return failureAt(end, UNEXPECTED_END);
  if (!isDigit(bytes[at]!)) return failureAt(at, BAD_NUMBER);
  let p = at + 1;
  while (p < end && isDigit(bytes[p]!)) p++;
  return p;
}

/** `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?` */
export function skipNumber(bytes: Uint8Array, start: number, end: number): number {
  let p = bytes[start] === MINUS ? start + 1 : start;
  if (p < end && bytes[p] === 0x30) {
    p += 1;
  } else {
    p = skipDigits(bytes, p, end);
    if (p < 0) return p;
  }
  if (p < end && bytes[p] === 0x2e) {
    p = skipDigits(bytes, p + 1, end);
    if (p < 0) return p;
  }
  if (p < end && (bytes[p]! | 0x20) === 0x65) {
    p += 1;
    if (p < end && (bytes[p] === 0x2b || bytes[p] === MINUS)) p += 1;
    p = skipDigits(bytes, p, end);
  }
  return p;
}

const TRUE = Uint8Array.of(0x74, 0x72, 0x75, 0x65);
const FALSE = Uint8Array.of(0x66, 0x61, 0x6c, 0x73, 0x65);
const NULL = Uint8Array.of(0x6e, 0x75, 0x6c, 0x6c);

function skipLiteral(bytes: Uint8Array, start: number, end: number): number {
  const first = bytes[start]!;
  const word = first === 0x74 ? TRUE : first === 0x66 ? FALSE : first === 0x6e ? NULL : undefined;
  if (word === undefined) return failureAt(start, UNEXPECTED_BYTE);
  for (let i = 1; i < word.length; i++) {
    if (start + i >= end) return failureAt(end, UNEXPECTED_END);
    if (bytes[start + i] !== word[i]) return failureAt(start + i, UNEXPECTED_BYTE);
  }
  return start + word.length;
}

/** A value that is no array and no object, from its first byte. */
function skipScalar(bytes: Uint8Array, start: number, end: number): number {
  const byte = bytes[start]!;
  if (byte === QUOTE) return skipString(bytes, start + 1, end);
  if (byte === MINUS || isDigit(byte)) return skipNumber(bytes, start, end);
  return skipLiteral(bytes, start, end);
}

/** A key and its colon, after optional whitespace: to the position after the colon. */
export function skipKey(bytes: Uint8Array, start: number, end: number): number {
  let p = skipWhitespace(bytes, start, end);
  if (p >= end) return failureAt(end, UNEXPECTED_END);
  if (bytes[p] !== QUOTE) return failureAt(p, UNEXPECTED_BYTE);
  p = skipString(bytes, p + 1, end);
  return p < 0 ? p : skipColon(bytes, p, end);
}

/** A colon after optional whitespace: to the position after it. */
export function skipColon(bytes: Uint8Array, start: number, end: number): number {
  const p = skipWhitespace(bytes, start, end);
  if (p >= end) return failureAt(end, UNEXPECTED_END);
  return bytes[p] === COLON ? p + 1 : failureAt(p, UNEXPECTED_BYTE);
}

/** One whole value, after optional whitespace: to the position after its last byte. */
export function skipValue(bytes: Uint8Array, start: number, end: number): number {
  let depth = 0;
  let p = start;
  for (;;) {
    p = skipWhitespace(bytes, p, end);
    if (p >= end) return failureAt(end, UNEXPECTED_END);
    const byte = bytes[p]!;
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (depth === MAX_DEPTH) return failureAt(p, TOO_DEEP);
      // The closing bracket's code is the opening one's + 2.
      closers[depth++] = byte + 2;
      p = skipWhitespace(bytes, p + 1, end);
      if (p >= end) return failureAt(end, UNEXPECTED_END);
      if (bytes[p] === byte + 2) {
        depth -= 1;
        p += 1;
      } else {
        if (byte === OPEN_BRACE) {
          p = skipKey(bytes, p, end);
          if (p < 0) return p;
        }
        continue;
      }
    } else {
      p = skipScalar(bytes, p, end);
      if (p < 0) return p;
    }
    // After a value: close what ends here, then on to the next element or member.
    while (depth > 0) {
      p = skipWhitespace(bytes, p, end);
      if (p >= end) return failureAt(end, UNEXPECTED_END);
      const next = bytes[p]!;
      p += 1;
      const closer = closers[depth - 1]!;
      if (next === closer) {
        depth -= 1;
        continue;
      }
      if (next !== COMMA) return failureAt(p - 1, UNEXPECTED_BYTE);
      if (closer === CLOSE_BRACE) {
        p = skipKey(bytes, p, end);
        if (p < 0) return p;
      }
      break;
    }
    if (depth === 0) return p;
  }
}
