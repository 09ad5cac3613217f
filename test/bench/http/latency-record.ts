/** Latencies in logarithmic buckets (32 per doubling, about 2 % wide), from 1 µs to hours. */

const PER_DOUBLING = 32;
const BUCKETS = 40 * PER_DOUBLING;

export interface LatencySummary {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
}

export class LatencyRecord {
  private readonly counts = new Float64Array(BUCKETS);
  private total = 0;
  private max = 0;

  add(ms: number): void {
    const micros = ms * 1000;
    const bucket = micros <= 1 ? 0 : Math.floor(Math.log2(micros) * PER_DOUBLING);
    const at = Math.min(bucket, BUCKETS - 1);
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.total += 1;
    if (ms > this.max) this.max = ms;
  }

  clear(): void {
    this.counts.fill(0);
    this.total = 0;
    this.max = 0;
  }

  quantile(share: number): number {
    const wanted = this.total * share;
    let seen = 0;
    for (let i = 0; i < BUCKETS; i += 1) {
      seen += this.counts[i] ?? 0;
      if (seen >= wanted && seen > 0) {
        return Math.min(2 ** ((i + 1) / PER_DOUBLING) / 1000, this.max);
      }
    }
    return this.max;
  }

  summary(): LatencySummary {
    return {
      p50Ms: this.quantile(0.5),
      p99Ms: this.quantile(0.99),
      p999Ms: this.quantile(0.999),
      maxMs: this.max,
    };
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}
