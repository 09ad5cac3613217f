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

  observe(tenant: Uint8Array, micros: number, nowMs: number): void {
    const name = uuidText(tenant);
    let summary = this.tenants.get(name);
    if (summary === undefined) {
      if (this.tenants.size >= MAX_TENANTS) {
        this.dropped += 1;
        return;
      }
      summary = new QuantileSummary();
      this.tenants.set(name, summary);
    }
    summary.observe(micros, nowMs);
  }

  /** By the tenant's UUID. */
  get summaries(): ReadonlyMap<string, QuantileSummary> {
    return this.tenants;
  }

  get count(): number {
    return [...this.tenants.values()].reduce((sum, { count }) => sum + count, 0);
  }
}
