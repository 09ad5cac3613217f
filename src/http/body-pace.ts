/**
 * Bodies that arrive too slowly end early: an upload holds its share of the admission budget from its
 * first header on, so one that stalls keeps others out. After a grace a body has to stay above a
 * straight line to its whole length at the request timeout, and above a least rate. One sweep a second
 * for all of them; the first one that finds none is the last.
 */

export interface PacedBody {
  readonly receivedBytes: number;
  /** -1 when it was not announced. */
  readonly announcedBytes: number;
  tooSlow(): void;
}

export interface PaceRules {
  /** 0 turns the whole rule off. */
  readonly minBytesPerSecond: number;
  readonly graceMs: number;
  /** When the whole request has to be there. */
  readonly deadlineMs: number;
  readonly sweepMs: number;
}

export const SWEEP_MS = 1_000;
export const GRACE_MS = 10_000;
/** A sweep that comes later than this says that the process stood still, not the clients. */
const LATE_SWEEPS = 2;

export class BodyPace {
  private readonly bodies = new Map<PacedBody, number>();
  private timer: NodeJS.Timeout | null = null;
  private lastSweep = 0;

  constructor(
    private readonly rules: PaceRules,
    /** Monotonic milliseconds. */
    private readonly now: () => number,
  ) {}

  get count(): number {
    return this.bodies.size;
  }

  begin(body: PacedBody): void {
    if (this.rules.minBytesPerSecond === 0) return;
    this.bodies.set(body, this.now());
    if (this.timer !== null) return;
    this.lastSweep = this.now();
    this.timer = setInterval(() => this.sweep(), this.rules.sweepMs);
    this.timer.unref();
  }

  end(body: PacedBody): void {
    this.bodies.delete(body);
  }

  private sweep(): void {
    const now = this.now();
    const stood = now - this.lastSweep;
    this.lastSweep = now;
    if (this.bodies.size === 0) this.rest();
    if (stood > LATE_SWEEPS * this.rules.sweepMs) this.forgive(stood);
    for (const [body, startedAt] of this.bodies) {
      if (body.receivedBytes >= this.requiredBytes(body.announcedBytes, now - startedAt)) continue;
      this.end(body);
      body.tooSlow();
    }
  }

  private rest(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  /** What came while the process stood still waits in the kernel. */
  private forgive(stood: number): void {
    for (const [body, startedAt] of this.bodies) this.bodies.set(body, startedAt + stood);
  }

  private requiredBytes(announced: number, elapsedMs: number): number {
    const { minBytesPerSecond, graceMs, deadlineMs } = this.rules;
    const countedMs = elapsedMs - graceMs;
    if (countedMs <= 0) return 0;
    const least = (minBytesPerSecond * countedMs) / 1000;
    return Math.max(least, (announced * countedMs) / Math.max(1, deadlineMs - graceMs));
  }
}
