/**
 * Numbers that node-local housekeeping remembers of partitions, in columns by slot. A record counts only
 * for the partition and the mark (start of its log) it was noted for: slots are reused.
 */
const INITIAL_SLOTS = 1024;

export class SlotColumns {
  private ids = new Float64Array(INITIAL_SLOTS);
  private marks = new Float64Array(INITIAL_SLOTS);
  private values = new Float64Array(INITIAL_SLOTS);

  /** Undefined when nothing was noted for this partition and mark. */
  get(slot: number, id: number, mark: number): number | undefined {
    if (this.ids[slot] !== id || this.marks[slot] !== mark) return undefined;
    return this.values[slot];
  }

  set(
    slot: number,
    record: { readonly id: number; readonly mark: number; readonly value: number },
  ): void {
    if (slot >= this.ids.length) this.grow(Math.max(slot + 1, this.ids.length * 2));
    this.ids[slot] = record.id;
    this.marks[slot] = record.mark;
    this.values[slot] = record.value;
  }

  private grow(size: number): void {
    this.ids = grown(this.ids, size);
    this.marks = grown(this.marks, size);
    this.values = grown(this.values, size);
  }
}

function grown(from: Float64Array, size: number): Float64Array<ArrayBuffer> {
  const to = new Float64Array(size);
  to.set(from);
  return to;
}
