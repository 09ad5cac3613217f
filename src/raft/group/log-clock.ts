/**
 * The log clock: the only source of stamps. At start it takes the larger of the wall clock and the
 * last stamp in the log, then it runs on the monotonic clock, so wall jumps never move a lease.
 * `stamp` never gives out the same or an earlier reading twice.
 */
import type { Clock } from '../../common/clock.js';
import { micros, type Micros } from '../../common/ids.js';

export class LogClock {
  private readonly offset: number;
  private last: number;

  constructor(
    private readonly clock: Clock,
    lastStamp: number,
  ) {
    const start = Math.max(Math.trunc(clock.nowMs() * 1000), lastStamp);
    this.offset = start - clock.monotonicMicros();
    this.last = lastStamp;
  }

  /** What the next entry would be stamped with at least. */
  now(): Micros {
    const reading = Math.trunc(this.clock.monotonicMicros() + this.offset);
    return micros(reading > this.last ? reading : this.last + 1);
  }

  /** Gives out the stamp of the next entry: max(clock, last + 1). */
  stamp(): Micros {
    const now = this.now();
    this.last = now;
    return now;
  }
}
