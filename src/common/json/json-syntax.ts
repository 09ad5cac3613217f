/**
 * The words the JSON scanners share: byte codes, kinds of value, and failures. A scan function returns
 * the position after what it read, or a failure as ONE negative number (code and byte position), so
 * that nothing is allocated or thrown while bodies are scanned.
 */

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;

/** Arrays and objects inside one scanned value may nest this deep. */
export const MAX_DEPTH = 512;

const TEXTS = [
  '',
  'unexpected end of the body',
  'unexpected byte',
  'not a valid number',
  'not a valid escape',
  'control character in a string',
  'invalid UTF-8',
  `nested deeper than ${MAX_DEPTH}`,
  'byte order mark',
  'unexpected byte after the value',
] as const;

export const UNEXPECTED_END = 1;
export const UNEXPECTED_BYTE = 2;
export const BAD_NUMBER = 3;
export const BAD_ESCAPE = 4;
export const CONTROL_IN_STRING = 5;
export const INVALID_UTF8 = 6;
export const TOO_DEEP = 7;
export const BYTE_ORDER_MARK = 8;
export const TRAILING_BYTE = 9;

const CODES = 16;

/** A failure as a negative number. */
export function failureAt(position: number, code: number): number {
  return -(position * CODES + code);
}

export function failureCode(failure: number): number {
  return -failure % CODES;
}

/** Byte position in the scanned bytes. */
export function failurePosition(failure: number): number {
  return Math.floor(-failure / CODES);
}

/** What a client is told, e.g. `invalid JSON at byte 17: unexpected byte`. */
export function failureText(failure: number): string {
  const reason = TEXTS[failureCode(failure)] ?? 'not valid';
  return `invalid JSON at byte ${failurePosition(failure)}: ${reason}`;
}

/** The kind of a value, told by its first byte. */
export const KIND_NONE = 0;
export const KIND_OBJECT = 1;
export const KIND_ARRAY = 2;
export const KIND_STRING = 3;
export const KIND_NUMBER = 4;
export const KIND_BOOLEAN = 5;
export const KIND_NULL = 6;

const KIND_OF_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => {
  if (byte === OPEN_BRACE) return KIND_OBJECT;
  if (byte === OPEN_BRACKET) return KIND_ARRAY;
  if (byte === QUOTE) return KIND_STRING;
  if (byte === 0x74 || byte === 0x66) return KIND_BOOLEAN;
  if (byte === 0x6e) return KIND_NULL;
  return byte === MINUS || (byte >= 0x30 && byte <= 0x39) ? KIND_NUMBER : KIND_NONE;
});

/** The kind of the value that starts with `byte`; KIND_NONE when none does. */
export function kindOfByte(byte: number): number {
  return KIND_OF_BYTE[byte] ?? KIND_NONE;
}
