/**
 * The frames of this node, oldest first, for at least a week. Their number of queue rows is bounded:
 * above the bound the oldest minutes are folded into quarters of an hour, then hours; only then are the
 * oldest dropped. Few queues keep every minute of the week, many queues keep the hours.
 */
import { foldFrame, emptyFrame, type Frame } from './frame.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const KEEP_MS = 8 * 24 * HOUR_MS;
const WIDTHS_MS = [15 * MINUTE_MS, HOUR_MS];
/** About 250 bytes each. */
export const MAX_QUEUE_ROWS = 150_000;

export interface FrameWindow {
  /** Inclusive. */
  readonly fromMs: number;
  readonly toMs: number;
}

export class FrameStore {
  private frames: Frame[] = [];
  private rows = 0;

  constructor(private readonly maxRows = MAX_QUEUE_ROWS) {}

  /** Queue rows held. */
  get rowCount(): number {
    return this.rows;
  }

  /** Frames come in order of time; an older one is put in its place. */
  add(frame: Frame): void {
    let at = this.frames.length;
    while (at > 0 && (this.frames[at - 1]?.startMs ?? 0) > frame.startMs) at -= 1;
    this.frames.splice(at, 0, frame);
    this.rows += cost(frame);
    const newest = this.frames.at(-1)?.startMs ?? 0;
    while ((this.frames[0]?.startMs ?? newest) < newest - KEEP_MS) this.dropOldest();
    while (this.rows > this.maxRows && this.frames.length > 1) {
      if (!WIDTHS_MS.some((widthMs) => this.widen(widthMs))) this.dropOldest();
    }
  }

  /** Frames that start inside the window, both ends included. */
  between({ fromMs, toMs }: FrameWindow): readonly Frame[] {
    return this.frames.filter(({ startMs }) => startMs >= fromMs && startMs <= toMs);
  }

  /** The newest frame. */
  get last(): Frame | undefined {
    return this.frames.at(-1);
  }

  all(): readonly Frame[] {
    return this.frames;
  }

  private dropOldest(): void {
    const oldest = this.frames.shift();
    if (oldest !== undefined) this.rows -= cost(oldest);
  }

  /** Folds the oldest run of narrower frames of one stretch; false when there is none. */
  private widen(widthMs: number): boolean {
    const stretch = (frame: Frame): number => Math.floor(frame.startMs / widthMs);
    const newest = this.frames.at(-1);
    for (let at = 0; at < this.frames.length - 1; at += 1) {
      const first = this.frames[at] as Frame;
      const next = this.frames[at + 1] as Frame;
      if (stretch(first) !== stretch(next)) continue;
      if (newest !== undefined && stretch(newest) === stretch(first)) return false;
      this.foldRun(at, (frame) => stretch(frame) === stretch(first));
      return true;
    }
    return false;
  }

  private foldRun(from: number, belongs: (frame: Frame) => boolean): void {
    let end = from;
    while (end < this.frames.length && belongs(this.frames[end] as Frame)) end += 1;
    const run = this.frames.slice(from, end);
    const wide = emptyFrame(run[0]?.startMs ?? 0);
    for (const frame of run) {
      foldFrame(wide, frame);
      this.rows -= cost(frame);
    }
    this.frames.splice(from, run.length, wide);
    this.rows += cost(wide);
  }
}

/** The process row counts too, so that a bound holds whatever comes in. */
const cost = (frame: Frame): number => frame.queues.size + 1;
