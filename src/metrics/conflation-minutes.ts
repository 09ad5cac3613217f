/**
 * Messages that last-value delivery passed over, by queue, in buckets of METRICS_FLUSH_MS: what the
 * metrics show is the last full bucket as a rate per minute. At most MAX_QUEUES queues per bucket.
 */
import type { GrantOutcome } from '../machine/commands/catalogue.js';

const MAX_QUEUES = 10_000;
const MINUTE_MS = 60_000;

type Counts = Map<string, number>;

export class ConflationMinutes {
  private current: Counts = new Map();
  private last: Counts = new Map();
  private bucketStartMs: number;

  constructor(
    private readonly bucketMs: number,
    private readonly nowMs: () => number,
  ) {
    this.bucketStartMs = nowMs();
  }

  /** A grant was applied in this group. */
  granted(group: number, grant: GrantOutcome): void {
    for (const { conflated, queueId, firstOffset, lastOffset } of grant.ranges) {
      if (!conflated || lastOffset === firstOffset) continue;
      this.turn();
      const key = keyOf(group, queueId);
      const known = this.current.get(key);
      if (known === undefined && this.current.size >= MAX_QUEUES) continue;
      this.current.set(key, (known ?? 0) + lastOffset - firstOffset);
    }
  }

  perMinute(group: number, queueId: number): number {
    this.turn();
    return ((this.last.get(keyOf(group, queueId)) ?? 0) * MINUTE_MS) / this.bucketMs;
  }

  private turn(): void {
    const age = this.nowMs() - this.bucketStartMs;
    if (age < this.bucketMs) return;
    this.last = age < 2 * this.bucketMs ? this.current : new Map();
    this.current = new Map();
    this.bucketStartMs += Math.floor(age / this.bucketMs) * this.bucketMs;
  }
}

const keyOf = (group: number, queueId: number): string => `${group}/${queueId}`;
