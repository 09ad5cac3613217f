/**
 * Count and sum of samples since the start, and quantiles over the last one to two windows from
 * logarithmic buckets (each 9 % wide). For positive numbers of any unit; observing costs a logarithm and
 * two additions, memory is fixed. Time comes with the call.
 */
const BUCKETS_PER_DOUBLING = 8;
const DOUBLINGS = 40;
const BUCKETS = BUCKETS_PER_DOUBLING * DOUBLINGS;
const WINDOW_MS = 60_000;

export class QuantileSummary {
  count = 0;
  sum = 0;
  private current = new Uint32Array(BUCKETS);
  private previous = new Uint32Array(BUCKETS);
  private windowStartMs = -Infinity;

  /** Samples below 1 share the lowest bucket: choose the unit accordingly (µs for durations). */
  observe(value: number, nowMs: number): void {
    this.turn(nowMs);
    this.count += 1;
    this.sum += value;
    const bucket = value < 1 ? 0 : Math.floor(Math.log2(value) * BUCKETS_PER_DOUBLING);
    const last = Math.min(bucket, BUCKETS - 1);
    this.current[last] = (this.current[last] ?? 0) + 1;
  }

  /** Upper end of the bucket the quantile falls into; NaN when the windows hold nothing. */
  quantile(q: number, nowMs: number): number {
    this.turn(nowMs);
    const { current, previous } = this;
    let total = 0;
    for (let i = 0; i < BUCKETS; i += 1) total += (current[i] ?? 0) + (previous[i] ?? 0);
    if (total === 0) return Number.NaN;
    let rank = Math.max(Math.ceil(q * total), 1);
    for (let i = 0; i < BUCKETS; i += 1) {
      rank -= (current[i] ?? 0) + (previous[i] ?? 0);
      if (rank <= 0) return 2 ** ((i + 1) / BUCKETS_PER_DOUBLING);
    }
    return Number.NaN;
  }

  private turn(nowMs: number): void {
    const age = nowMs - this.windowStartMs;
    if (age < WINDOW_MS) return;
    const old = this.previous;
    old.fill(0);
    if (age < 2 * WINDOW_MS) this.previous = this.current;
    else this.current.fill(0);
    this.current = this.previous === old ? this.current : old;
    this.windowStartMs = nowMs;
  }
}
