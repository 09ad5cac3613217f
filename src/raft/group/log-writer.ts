/**
 * From queued commands to durable entries. One write is in flight; what arrives meanwhile gathers and
 * goes into the next one (group commit). An idle writer waits for the end of the loop turn, so that
 * everything submitted in it shares one entry. A failed write is final: nothing is written after it.
 */
import type { LogIndex, Term } from '../../common/ids.js';
import { logIndex } from '../../common/ids.js';
import type { Call } from './call.js';
import { buildEntry, cutEntry } from './entry-payload.js';
import type { CommandFlow } from './command-flow.js';
import type { LogClock } from './log-clock.js';
import type { LogEntry, WalPort } from './ports.js';

/** At most this much goes into one write, so that the first of it is answered soon. */
const WRITE_MAX_BYTES = 8 * 1024 * 1024;
const WRITE_MAX_COMMANDS = 16_384;

export interface LogWriterHooks {
  /** Patches session, sequence and floor. */
  stampCall(call: Call): void;
  /** The entries are durable; on a single voter that commits them. */
  durable(entries: readonly LogEntry[]): void;
  /** Commands up to this running number now stand in entries up to `index`. */
  packed(calls: number, index: LogIndex): void;
  failed(error: unknown): void;
  /** Times the way of the commands; absent: nobody does. */
  readonly flow?: CommandFlow;
}

export class LogWriter {
  private queue: Call[] = [];
  private writing = false;
  private scheduled = false;
  private stopped = false;
  private idle: (() => void) | null = null;
  private last: LogIndex;
  private enqueued = 0;
  private packedCalls = 0;

  constructor(
    private readonly wal: WalPort,
    private readonly clock: LogClock,
    private readonly format: { readonly term: Term; readonly machineVersion: () => number },
    private readonly hooks: LogWriterHooks,
  ) {
    this.last = wal.lastIndex;
  }

  /** Index of the newest entry handed to the log, durable or not. */
  get lastIndex(): LogIndex {
    return this.last;
  }

  /** Running number of the newest queued command and whether all of them stand in entries. */
  get position(): { readonly enqueued: number; readonly allPacked: boolean } {
    return { enqueued: this.enqueued, allPacked: this.packedCalls === this.enqueued };
  }

  enqueue(call: Call): void {
    if (this.queue.length === 0) this.hooks.flow?.arrived();
    this.queue.push(call);
    this.enqueued += 1;
    if (this.writing || this.scheduled || this.stopped) return;
    this.scheduled = true;
    setImmediate(() => this.turn());
  }

  /** Writes the empty entry that begins the leadership of this term. */
  writeEmpty(): void {
    this.write([this.entryOf([])]);
  }

  /** Takes no more commands; resolves when no write is in flight. */
  stop(): Promise<void> {
    this.stopped = true;
    this.queue = [];
    if (!this.writing) return Promise.resolve();
    return new Promise((resolve) => {
      this.idle = resolve;
    });
  }

  private turn(): void {
    this.scheduled = false;
    if (this.writing || this.stopped || this.queue.length === 0) return;
    const { flow } = this.hooks;
    flow?.draining();
    const entries: LogEntry[] = [];
    let taken = 0;
    let bytes = 0;
    while (taken < this.queue.length && bytes < WRITE_MAX_BYTES && taken < WRITE_MAX_COMMANDS) {
      const count = cutEntry(this.queue, taken);
      const commands = this.stampCommands(taken, count);
      taken += count;
      if (commands.length === 0) continue;
      const entry = this.entryOf(commands);
      bytes += entry.sizeBytes;
      entries.push(entry);
    }
    this.queue = taken === this.queue.length ? [] : this.queue.slice(taken);
    this.packedCalls += taken;
    this.hooks.packed(this.packedCalls, this.last);
    if (entries.length === 0) return;
    flow?.proposed(this.last, taken, this.queue.length);
    this.write(entries);
  }

  /** Calls that were answered while they waited (deadline, client gone) never enter the log. */
  private stampCommands(from: number, count: number): Uint8Array[] {
    const commands: Uint8Array[] = [];
    for (let i = from; i < from + count; i += 1) {
      const call = this.queue[i];
      if (call === undefined || call.settled) continue;
      this.hooks.stampCall(call);
      commands.push(call.bytes);
    }
    return commands;
  }

  private entryOf(commands: readonly Uint8Array[]): LogEntry {
    this.last = logIndex(this.last + 1);
    const { term, machineVersion } = this.format;
    const now = this.clock.stamp();
    return buildEntry({ index: this.last, term, now, machineVersion: machineVersion() }, commands);
  }

  private write(entries: readonly LogEntry[]): void {
    this.writing = true;
    this.hooks.flow?.pickedUp(this.last);
    this.wal.append(entries).then(
      () => this.written(entries),
      (error: unknown) => this.broken(error),
    );
  }

  private written(entries: readonly LogEntry[]): void {
    this.writing = false;
    // The next write starts before this one is applied: disk and processor work side by side.
    this.turn();
    this.hooks.durable(entries);
    if (!this.writing) this.idle?.();
  }

  private broken(error: unknown): void {
    this.writing = false;
    this.stopped = true;
    this.queue = [];
    this.idle?.();
    this.hooks.failed(error);
  }
}
