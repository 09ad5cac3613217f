/**
 * Deadlines of everything that waits in a group: one timer of the event loop for all of them, on the
 * timing wheel of `common`. An entry fires at the first 16 ms tick at or after its deadline, never
 * early. The timer runs only while something waits.
 */
import { TimingWheel, type WheelEntry } from '../../common/timing-wheel.js';

const TICK_MS = 16;

/** Something with a deadline; the links are the wheel's business. */
export interface Deadlined extends WheelEntry<Deadlined> {
  /** Monotonic ms. */
  readonly deadlineMs: number;
  expire(): void;
}

export class DeadlineWheel {
  private readonly wheel: TimingWheel<Deadlined>;
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly nowMs: () => number) {
    this.wheel = new TimingWheel<Deadlined>(TICK_MS, nowMs());
  }

  get size(): number {
    return this.wheel.size;
  }

  add(entry: Deadlined): void {
    if (this.wheel.size === 0) this.wheel.advance(this.nowMs(), expire);
    this.wheel.schedule(entry, entry.deadlineMs);
    this.timer ??= setInterval(() => this.advance(), TICK_MS);
  }

  remove(entry: Deadlined): void {
    this.wheel.cancel(entry);
  }

  /** Fires what is due; the timer calls it, tests with a manual clock do too. */
  advance(): void {
    this.wheel.advance(this.nowMs(), expire);
    if (this.wheel.size === 0) this.stop();
  }

  /** Stops the timer; entries stay where they are. */
  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }
}

function expire(entry: Deadlined): void {
  entry.expire();
}
