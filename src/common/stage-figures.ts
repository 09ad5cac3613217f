/**
 * Times and sizes of the stages a command passes, of one raft group: plain counters and summaries that
 * the metrics read. Stages are observed per cycle, entry, write or checkpoint, never per message; what is
 * counted per command is one addition in a typed array.
 */
import { QuantileSummary } from './quantile-summary.js';

/** Durations are observed in µs, everything else in units. */
export const STAGES = [
  'queueWait',
  'drainCommands',
  'drainMessages',
  'drainToPropose',
  'planDeferred',
  'arrivalToProposed',
  'writerPickup',
  'proposedToCommitted',
  'proposeRoundtrip',
  'planWall',
  'planWholeWall',
  'planCpu',
  'planWholeCpu',
  'applyDepth',
  'applyEntry',
  'applyOther',
  'applySlice',
  'durablePoint',
  'checkpointRows',
  'fileSync',
  'directorySync',
] as const;
export type Stage = (typeof STAGES)[number];

const KINDS = 256;

/** Counts by command kind, and how long such commands took to be judged. */
export class KindFigures {
  readonly commands = new Float64Array(KINDS);
  readonly slow = new Float64Array(KINDS);
  /** µs of one command: the entry's time divided evenly over its commands. */
  readonly micros: (QuantileSummary | undefined)[] = [];
  /** Kinds of the entry under way, with their commands. */
  private readonly inEntry = new Float64Array(KINDS);
  private readonly seen: number[] = [];

  constructor(private readonly slowMs: number) {}

  /** A command of the entry under way was judged. */
  judged(kind: number): void {
    if (this.inEntry[kind] === 0) this.seen.push(kind);
    this.inEntry[kind] = (this.inEntry[kind] ?? 0) + 1;
  }

  /** The entry is judged; a slow one counts once, under the kind most of its commands have. */
  entryDone(tookMs: number, nowMs: number): void {
    let total = 0;
    let most = 0;
    for (const kind of this.seen) {
      const count = this.inEntry[kind] ?? 0;
      total += count;
      if (count > (this.inEntry[most] ?? 0)) most = kind;
    }
    for (const kind of this.seen) {
      this.commands[kind] = (this.commands[kind] ?? 0) + (this.inEntry[kind] ?? 0);
      (this.micros[kind] ??= new QuantileSummary()).observe((tookMs * 1000) / total, nowMs);
    }
    if (total > 0 && tookMs >= this.slowMs) this.slow[most] = (this.slow[most] ?? 0) + 1;
    for (const kind of this.seen) this.inEntry[kind] = 0;
    this.seen.length = 0;
  }
}

export class StageFigures {
  readonly kinds: KindFigures;
  /** Batches of committed entries that apply was given. */
  applyReceives = 0;
  appliedEntries = 0;
  appliedMessages = 0;
  /** Entries whose rows were all in memory, and those that had to read the store first. */
  rowsInMemory = 0;
  rowsLoaded = 0;
  /** Forwarded commands this node took in as leader, and those it turned away. */
  forwardedAdmitted = 0;
  forwardedRefused = 0;
  /** Commands this node sent to the leader. */
  forwardsSent = 0;
  private readonly stages = new Map<Stage, QuantileSummary>();

  constructor(slowMs = Infinity) {
    this.kinds = new KindFigures(slowMs);
    for (const stage of STAGES) this.stages.set(stage, new QuantileSummary());
  }

  of(stage: Stage): QuantileSummary {
    const summary = this.stages.get(stage);
    if (summary === undefined) throw new Error(`no such stage: ${stage}`);
    return summary;
  }

  /** A duration in ms, kept in µs. */
  took(stage: Stage, ms: number, nowMs: number): void {
    this.of(stage).observe(ms * 1000, nowMs);
  }

  size(stage: Stage, value: number, nowMs: number): void {
    this.of(stage).observe(value, nowMs);
  }
}
