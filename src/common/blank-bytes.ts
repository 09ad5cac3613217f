/**
 * Stretches of zeros in bytes that are to be written with holes: a page the file system need not store.
 * Looked for in whole steps of a page from the start, so that a look costs no more than a comparison.
 */
const PAGE_BYTES = 4096;

export interface Stretch {
  readonly start: number;
  readonly end: number;
  readonly isBlank: boolean;
}

/** The bytes in stretches that alternate between blank and not. */
export function stretchesOf(bytes: Uint8Array): Stretch[] {
  const stretches: Stretch[] = [];
  let start = 0;
  let isBlank = false;
  for (let at = 0; at < bytes.length; at += PAGE_BYTES) {
    const blank = isBlankPage(bytes, at);
    if (blank === isBlank) continue;
    if (at > start) stretches.push({ start, end: at, isBlank });
    start = at;
    isBlank = blank;
  }
  if (bytes.length > start) stretches.push({ start, end: bytes.length, isBlank });
  return stretches;
}

export function blankBytesOf(bytes: Uint8Array): number {
  let blank = 0;
  for (let at = 0; at < bytes.length; at += PAGE_BYTES) {
    if (isBlankPage(bytes, at)) blank += PAGE_BYTES;
  }
  return blank;
}

/** A copy in which everything outside the ranges is zero. */
export function blankedOutside(
  bytes: Uint8Array,
  ranges: readonly { readonly start: number; readonly length: number }[],
): Uint8Array {
  const blanked = new Uint8Array(bytes.length);
  for (const { start, length } of ranges) {
    blanked.set(bytes.subarray(start, start + length), start);
  }
  return blanked;
}

/** Whether an entry was blanked: whole ones begin with a version byte, and no range holds that. */
export function isBlanked(bytes: Uint8Array): boolean {
  return bytes[0] === 0;
}

/** A whole page of zeros; the rest at the end is none. */
function isBlankPage(bytes: Uint8Array, at: number): boolean {
  const end = at + PAGE_BYTES;
  if (end > bytes.length || bytes[at] !== 0 || bytes[end - 1] !== 0) return false;
  for (let i = at; i < end; i += 1) if (bytes[i] !== 0) return false;
  return true;
}
