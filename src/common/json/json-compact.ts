/**
 * JSON without the whitespace between its tokens. Strings, numbers and the order of members stay byte
 * for byte. The input was checked by a scanner before.
 */
import { BACKSLASH, QUOTE } from './json-syntax.js';

/** The value bytes[start, end) compact, as a copy. */
export function compactJson(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const compact = new Uint8Array(end - start);
  let to = 0;
  for (let p = start; p < end; p++) {
    const byte = bytes[p]!;
    if (byte === QUOTE) {
      const after = stringEnd(bytes, p + 1, end);
      compact.set(bytes.subarray(p, after), to);
      to += after - p;
      p = after - 1;
    } else if (byte > 0x20) {
      compact[to++] = byte;
    }
  }
  return to === compact.length ? compact : compact.slice(0, to);
}

/** Position after the closing quote of a string whose content starts at `start`. */
function stringEnd(bytes: Uint8Array, start: number, end: number): number {
  for (let p = start; p < end; p++) {
    if (bytes[p] === BACKSLASH) p += 1;
    else if (bytes[p] === QUOTE) return p + 1;
  }
  return end;
}
