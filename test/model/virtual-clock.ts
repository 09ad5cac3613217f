/**
 * Time of a test process that only the test moves: `Date.now` and `performance.now` are replaced, so
 * leases, delays and windows pass when the harness says so and no deadline ever does by itself. Timers
 * of Node run on real time as before.
 */
import { performance } from 'node:perf_hooks';

const START_MS = Date.UTC(2026, 0, 5, 12);

export class VirtualClock {
  private ms = START_MS;
  private readonly realDate = Date.now;
  private readonly realPerformance = performance.now;

  /** Starts at a time of its own, the same in every run. */
  install(): void {
    Date.now = () => this.ms;
    performance.now = () => this.ms - START_MS + 1000;
  }

  uninstall(): void {
    Date.now = this.realDate;
    performance.now = this.realPerformance;
  }

  get nowMs(): number {
    return this.ms;
  }

  advance(ms: number): void {
    this.ms += ms;
  }

  /** Real time, for what the test prints. */
  realMs(): number {
    return this.realPerformance.call(performance);
  }
}
