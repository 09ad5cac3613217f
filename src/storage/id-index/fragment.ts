/**
 * The 64 bits by which the index knows an id: part of its 16-byte hash, mixed with the partition so
 * that one table serves all partitions. `hi` places it in a table (its top bits are the home slot, so
 * tables of every size keep the same order), `lo` gives the 16-bit tag kept in memory.
 */
export interface Fragment {
  hi: number;
  lo: number;
}

export function fragmentInto(
  target: Fragment,
  partition: number,
  bytes: Uint8Array,
  at: number,
): void {
  const low = partition | 0;
  const high = Math.floor(partition / 0x1_0000_0000) | 0;
  const mixed = Math.imul(low ^ (low >>> 15) ^ Math.imul(high, 0x27d4eb2f), 0x85ebca6b);
  target.lo = (word(bytes, at) ^ Math.imul(low, 0x9e3779b1) ^ high) >>> 0;
  target.hi = (word(bytes, at + 4) ^ mixed ^ (mixed >>> 13)) >>> 0;
}

/** Tag of a fragment: never 0, which marks an empty slot. */
export function tagOf(lo: number): number {
  const tag = lo & 0xffff;
  return tag === 0 ? 1 : tag;
}

/** Home slot of a fragment in a table of 2^bits slots. */
export function homeOf(hi: number, bits: number): number {
  return hi >>> (32 - bits);
}

function word(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) |
    ((bytes[at + 1] as number) << 8) |
    ((bytes[at + 2] as number) << 16) |
    ((bytes[at + 3] as number) << 24)
  );
}
