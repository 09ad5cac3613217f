/**
 * Applies committed entries one after another: prefetch what the entry can read, wait only when
 * something is to load, execute. One loop, nobody else touches the machine between the two steps. It
 * pauses while the overlay is full and gives the event loop back every few milliseconds. An exception
 * is final: the node stops at that entry.
 */
import type { LogIndex } from '../../common/ids.js';
import type { StageFigures } from '../../common/stage-figures.js';
import type { Outcome } from '../../machine/commands/catalogue.js';
import type { MachineEvents, OutcomeSink, PrefetchSink } from '../../machine/machine.js';
import type { IdIndexDriver, LogEntry, MachineParts, RowsPort } from './ports.js';

const SLICE_MS = 8;
/** So many changed rows are encoded at once: neither this nor a checkpoint holds the loop for long. */
const FLUSH_EVERY_ROWS = 4096;

export interface ApplyHooks {
  /** After each entry: state, outcomes and events of it are out. */
  applied(entry: LogEntry): void;
  /** Resolves when the overlay has room again; undefined when it has. */
  room(): Promise<void> | undefined;
  failed(entry: LogEntry, error: unknown): void;
}

export interface ApplyParts {
  readonly parts: MachineParts;
  readonly rows: RowsPort;
  readonly ids: IdIndexDriver;
  readonly outcomes: OutcomeSink;
  readonly events: MachineEvents;
  readonly nowMs: () => number;
  /** Counts and times; absent: nobody does. */
  readonly stages?: StageFigures;
  /** For tests: throws at an entry that is to fail. */
  readonly refuse?: (entry: LogEntry) => void;
}

export class ApplyLoop implements PrefetchSink, OutcomeSink {
  private queue: LogEntry[] = [];
  private head = 0;
  private running = false;
  private stopped = false;
  private keys: Uint8Array[] = [];
  private idle: (() => void)[] = [];
  /** When the entry under way was taken up, read and judged. */
  private takenMs = 0;
  private readMs = 0;
  private judgedMs = 0;
  private prefetchMs = 0;

  constructor(
    private readonly deps: ApplyParts,
    private readonly hooks: ApplyHooks,
  ) {}

  get backlog(): number {
    return this.queue.length - this.head;
  }

  get appliedIndex(): LogIndex {
    return this.deps.parts.machine.appliedIndex;
  }

  push(entries: readonly LogEntry[]): void {
    for (const entry of entries) this.queue.push(entry);
    this.received();
    if (this.running || this.stopped) return;
    this.running = true;
    void this.run();
  }

  /** Resolves when nothing is left to apply, or the loop stopped. */
  drained(): Promise<void> {
    if (!this.running) return Promise.resolve();
    return new Promise((resolve) => {
      this.idle.push(resolve);
    });
  }

  /** Applies nothing after the entry under way. */
  stop(): void {
    this.stopped = true;
  }

  row(key: Uint8Array): void {
    this.keys.push(key);
  }

  id(partition: Parameters<PrefetchSink['id']>[0], bytes: Uint8Array, at: number): void {
    this.deps.ids.announce(partition, bytes, at);
  }

  private async run(): Promise<void> {
    let sliceStart = this.deps.nowMs();
    while (!this.stopped) {
      const room = this.hooks.room();
      if (room !== undefined) await room;
      const entry = this.queue[this.head];
      if (entry === undefined || this.stopped) break;
      try {
        this.takenMs = this.deps.nowMs();
        this.deps.refuse?.(entry);
        const loading = this.prefetch(entry);
        if (loading !== undefined) await loading;
        this.execute(entry);
      } catch (error) {
        this.stopped = true;
        this.hooks.failed(entry, error);
        break;
      }
      this.advance();
      this.hooks.applied(entry);
      const now = this.deps.nowMs();
      this.timed(now);
      if (now - sliceStart < SLICE_MS) continue;
      this.deps.stages?.took('applySlice', now - sliceStart, now);
      await nextTurn();
      sliceStart = this.deps.nowMs();
    }
    const endMs = this.deps.nowMs();
    this.deps.stages?.took('applySlice', endMs - sliceStart, endMs);
    this.running = false;
    const idle = this.idle;
    this.idle = [];
    for (const resolve of idle) resolve();
  }

  /** Part of OutcomeSink: counts what came out of the entry, and passes it on. */
  outcome(session: number, sequence: number, outcome: Outcome): void {
    if (typeof outcome.kind === 'number') this.deps.stages?.kinds.judged(outcome.kind);
    this.deps.outcomes.outcome(session, sequence, outcome);
  }

  private prefetch(entry: LogEntry): Promise<unknown> | undefined {
    const { parts, rows, ids, stages, nowMs } = this.deps;
    ids.beginEntry();
    if (this.keys.length > 0) this.keys = [];
    parts.machine.prefetch(entry, this);
    const rowsLoading = this.keys.length > 0 ? rows.load(this.keys) : undefined;
    const idsLoading = ids.load();
    if (stages !== undefined) {
      const inMemory = rowsLoading === undefined && idsLoading === undefined;
      if (inMemory) stages.rowsInMemory += 1;
      else stages.rowsLoaded += 1;
      this.prefetchMs = nowMs() - this.takenMs;
    }
    if (rowsLoading === undefined) return idsLoading;
    return idsLoading === undefined ? rowsLoading : Promise.all([rowsLoading, idsLoading]);
  }

  private execute(entry: LogEntry): void {
    const { parts, rows, events, stages, nowMs } = this.deps;
    const { totals } = parts.tables;
    const messages = totals.messagesAppended;
    this.readMs = nowMs();
    parts.machine.execute(entry, this, events);
    this.judgedMs = nowMs();
    rows.clearReadSet();
    if (parts.machine.dirtyRows >= FLUSH_EVERY_ROWS) parts.machine.flushDirtyRows();
    if (stages === undefined) return;
    const appended = totals.messagesAppended - messages;
    stages.appliedEntries += 1;
    stages.appliedMessages += appended;
    stages.size('drainMessages', appended, this.judgedMs);
    stages.kinds.entryDone(this.judgedMs - this.readMs, this.judgedMs);
  }

  private received(): void {
    const { stages, nowMs } = this.deps;
    if (stages === undefined) return;
    stages.applyReceives += 1;
    stages.size('applyDepth', this.backlog, nowMs());
  }

  /** Judging is synchronous, so its time is processor time; reading what it needs may wait. */
  private timed(now: number): void {
    const { stages } = this.deps;
    if (stages === undefined) return;
    const judging = this.judgedMs - this.readMs;
    stages.took('planWall', judging, now);
    stages.took('planCpu', judging, now);
    stages.took('planWholeWall', this.judgedMs - this.takenMs, now);
    stages.took('planWholeCpu', judging + this.prefetchMs, now);
    stages.took('applyEntry', now - this.takenMs, now);
    stages.took('applyOther', now - this.takenMs - judging, now);
  }

  private advance(): void {
    this.head += 1;
    if (this.head === this.queue.length) {
      this.queue = [];
      this.head = 0;
    } else if (this.head >= 256) {
      this.queue = this.queue.slice(this.head);
      this.head = 0;
    }
  }
}

/** Gives the event loop one round: sockets, timers, the answers of what was just applied. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
