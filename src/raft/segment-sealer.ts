/**
 * Seals an active log segment that has held entries for too long (cluster.md §2.2), so that a log which
 * fills slowly can be purged and collected too. A segment's age counts from when this process first saw
 * it with entries; one without any is left as it is.
 */
import type { GroupLog } from './group/ports.js';

/** Looks per age; at least one a minute, at most ten a second. */
const LOOKS = 10;
const MIN_LOOK_MS = 100;
const MAX_LOOK_MS = 60_000;

export interface SealerParts {
  readonly wal: {
    segments(): readonly {
      readonly sequence: number;
      readonly first: number;
      readonly last: number;
    }[];
    roll(): Promise<void>;
  };
  readonly log: GroupLog;
  readonly nowMs: () => number;
}

export class SegmentSealer {
  private timer: NodeJS.Timeout | null = null;
  private sealing: Promise<void> | null = null;
  private sequence = -1;
  private sinceMs = 0;

  constructor(
    private readonly parts: SealerParts,
    private readonly ageMs: number,
  ) {}

  start(): void {
    const everyMs = Math.min(Math.max(this.ageMs / LOOKS, MIN_LOOK_MS), MAX_LOOK_MS);
    this.timer = setInterval(() => this.look(), everyMs);
    this.timer.unref();
  }

  /** Resolves when no segment is being sealed any more. */
  async stop(): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    await this.sealing;
  }

  look(): void {
    const { wal, log, nowMs } = this.parts;
    const active = wal.segments().at(-1);
    if (this.sealing !== null || active === undefined || active.last < active.first) return;
    if (active.sequence !== this.sequence) {
      this.sequence = active.sequence;
      this.sinceMs = nowMs();
    }
    if (nowMs() - this.sinceMs < this.ageMs) return;
    this.sealing = wal.roll().then(
      () => {
        this.sealing = null;
      },
      (error: unknown) => {
        this.sealing = null;
        log.warn('the log segment was not sealed', { error: String(error) });
      },
    );
  }
}
