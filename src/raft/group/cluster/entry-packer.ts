/**
 * The leader's end of the command path: gathers commands of this node and forwarded ones, packs those
 * of one loop turn into entries and proposes them. At most `maxInFlight` entries are proposed and not
 * committed; meanwhile commands gather, which makes entries larger under load. Forwarded commands carry
 * their own numbers already.
 */
import { logIndex, type LogIndex, type Term } from '../../../common/ids.js';
import type { ProposeResult } from '../../core/index.js';
import type { Call } from '../call.js';
import type { CommandFlow } from '../command-flow.js';
import { buildEntry, cutEntry } from '../entry-payload.js';
import type { LogClock } from '../log-clock.js';

/** Commands waiting to be packed; beyond it forwarded ones are refused, own ones wait in the intake. */
export const MAX_QUEUED_COMMANDS = 262_144;
/** Bytes of forwarded commands waiting to be packed. */
export const MAX_QUEUED_BYTES = 256 * 1024 * 1024;

interface Queued {
  readonly bytes: Uint8Array;
  /** Null for a forwarded command. */
  readonly call: Call | null;
}

export interface EntryPackerPort {
  readonly maxInFlight: number;
  /** No majority was heard for long: new entries wait outside the raft layer, in order. */
  isQuorumSilent(): boolean;
  stampCall(call: Call): void;
  propose(data: Uint8Array): ProposeResult;
  /** Holds the leader role, though it may not serve yet. */
  leads(): boolean;
  machineVersion(): number;
  term(): Term;
  /** Times the way of the commands; absent: nobody does. */
  readonly flow?: CommandFlow;
}

export class EntryPacker {
  private queue: Queued[] = [];
  private clock: LogClock | null = null;
  private scheduled = false;
  private lastProposed = 0;
  private committed = 0;
  /** Bytes of forwarded commands in the queue. */
  private foreignBytes = 0;
  proposals = 0;

  constructor(private readonly port: EntryPackerPort) {}

  get waiting(): number {
    return this.queue.length;
  }

  /**
   * A leader that does not serve yet keeps what others send it meanwhile: refused, they would ask again
   * only after a pause, and a change of leader would last as much longer.
   */
  get isOpen(): boolean {
    return this.clock !== null || this.port.leads();
  }

  /** This node leads and has applied an entry of its term: stamps may be given out. */
  open(clock: LogClock, lastIndex: LogIndex): void {
    this.clock = clock;
    this.lastProposed = lastIndex;
    this.committed = lastIndex;
    this.schedule();
  }

  /** Leadership is lost: what was not proposed is somebody else's now. */
  close(): void {
    this.clock = null;
    this.port.flow?.clear();
    this.queue = [];
    this.foreignBytes = 0;
  }

  /** False when this node cannot take it. */
  add(bytes: Uint8Array, call: Call | null): boolean {
    if (call === null ? !this.isOpen : this.clock === null) return false;
    if (call === null && !this.hasRoom(bytes.length)) return false;
    if (call === null) this.foreignBytes += bytes.length;
    if (this.queue.length === 0) this.port.flow?.arrived();
    this.queue.push({ bytes, call });
    this.schedule();
    return true;
  }

  commitMoved(index: LogIndex): void {
    this.committed = index;
    this.port.flow?.committed(index);
    if (this.queue.length > 0) this.schedule();
  }

  /** Called a few times a second: what a refusal or a silent quorum held back is tried again. */
  tick(): void {
    if (this.queue.length > 0) this.schedule();
  }

  /** One command larger than the bound is let in alone. */
  private hasRoom(sizeBytes: number): boolean {
    if (this.queue.length >= MAX_QUEUED_COMMANDS) return false;
    return this.foreignBytes === 0 || this.foreignBytes + sizeBytes <= MAX_QUEUED_BYTES;
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => this.turn());
  }

  private turn(): void {
    this.scheduled = false;
    if (this.clock === null || this.queue.length === 0 || this.port.isQuorumSilent()) return;
    this.port.flow?.draining();
    let taken = 0;
    while (this.clock !== null && taken < this.queue.length) {
      if (this.lastProposed - this.committed >= this.port.maxInFlight) break;
      const count = cutEntry(this.queue, taken);
      const commands = this.stamp(taken, count);
      if (commands.length > 0 && !this.propose(this.clock, commands)) break;
      for (let i = taken; i < taken + count; i += 1) {
        const queued = this.queue[i];
        if (queued?.call === null) this.foreignBytes -= queued.bytes.length;
      }
      taken += count;
    }
    if (taken === 0 || this.clock === null) return;
    this.queue = this.queue.slice(taken);
    this.port.flow?.proposed(this.lastProposed, taken, this.queue.length);
  }

  private propose(clock: LogClock, commands: readonly Uint8Array[]): boolean {
    const entry = buildEntry(
      {
        index: logIndex(this.lastProposed + 1),
        term: this.port.term(),
        now: clock.stamp(),
        machineVersion: this.port.machineVersion(),
      },
      commands,
    );
    const [only] = entry.parts;
    const data = entry.parts.length === 1 && only !== undefined ? only : Buffer.concat(entry.parts);
    const result = this.port.propose(data);
    if (result.outcome !== 'appended') return false;
    this.lastProposed = result.index;
    this.proposals += commands.length;
    return true;
  }

  /** Calls that were answered while they waited never enter the log. */
  private stamp(from: number, count: number): Uint8Array[] {
    const commands: Uint8Array[] = [];
    for (let i = from; i < from + count; i += 1) {
      const queued = this.queue[i];
      if (queued === undefined) continue;
      if (queued.call?.settled === true) continue;
      if (queued.call !== null) this.port.stampCall(queued.call);
      commands.push(queued.call?.bytes ?? queued.bytes);
    }
    return commands;
  }
}
