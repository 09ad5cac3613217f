/**
 * Applies committed entries one after another: prefetch what the entry can read, wait only when
 * something is to load, execute. One loop, nobody else touches the machine between the two steps. It
 * pauses while the overlay is full and gives the event loop back every few milliseconds. An exception
 * is final: the node stops at that entry.
 */
import type { LogIndex } from '../../common/ids.js';
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
}

export class ApplyLoop implements PrefetchSink {
  private queue: LogEntry[] = [];
  private head = 0;
  private running = false;
  private stopped = false;
  private keys: Uint8Array[] = [];
  private idle: (() => void)[] = [];

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
      if (this.deps.nowMs() - sliceStart < SLICE_MS) continue;
      await nextTurn();
      sliceStart = this.deps.nowMs();
    }
    this.running = false;
    const idle = this.idle;
    this.idle = [];
    for (const resolve of idle) resolve();
  }

  private prefetch(entry: LogEntry): Promise<unknown> | undefined {
    const { parts, rows, ids } = this.deps;
    ids.beginEntry();
    if (this.keys.length > 0) this.keys = [];
    parts.machine.prefetch(entry, this);
    const rowsLoading = this.keys.length > 0 ? rows.load(this.keys) : undefined;
    const idsLoading = ids.load();
    if (rowsLoading === undefined) return idsLoading;
    return idsLoading === undefined ? rowsLoading : Promise.all([rowsLoading, idsLoading]);
  }

  private execute(entry: LogEntry): void {
    const { parts, rows, outcomes, events } = this.deps;
    parts.machine.execute(entry, outcomes, events);
    rows.clearReadSet();
    if (parts.machine.dirtyRows >= FLUSH_EVERY_ROWS) parts.machine.flushDirtyRows();
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
