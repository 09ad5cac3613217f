/**
 * UTF-8 in and out of byte ranges without a slice per name. Short texts (names, ids) go through plain
 * loops, long ones through the built-in coder. A lone surrogate in a string is written as U+FFFD.
 * Validation follows Unicode table 3-7 (no overlong forms, no surrogates, nothing above U+10FFFF).
 */

const SHORT_TEXT_UNITS = 40;
const SHORT_TEXT_BYTES = 40;
/** From here on a word view over the range pays for itself. */
const WORD_SCAN_BYTES = 256;
const SHORT_RUN_BYTES = 24;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Bytes that `text` takes in UTF-8. */
export function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      length += 1;
      continue;
    }
    length += 2;
    if (isSurrogatePair(unit, text, i)) i++;
  }
  return length;
}

function isSurrogatePair(unit: number, text: string, at: number): boolean {
  if ((unit & 0xfc00) !== 0xd800) return false;
  return (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
}

/**
 * Writes `text` at `at` and returns the position after it. The target must have room for
 * utf8Length(text) bytes (never more than `text.length * 3`).
 */
export function writeUtf8(text: string, target: Uint8Array, at: number): number {
  const units = text.length;
  if (units > SHORT_TEXT_UNITS) {
    return at + encoder.encodeInto(text, target.subarray(at)).written;
  }
  for (let i = 0; i < units; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) return writeShortUtf8(text, i, target, at + i);
    target[at + i] = unit;
  }
  return at + units;
}

function writeShortUtf8(text: string, from: number, target: Uint8Array, at: number): number {
  let p = at;
  for (let i = from; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code < 0x80) {
      target[p++] = code;
      continue;
    }
    if (isSurrogatePair(code, text, i)) {
      code = 0x10000 + ((code & 0x3ff) << 10) + (text.charCodeAt(++i) & 0x3ff);
    } else if ((code & 0xf800) === 0xd800) {
      code = 0xfffd;
    }
    p = writeCodePoint(code, target, p);
  }
  return p;
}

/** Writes one code point (0 … 0x10FFFF, no surrogate) and returns the position after it. */
export function writeCodePoint(code: number, target: Uint8Array, at: number): number {
  let p = at;
  if (code < 0x80) {
    target[p++] = code;
  } else if (code < 0x800) {
    target[p++] = 0xc0 | (code >> 6);
    target[p++] = 0x80 | (code & 0x3f);
  } else if (code < 0x10000) {
    target[p++] = 0xe0 | (code >> 12);
    target[p++] = 0x80 | ((code >> 6) & 0x3f);
    target[p++] = 0x80 | (code & 0x3f);
  } else {
    target[p++] = 0xf0 | (code >> 18);
    target[p++] = 0x80 | ((code >> 12) & 0x3f);
    target[p++] = 0x80 | ((code >> 6) & 0x3f);
    target[p++] = 0x80 | (code & 0x3f);
  }
  return p;
}

/** A new array with the UTF-8 form of `text`. */
export function encodeUtf8(text: string): Uint8Array {
  const units = text.length;
  if (units > SHORT_TEXT_UNITS) return encoder.encode(text);
  const bytes = new Uint8Array(units);
  for (let i = 0; i < units; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0x80) return encoder.encode(text);
    bytes[i] = unit;
  }
  return bytes;
}

/** The text of bytes[start, end); invalid sequences become U+FFFD. */
export function readUtf8(bytes: Uint8Array, start: number, end: number): string {
  if (end - start <= SHORT_TEXT_BYTES && asciiEnd(bytes, start, end) === end) {
    return readShortAscii(bytes, start, end);
  }
  return decoder.decode(bytes.subarray(start, end));
}

/** The text of bytes[start, end), which the caller knows to be ASCII. */
function readShortAscii(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  let p = start;
  for (; p + 8 <= end; p += 8) {
    text += String.fromCharCode(
      bytes[p]!,
      bytes[p + 1]!,
      bytes[p + 2]!,
      bytes[p + 3]!,
      bytes[p + 4]!,
      bytes[p + 5]!,
      bytes[p + 6]!,
      bytes[p + 7]!,
    );
  }
  for (; p + 4 <= end; p += 4) {
    text += String.fromCharCode(bytes[p]!, bytes[p + 1]!, bytes[p + 2]!, bytes[p + 3]!);
  }
  for (; p < end; p++) text += String.fromCharCode(bytes[p]!);
  return text;
}

/** Position of the first byte ≥ 0x80 in bytes[start, end), else `end`. */
function asciiEnd(bytes: Uint8Array, start: number, end: number): number {
  let p = start;
  while (p < end && bytes[p]! < 0x80) p++;
  return p;
}

/** True when bytes[start, end) is valid UTF-8. ASCII runs are checked a word at a time. */
export function isValidUtf8(bytes: Uint8Array, start: number, end: number): boolean {
  const words = end - start >= WORD_SCAN_BYTES ? wordView(bytes) : undefined;
  let p = start;
  while (p < end) {
    // A short run byte by byte; only behind it is a long one worth aligning for.
    const near = p + SHORT_RUN_BYTES;
    p = asciiEnd(bytes, p, words !== undefined && near < end ? near : end);
    if (p === near && words !== undefined) p = skipAsciiWords(bytes, words, p, end);
    while (p < end && bytes[p]! >= 0x80) {
      p = utf8SequenceEnd(bytes, p, end);
      if (p === -1) return false;
    }
  }
  return true;
}

/** Whole aligned 32-bit words of the memory behind `bytes`. */
function wordView(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, 0, (bytes.buffer.byteLength & ~3) >>> 2);
}

function skipAsciiWords(bytes: Uint8Array, words: Uint32Array, start: number, end: number): number {
  const base = bytes.byteOffset;
  let p = start;
  for (; ((base + p) & 3) !== 0; p++) {
    if (p >= end || bytes[p]! >= 0x80) return p;
  }
  let w = (base + p) / 4;
  const stop = w + Math.floor((end - p) / 16) * 4;
  while (w < stop) {
    const four = words[w]! | words[w + 1]! | words[w + 2]! | words[w + 3]!;
    if ((four & 0x80808080) !== 0) break;
    w += 4;
  }
  return w * 4 - base;
}

/**
 * The end of the multi-byte sequence that starts at `at` (a byte ≥ 0x80), or −1 when it is not valid
 * or runs past `end`.
 */
export function utf8SequenceEnd(bytes: Uint8Array, at: number, end: number): number {
  const lead = bytes[at]!;
  if (lead < 0xc2 || lead > 0xf4) return -1;
  const size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (at + size > end) return -1;
  const second = bytes[at + 1]!;
  let low = 0x80;
  let high = 0xbf;
  if (lead === 0xe0) low = 0xa0;
  else if (lead === 0xed) high = 0x9f;
  else if (lead === 0xf0) low = 0x90;
  else if (lead === 0xf4) high = 0x8f;
  if (second < low || second > high) return -1;
  for (let i = 2; i < size; i++) {
    if ((bytes[at + i]! & 0xc0) !== 0x80) return -1;
  }
  return at + size;
}
