/**
 * Makes the work of Readys durable, strictly in order. One write is in flight; Readys that come
 * meanwhile are merged into the next one (group commit). Messages that must not leave before their
 * Ready is durable wait here. A failed write is final.
 */
import type { Entry, HardState, Message, PersistAck } from '../../core/index.js';

export interface PersistJob {
  readonly entries: readonly Entry[];
  readonly hardState: HardState | undefined;
  /** Sent once this job is durable, in this order. */
  readonly messages: readonly Message[];
  readonly ack: PersistAck | undefined;
  /** Its term or vote held messages back (rule D1). */
  readonly releasesHold: boolean;
}

export interface PersistPort {
  /** One atomic, synced write; entries may overwrite a suffix of the log. */
  append(entries: readonly Entry[], hardState: HardState | undefined): Promise<void>;
  /** The job is durable: send its messages, acknowledge it to the core. */
  persisted(job: PersistJob): void;
  /** After the jobs of one write: the core may have new work. */
  settled(): void;
  failed(error: unknown): void;
}

export class PersistQueue {
  private waiting: PersistJob[] = [];
  private writing = false;
  private stopped = false;
  private idle: (() => void)[] = [];

  constructor(private readonly port: PersistPort) {}

  /** Jobs that are not durable yet. */
  get isEmpty(): boolean {
    return !this.writing && this.waiting.length === 0;
  }

  /** Jobs whose entries the log was not even given yet. */
  get isWaiting(): boolean {
    return this.waiting.length > 0;
  }

  push(job: PersistJob): void {
    if (this.stopped) return;
    this.waiting.push(job);
    if (!this.writing) this.write();
  }

  /** Takes no more jobs; resolves when no write is in flight. */
  stop(): Promise<void> {
    this.stopped = true;
    this.waiting = [];
    if (!this.writing) return Promise.resolve();
    return new Promise((resolve) => {
      this.idle.push(resolve);
    });
  }

  private write(): void {
    const jobs = takeMergeable(this.waiting);
    this.waiting = this.waiting.slice(jobs.length);
    const entries = jobs.flatMap((job) => job.entries);
    const hardState = jobs.reduce<HardState | undefined>(
      (newest, job) => job.hardState ?? newest,
      undefined,
    );
    this.writing = true;
    const durable =
      entries.length === 0 && hardState === undefined
        ? Promise.resolve()
        : this.port.append(entries, hardState);
    durable.then(
      () => this.written(jobs),
      (error: unknown) => this.broken(error),
    );
  }

  private written(jobs: readonly PersistJob[]): void {
    this.writing = false;
    if (!this.stopped) {
      // The next write starts before the core digests this one: disk and processor side by side.
      if (this.waiting.length > 0) this.write();
      for (const job of jobs) this.port.persisted(job);
      this.port.settled();
    }
    if (!this.writing) this.wakeIdle();
  }

  private broken(error: unknown): void {
    this.writing = false;
    this.stopped = true;
    this.waiting = [];
    this.wakeIdle();
    this.port.failed(error);
  }

  private wakeIdle(): void {
    const idle = this.idle;
    this.idle = [];
    for (const resolve of idle) resolve();
  }
}

/** Jobs whose entries continue each other; one that truncates starts a write of its own. */
function takeMergeable(jobs: readonly PersistJob[]): PersistJob[] {
  const taken: PersistJob[] = [];
  let last = -1;
  for (const job of jobs) {
    const first = job.entries[0];
    if (first !== undefined && last >= 0 && first.index !== last + 1) break;
    taken.push(job);
    last = job.entries[job.entries.length - 1]?.index ?? last;
  }
  return taken;
}
