/**
 * Moves the state to the store: encode what is still dirty, freeze the overlay between two entries,
 * write one synced batch, then let the log forget what it no longer needs. One at a time. The cut is
 * consistent because encoding and freezing happen in one synchronous step.
 */
import type { LogIndex } from '../../common/ids.js';
import { LOG_KEEP_BYTES, LOG_KEEP_ENTRIES } from './log-kept.js';
import type { StageFigures } from '../../common/stage-figures.js';
import type { CheckpointMeta, IdIndexDriver, MachineParts, RowsPort, StorePort } from './ports.js';

const POLL_MS = 20;
const PURGE_EVERY_MS = 500;
const EXPIRE_EVERY_MS = 1000;

export interface CheckpointerParts {
  readonly parts: MachineParts;
  readonly rows: RowsPort;
  readonly store: StorePort;
  readonly ids: IdIndexDriver;
  readonly nowMs: () => number;
  /** Times checkpoints; absent: nobody does. */
  readonly stages?: StageFigures;
  /** Entries kept in the raft log behind the durable index. */
  readonly logKeepEntries?: number;
  /** An entry that is followed by so many bytes of the log. */
  indexBefore(bytes: number): number;
  purge(index: LogIndex): Promise<void>;
  failed(error: unknown): void;
}

export class Checkpointer {
  private timer: NodeJS.Timeout | null = null;
  private running: Promise<void> | null = null;
  private waiters: (() => void)[] = [];
  private stopped = false;
  private lastPurgeMs = 0;
  private lastExpiryMs = 0;
  /** Stamp and window of the last durable state: what lies beyond no replay can ask for. */
  private durable: { readonly stamp: number; readonly windowMicros: number } | null = null;

  constructor(private readonly deps: CheckpointerParts) {}

  start(): void {
    this.timer = setInterval(() => this.poll(), POLL_MS);
  }

  /** Writes a checkpoint when one is due; cheap, called after each entry too. */
  poll(): void {
    const { store, parts, nowMs } = this.deps;
    if (this.stopped || this.running !== null) return;
    const now = nowMs();
    if (store.due(now, parts.machine.appliedIndex)) this.begin(() => this.write(now));
    else if (now - this.lastPurgeMs >= PURGE_EVERY_MS) this.begin(() => this.purge(now));
    if (now - this.lastExpiryMs >= EXPIRE_EVERY_MS) {
      this.lastExpiryMs = now;
      const { durable } = this;
      if (durable !== null) this.deps.ids.expire(durable.stamp, durable.windowMicros);
    }
  }

  /** Undefined when the overlay has room, else resolves after the next checkpoint. */
  room(): Promise<void> | undefined {
    if (!this.deps.store.isFull || this.stopped) return undefined;
    const waiting = new Promise<void>((resolve) => {
      this.waiters.push(resolve);
    });
    if (this.running === null) this.beginWrite();
    return waiting;
  }

  /** The state is half an entry further: it must never become durable. */
  freeze(): void {
    this.stopped = true;
    this.wake();
  }

  /** No more periodic checkpoints; with `final` one last one when anything is not durable. */
  async stop(final: boolean): Promise<void> {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    if (this.running !== null) await this.running;
    const { parts, store } = this.deps;
    if (final && !this.stopped && parts.machine.appliedIndex > store.durableIndex) {
      this.beginWrite();
      if (this.running !== null) await this.running;
    }
    this.stopped = true;
    this.wake();
  }

  private beginWrite(): void {
    const now = this.deps.nowMs();
    this.begin(() => this.write(now));
  }

  private begin(work: () => Promise<void>): void {
    this.running = work().then(
      () => this.done(),
      (error: unknown) => {
        this.stopped = true;
        this.done();
        this.deps.failed(error);
      },
    );
  }

  private done(): void {
    this.running = null;
    this.wake();
  }

  private wake(): void {
    const waiters = this.waiters;
    this.waiters = [];
    for (const resolve of waiters) resolve();
  }

  private async write(now: number): Promise<void> {
    const { parts, store, ids, rows, stages, nowMs } = this.deps;
    const startMs = nowMs();
    parts.machine.flushDirtyRows();
    ids.journal(rows);
    const stamp = parts.machine.lastStamp();
    const windowMicros = parts.recognitionWindowMicros();
    await store.checkpoint(now, metaOf(parts));
    const endMs = nowMs();
    stages?.took('durablePoint', endMs - startMs, endMs);
    this.durable = { stamp, windowMicros };
  }

  /** Nobody needs what lies behind the durable index; some of it stays all the same. */
  private async purge(now: number): Promise<void> {
    this.lastPurgeMs = now;
    const { store, logKeepEntries } = this.deps;
    const byEntries = store.durableIndex - (logKeepEntries ?? LOG_KEEP_ENTRIES);
    const upTo = Math.max(byEntries, this.deps.indexBefore(LOG_KEEP_BYTES));
    if (upTo > 0) await this.deps.purge(Math.min(upTo, store.durableIndex) as LogIndex);
  }
}

function metaOf(parts: MachineParts): CheckpointMeta {
  const { machine } = parts;
  return {
    appliedIndex: machine.appliedIndex,
    appliedTerm: machine.appliedTerm,
    digest: machine.digest(),
    header: machine.encodeHeader(),
  };
}
