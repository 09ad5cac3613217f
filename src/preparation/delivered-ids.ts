/**
 * What this node recently handed out: per (lease, partition) the transactionId hashes with their
 * offsets, so that an ack that comes back here resolves without reading rows. Bounded in bytes, oldest
 * leases go first; a miss only costs a read.
 */
const HASH_BYTES = 16;
/** From this many ids on, an index is built for out-of-order acks. */
const INDEX_FROM = 32;

/** One delivered range: offset `first + i` has hash i and base `bases[i]`. */
export interface DeliveredRange {
  readonly first: number;
  readonly hashes: Uint8Array;
  readonly bases: Float64Array;
  index: Map<number, number> | null;
  /** Where the next id is expected: acks mostly come in delivery order. */
  cursor: number;
  /** Some id may stand twice (deduplication off, or its window over); null = not looked yet. */
  repeats: boolean | null;
}

export class DeliveredIds {
  private readonly byLease = new Map<string, DeliveredRange>();
  private bytes = 0;

  constructor(private readonly maxBytes: number) {}

  remember(
    leaseKey: string,
    partitionId: number,
    range: Omit<DeliveredRange, 'index' | 'cursor' | 'repeats'>,
  ): void {
    const key = rangeKey(leaseKey, partitionId);
    this.forget(key);
    this.byLease.set(key, { ...range, index: null, cursor: 0, repeats: null });
    this.bytes += sizeOf(range);
    for (const oldest of this.byLease.keys()) {
      if (this.bytes <= this.maxBytes) break;
      this.forget(oldest);
    }
  }

  find(leaseKey: string, partitionId: number): DeliveredRange | undefined {
    return this.byLease.get(rangeKey(leaseKey, partitionId));
  }

  drop(leaseKey: string, partitionId: number): void {
    this.forget(rangeKey(leaseKey, partitionId));
  }

  private forget(key: string): void {
    const range = this.byLease.get(key);
    if (range === undefined) return;
    this.byLease.delete(key);
    this.bytes -= sizeOf(range);
  }
}

/** Index of the hash `hashes[at … at+16)` in the range, or -1. */
export function indexInRange(range: DeliveredRange, hashes: Uint8Array, at: number): number {
  const count = range.bases.length;
  if (range.cursor < count && sameHash(range, range.cursor, { hashes, at })) {
    range.cursor += 1;
    return range.cursor - 1;
  }
  if (count < INDEX_FROM) {
    for (let i = 0; i < count; i += 1)
      if (sameHash(range, i, { hashes, at })) return settle(range, i);
    return -1;
  }
  range.index ??= buildIndex(range);
  const candidate = range.index.get(fragment(hashes, at));
  if (candidate === undefined) return -1;
  for (let i = candidate; i < count; i += 1) {
    if (sameHash(range, i, { hashes, at })) return settle(range, i);
  }
  return -1;
}

/** True when an id may stand in the range more than once. */
export function mayRepeat(range: DeliveredRange): boolean {
  range.repeats ??= hasRepeats(range);
  return range.repeats;
}

function hasRepeats({ hashes, bases }: DeliveredRange): boolean {
  if (bases.length < 2) return false;
  const seen = new Set<number>();
  for (let i = 0; i < bases.length; i += 1) seen.add(fragment(hashes, i * HASH_BYTES));
  return seen.size < bases.length;
}

/** The first index from `from` on, or the last of all, at which the hash stands; -1 when nowhere. */
export function repeatedIndex(
  range: DeliveredRange,
  hash: { readonly hashes: Uint8Array; readonly at: number },
  which: { readonly firstFrom: number } | 'last',
): number {
  let found = -1;
  for (let i = 0; i < range.bases.length; i += 1) {
    if (!sameHash(range, i, hash)) continue;
    if (which !== 'last' && i >= which.firstFrom) return i;
    found = i;
  }
  return found;
}

function settle(range: DeliveredRange, index: number): number {
  range.cursor = index + 1;
  return index;
}

/** First position of each 32-bit fragment; equal fragments are walked from there. */
function buildIndex(range: DeliveredRange): Map<number, number> {
  const index = new Map<number, number>();
  for (let i = range.bases.length - 1; i >= 0; i -= 1) {
    index.set(fragment(range.hashes, i * HASH_BYTES), i);
  }
  return index;
}

function fragment(hashes: Uint8Array, at: number): number {
  return (
    ((hashes[at] ?? 0) |
      ((hashes[at + 1] ?? 0) << 8) |
      ((hashes[at + 2] ?? 0) << 16) |
      ((hashes[at + 3] ?? 0) << 24)) >>>
    0
  );
}

function sameHash(
  range: DeliveredRange,
  index: number,
  other: { readonly hashes: Uint8Array; readonly at: number },
): boolean {
  const start = index * HASH_BYTES;
  for (let k = 0; k < HASH_BYTES; k += 1) {
    if (range.hashes[start + k] !== other.hashes[other.at + k]) return false;
  }
  return true;
}

function rangeKey(leaseKey: string, partitionId: number): string {
  return `${leaseKey}/${partitionId}`;
}

function sizeOf(range: Pick<DeliveredRange, 'hashes' | 'bases'>): number {
  return range.hashes.byteLength + range.bases.byteLength + 200;
}
