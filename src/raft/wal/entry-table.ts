/**
 * Where the entries of one segment lie: record position and payload size per entry, in typed arrays
 * that grow by doubling. Dense (indexes follow each other) while a segment is written; a rewritten
 * retired segment may be sparse and then carries its indexes. Holds no object per entry.
 */

const INITIAL_SLOTS = 64;

export class EntryTable {
  private positions: Uint32Array;
  private sizes: Uint32Array;
  /** Distance from `first`, ascending; undefined while dense. */
  private readonly distances: Uint32Array | undefined;
  private used = 0;

  /** `first` is the index of slot 0 (also while the table is empty). */
  constructor(
    readonly first: number,
    columns?: { positions: Uint32Array; sizes: Uint32Array; distances?: Uint32Array },
  ) {
    this.positions = columns?.positions ?? new Uint32Array(INITIAL_SLOTS);
    this.sizes = columns?.sizes ?? new Uint32Array(INITIAL_SLOTS);
    this.distances = columns?.distances;
    this.used = columns ? columns.positions.length : 0;
  }

  get count(): number {
    return this.used;
  }

  /** Memory held, for bounded caches. */
  get heldBytes(): number {
    return this.positions.byteLength * (this.distances ? 3 : 2);
  }

  /** Appends the next index of a dense table. */
  push(position: number, payloadBytes: number): void {
    if (this.used === this.positions.length) this.grow();
    this.positions[this.used] = position;
    this.sizes[this.used] = payloadBytes;
    this.used += 1;
  }

  /** Forgets every entry above `last`. */
  truncateTo(last: number): void {
    this.used = Math.max(0, Math.min(this.used, last - this.first + 1));
  }

  /** Slot of an index, or -1. */
  slotOf(index: number): number {
    const distance = index - this.first;
    if (!this.distances) return distance >= 0 && distance < this.used ? distance : -1;
    let low = 0;
    let high = this.used - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = this.distances[middle] as number;
      if (found === distance) return middle;
      if (found < distance) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  positionAt(slot: number): number {
    return this.positions[slot] as number;
  }

  payloadBytesAt(slot: number): number {
    return this.sizes[slot] as number;
  }

  indexAt(slot: number): number {
    return this.first + (this.distances ? (this.distances[slot] as number) : slot);
  }

  get sparse(): boolean {
    return this.distances !== undefined;
  }

  private grow(): void {
    const slots = this.positions.length * 2;
    const positions = new Uint32Array(slots);
    const sizes = new Uint32Array(slots);
    positions.set(this.positions);
    sizes.set(this.sizes);
    this.positions = positions;
    this.sizes = sizes;
  }
}
