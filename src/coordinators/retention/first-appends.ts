/**
 * The first retained append of partitions, as far as the sweeper met it: its stamp and last offset. With
 * it a partition with nothing due costs a comparison per round and no row. Typed arrays indexed by slot;
 * a record counts only for the same partition id and start of the log.
 */
const INITIAL_SLOTS = 1024;

export interface FirstAppend {
  readonly createdAt: number;
  readonly lastOffset: number;
}

export class FirstAppends {
  private ids = new Float64Array(INITIAL_SLOTS);
  private starts = new Float64Array(INITIAL_SLOTS);
  private stamps = new Float64Array(INITIAL_SLOTS);
  private ends = new Float64Array(INITIAL_SLOTS);

  /** Stamp of the first append, undefined when it is not known. */
  createdAt(slot: number, id: number, logStart: number): number | undefined {
    return this.knows(slot, id, logStart) ? this.stamps[slot] : undefined;
  }

  /** Last offset of the first append, undefined when it is not known. */
  lastOffset(slot: number, id: number, logStart: number): number | undefined {
    return this.knows(slot, id, logStart) ? this.ends[slot] : undefined;
  }

  set(slot: number, id: number, logStart: number, first: FirstAppend): void {
    if (slot >= this.ids.length) this.grow(slot + 1);
    this.ids[slot] = id;
    this.starts[slot] = logStart;
    this.stamps[slot] = first.createdAt;
    this.ends[slot] = first.lastOffset;
  }

  clear(): void {
    this.ids = new Float64Array(INITIAL_SLOTS);
    this.starts = new Float64Array(INITIAL_SLOTS);
    this.stamps = new Float64Array(INITIAL_SLOTS);
    this.ends = new Float64Array(INITIAL_SLOTS);
  }

  private knows(slot: number, id: number, logStart: number): boolean {
    return this.ids[slot] === id && this.starts[slot] === logStart;
  }

  private grow(slots: number): void {
    const size = Math.max(slots, this.ids.length * 2);
    this.ids = grown(this.ids, size);
    this.starts = grown(this.starts, size);
    this.stamps = grown(this.stamps, size);
    this.ends = grown(this.ends, size);
  }
}

function grown(from: Float64Array, size: number): Float64Array<ArrayBuffer> {
  const to = new Float64Array(size);
  to.set(from);
  return to;
}
