/**
 * How late timers fired, by tenant: at most MAX_TENANTS summaries, the tenants that fired first. What a
 * further tenant fires is counted, so that one can see that it is left out.
 */
import { QuantileSummary } from '../common/quantile-summary.js';
import { uuidText } from '../common/uuid-v7.js';

/** Each costs 3 KB and seven samples of a scrape. */
export const MAX_TENANTS = 100;

export class FireLag {
  private readonly tenants = new Map<string, QuantileSummary>();
  /** Timers of tenants that have no summary. */
  dropped = 0;

  /** Of timers that fired together. */
  observe(tenant: Uint8Array, lagsMicros: readonly number[], nowMs: number): void {
    const summary = this.summaryOf(uuidText(tenant));
    if (summary === null) this.dropped += lagsMicros.length;
    else for (const micros of lagsMicros) summary.observe(micros, nowMs);
  }

  /** By the tenant's UUID. */
  get summaries(): ReadonlyMap<string, QuantileSummary> {
    return this.tenants;
  }

  get count(): number {
    return [...this.tenants.values()].reduce((sum, { count }) => sum + count, 0);
  }

  /** Null once there are enough. */
  private summaryOf(name: string): QuantileSummary | null {
    const known = this.tenants.get(name);
    if (known !== undefined) return known;
    if (this.tenants.size >= MAX_TENANTS) return null;
    const summary = new QuantileSummary();
    this.tenants.set(name, summary);
    return summary;
  }
}
