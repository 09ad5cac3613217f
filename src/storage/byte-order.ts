/**
 * Byte-wise key order, the order of LevelDB's default comparator, and key ranges in that order.
 */

/** Rows with from <= key < to; a missing bound is open. */
export interface KeyRange {
  from?: Uint8Array;
  to?: Uint8Array;
}

/** Negative, zero or positive, like memcmp with the shorter key first on a tie. */
export function compareKeys(a: Uint8Array, b: Uint8Array): number {
  const length = a.length < b.length ? a.length : b.length;
  for (let i = 0; i < length; i++) {
    const difference = a[i]! - b[i]!;
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** All keys that start with `prefix`. */
export function prefixRange(prefix: Uint8Array): KeyRange {
  const to = successor(prefix);
  return to === undefined ? { from: prefix } : { from: prefix, to };
}

/** The smallest key above every key with this prefix; undefined when there is none (all 0xff). */
function successor(prefix: Uint8Array): Uint8Array | undefined {
  for (let last = prefix.length - 1; last >= 0; last--) {
    if (prefix[last] === 255) continue;
    const next = Uint8Array.from(prefix.subarray(0, last + 1));
    next[last] = prefix[last]! + 1;
    return next;
  }
  return undefined;
}
