/**
 * How fields of the state plane are read from JSON (state.md §1.3, §2.2): a text may come as any JSON
 * value, a flag in several spellings.
 */

/** A string is itself, null is absent, any other JSON value is its JSON text. */
export function textOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const TRUE = new Set(['true', 't', 'yes', 'y', 'on', '1']);
const FALSE = new Set(['false', 'f', 'no', 'n', 'off', '0']);

/** Undefined when it is no flag; absent and null are false. */
export function flagOf(value: unknown): boolean | undefined {
  const text = textOf(value)?.toLowerCase() ?? 'false';
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

/** One class repeated: a repeated group would overflow the stack on a text of many megabytes. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Bytes of standard base64 with padding; undefined when it is none. */
export function bytesOfBase64(text: string): Buffer | undefined {
  return text.length % 4 === 0 && BASE64.test(text) ? Buffer.from(text, 'base64') : undefined;
}
