/**
 * From the bytes between a JSON string's quotes to text. The bytes were checked by the scanner before.
 * Strings without a backslash are their own UTF-8; only those with escapes are unescaped, either to a
 * string or into bytes.
 */

import { readUtf8, writeCodePoint } from '../utf8.js';
import { BACKSLASH } from './json-syntax.js';

/** Escaped byte after a backslash → the byte it means; `u` is handled apart. */
const MEANING = new Uint8Array(128);
for (const [code, meaning] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t']) {
  MEANING[(code ?? '').charCodeAt(0)] = (meaning ?? '').charCodeAt(0);
}

function hexDigit(byte: number): number {
  return byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57;
}

/** The UTF-16 unit of the escape `\u` and four hex digits whose backslash is at `at`. */
function unitAt(bytes: Uint8Array, at: number): number {
  return (
    (hexDigit(bytes[at + 2]!) << 12) |
    (hexDigit(bytes[at + 3]!) << 8) |
    (hexDigit(bytes[at + 4]!) << 4) |
    hexDigit(bytes[at + 5]!)
  );
}

/** True when bytes[start, end) contains an escape. */
export function hasEscape(bytes: Uint8Array, start: number, end: number): boolean {
  for (let p = start; p < end; p++) if (bytes[p] === BACKSLASH) return true;
  return false;
}

/** The text of the string content bytes[start, end), escapes resolved, lone surrogates kept. */
export function decodeString(bytes: Uint8Array, start: number, end: number): string {
  let text = '';
  let plain = start;
  for (let p = start; p < end;) {
    if (bytes[p] !== BACKSLASH) {
      p += 1;
      continue;
    }
    text += readUtf8(bytes, plain, p);
    const code = bytes[p + 1]!;
    const isUnit = code === 0x75;
    text += String.fromCharCode(isUnit ? unitAt(bytes, p) : MEANING[code]!);
    p += isUnit ? 6 : 2;
    plain = p;
  }
  return text + readUtf8(bytes, plain, end);
}

/**
 * Writes the string content bytes[start, end) with its escapes resolved as UTF-8 into target at `at`
 * (room for end − start bytes is enough) and returns the position after it. −1 when it holds a lone
 * surrogate: that is valid JSON but no Unicode text, so it can be no name and no id.
 */
// eslint-disable-next-line @typescript-eslint/max-params -- a range to a position, no object per string
export function unescapeInto(
  bytes: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  at: number,
): number {
  let to = at;
  for (let p = start; p < end;) {
    const byte = bytes[p]!;
    if (byte !== BACKSLASH) {
      target[to++] = byte;
      p += 1;
      continue;
    }
    const code = bytes[p + 1]!;
    if (code !== 0x75) {
      target[to++] = MEANING[code]!;
      p += 2;
      continue;
    }
    let point = unitAt(bytes, p);
    p += 6;
    if ((point & 0xf800) === 0xd800) {
      const isPair =
        point < 0xdc00 && p + 6 <= end && bytes[p] === BACKSLASH && bytes[p + 1] === 0x75;
      const low = isPair ? unitAt(bytes, p) : 0;
      if ((low & 0xfc00) !== 0xdc00) return -1;
      point = 0x10000 + ((point & 0x3ff) << 10) + (low & 0x3ff);
      p += 6;
    }
    to = writeCodePoint(point, target, to);
  }
  return to;
}
