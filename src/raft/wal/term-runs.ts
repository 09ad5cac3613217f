/**
 * Terms of the whole raft log in memory: one pair per change of term, so a log of any length costs a
 * few numbers. Covers the base (the position before the first entry) up to the last index.
 */

export class TermRuns {
  /** Ascending; run i covers [starts[i], starts[i + 1]) and the last one up to `last`. */
  private readonly starts: number[] = [];
  private readonly terms: number[] = [];
  private lastIndex: number;

  constructor(baseIndex: number, baseTerm: number) {
    this.starts.push(baseIndex);
    this.terms.push(baseTerm);
    this.lastIndex = baseIndex;
  }

  get baseIndex(): number {
    return this.starts[0] as number;
  }

  get baseTerm(): number {
    return this.terms[0] as number;
  }

  get last(): number {
    return this.lastIndex;
  }

  get lastTerm(): number {
    return this.terms[this.terms.length - 1] as number;
  }

  push(index: number, term: number): void {
    if (term !== this.lastTerm) {
      this.starts.push(index);
      this.terms.push(term);
    }
    this.lastIndex = index;
  }

  /** The term of an index in [base, last], else undefined. */
  termOf(index: number): number | undefined {
    if (index < this.baseIndex || index > this.lastIndex) return undefined;
    return this.terms[this.runOf(index)];
  }

  truncateTo(last: number): void {
    if (last >= this.lastIndex) return;
    const run = this.runOf(last);
    this.starts.length = run + 1;
    this.terms.length = run + 1;
    this.lastIndex = last;
  }

  /** Makes `index` the base; its term stays known. */
  dropBelow(index: number): void {
    if (index <= this.baseIndex) return;
    const run = this.runOf(index);
    this.starts.splice(0, run);
    this.terms.splice(0, run);
    this.starts[0] = index;
  }

  /** Runs of [first, last] as (start index, term) pairs. */
  slice(first: number, last: number): { start: number; term: number }[] {
    const out: { start: number; term: number }[] = [];
    if (last < first) return out;
    for (let run = this.runOf(first); run < this.starts.length; run += 1) {
      const start = Math.max(first, this.starts[run] as number);
      if (start > last) break;
      out.push({ start, term: this.terms[run] as number });
    }
    return out;
  }

  private runOf(index: number): number {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.starts[middle] as number) <= index) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
