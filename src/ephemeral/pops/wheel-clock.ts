/** One timer of the event loop for any number of deadlines of one kind; it sleeps while there are none. */
import { TimingWheel, type WheelEntry } from '../../common/timing-wheel.js';

const TICK_MS = 4;
/** A wake that far away is looked at again on the way. */
const MAX_SLEEP_MS = 60_000;

export class WheelClock<E extends WheelEntry<E>> {
  private readonly wheel: TimingWheel<E>;
  private timer: NodeJS.Timeout | null = null;
  private wakesAtMs = Infinity;

  constructor(
    private readonly nowMs: () => number,
    private readonly due: (entry: E) => void,
  ) {
    this.wheel = new TimingWheel<E>(TICK_MS, nowMs());
  }

  get size(): number {
    return this.wheel.size;
  }

  schedule(entry: E, dueMs: number): void {
    if (this.wheel.size === 0) this.wheel.advance(this.nowMs(), this.due);
    this.wheel.schedule(entry, dueMs);
    if (dueMs < this.wakesAtMs) this.arm();
  }

  cancel(entry: E): void {
    this.wheel.cancel(entry);
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.wakesAtMs = Infinity;
  }

  /** Hands out what is due; the timer calls it, tests do too. */
  advance(): void {
    this.wakesAtMs = Infinity;
    this.wheel.advance(this.nowMs(), this.due);
    this.arm();
  }

  private arm(): void {
    const wakeMs = this.wheel.nextWakeMs();
    if (wakeMs >= this.wakesAtMs) return;
    this.stop();
    if (wakeMs === Infinity) return;
    this.wakesAtMs = wakeMs;
    const sleepMs = Math.min(MAX_SLEEP_MS, Math.max(1, wakeMs - this.nowMs()));
    this.timer = setTimeout(() => this.advance(), sleepMs);
  }
}
