/**
 * The deterministic state machine of a group: tables, digest and clock behind the contract of
 * machine.ts. It dispatches the commands of an entry and delivers what they did when the whole entry
 * is applied. It never reads a clock, randomness, code defaults or the environment.
 */
import { BinaryReader, DecodeError } from '../common/binary-reader.js';
import { invariant, unreachable } from '../common/invariant.js';
import { logIndex, micros, term } from '../common/ids.js';
import type { LogIndex, Micros, Term } from '../common/ids.js';
import { applyAck, prefetchAck } from './apply/ack.js';
import { applyClaim, applyUnclaim } from './apply/claim.js';
import {
  applyDeleteCursors,
  applySeekCursors,
  applyUpdateSubscription,
} from './apply/consumer-groups.js';
import { ApplyContext } from './apply/context.js';
import {
  applyRemoveDeadLetters,
  applyReplay,
  prefetchRemoveDeadLetters,
  prefetchReplay,
} from './apply/dead-letter-replay.js';
import type { Replay } from './apply/dead-letter-replay.js';
import { applyDeclareEphemeral, applyDropEphemeral } from './apply/ephemeral.js';
import { applyPurgeTenant, applySetQuota, applySetSwitches } from './apply/controls.js';
import { applyBindEncryptionKey } from './apply/encryption.js';
import { applyExtend } from './apply/extend.js';
import { applyKvCall, applyKvSweep, prefetchKvCall, prefetchKvSweep } from './apply/kv.js';
import { PushApplier } from './apply/push.js';
import type { PushBody } from './apply/push.js';
import { applyConfigure, applyDeleteQueue } from './apply/queues.js';
import { applyRegister } from './apply/register.js';
import { applyDropPartitions, applySealCursors, applyTrimPartitions } from './apply/retention.js';
import { applyForgetNode, applyOpenSession } from './apply/sessions.js';
import { applyCycle, applyRegisterStream, prefetchCycle } from './apply/streams.js';
import type { Cycle } from './apply/streams.js';
import { applyFail, applyFire, prefetchFail, prefetchFire } from './apply/timer-fire.js';
import type { Fire } from './apply/timer-fire.js';
import { applyTimers, prefetchTimers } from './apply/timers.js';
import type { TimerOps } from './apply/timers.js';
import {
  applyAppendTrace,
  applySweepTraces,
  prefetchAppendTrace,
  prefetchSweepTraces,
} from './apply/traces.js';
import { TransactionApplier } from './apply/transaction.js';
import { decodeAck, decodeExtend } from './commands/ack.js';
import { COMMAND_HEADER, CommandKind } from './commands/catalogue.js';
import type { IgnoredOutcome, Outcome, RaiseVersionOutcome } from './commands/catalogue.js';
import { decodeClaim, decodeUnclaim } from './commands/claim.js';
import {
  decodeDeleteCursors,
  decodeSeekCursors,
  decodeUpdateSubscription,
} from './commands/consumer-groups.js';
import { decodePurgeTenant, decodeSetQuota, decodeSetSwitches } from './commands/controls.js';
import { decodeRemoveDeadLetters, decodeReplayDeadLetter } from './commands/dead-letters.js';
import { decodeDeclareEphemeral, decodeDropEphemeral } from './commands/ephemeral.js';
import { decodeBindEncryptionKey } from './commands/encryption.js';
import { EntryReader } from './commands/entry.js';
import { commandU48, TENANT_BYTES } from './commands/header.js';
import { decodeKvCall, decodeKvSweep } from './commands/kv.js';
import { decodeConfigure, decodeDeleteQueue } from './commands/queue.js';
import { decodeRegister } from './commands/register.js';
import {
  decodeDropPartitions,
  decodeSealCursors,
  decodeTrimPartitions,
} from './commands/retention.js';
import { decodeForgetNode, decodeOpenSession, decodeRaiseVersion } from './commands/session.js';
import { decodeRegisterStream, decodeStreamCycle } from './commands/streams.js';
import { decodeFailTimers, decodeFireTimers, decodeTimers } from './commands/timers.js';
import { decodeAppendTrace, decodeSweepTraces } from './commands/traces.js';
import { MACHINE_VERSION } from './machine.js';
import type {
  AppliedEntry,
  IdIndexPort,
  Machine,
  MachineEvents,
  OutcomeSink,
  PrefetchSink,
  RowPort,
} from './machine.js';
import { decodeHeader, encodeHeader } from './tables/header-row.js';
import type { TableCounters } from './tables/header-row.js';
import type { Tables } from './tables/tables.js';

/** The cluster version of a group that never raised it: the first release's. */
export const FIRST_CLUSTER_VERSION = 6;

/** What the machine needs of the tables beyond the contract the rest of the house reads. */
export interface StoredTables extends Tables {
  counters(): TableCounters;
  restoreCounters(counters: Readonly<TableCounters>): void;
  readonly dirtyRows: number;
  flushDirty(rows: RowPort): void;
  loadRow(key: Uint8Array, value: Uint8Array): void;
  finishLoad(): void;
  purgeStep(budget: number): boolean;
}

export interface MachinePorts {
  readonly tables: StoredTables;
  readonly rows: RowPort;
  readonly ids: IdIndexPort;
}

/**
 * A committed entry that this build cannot apply: a newer version, or bytes that passed no check
 * before the log. The node must stop; the state may hold half of the entry and is not used again.
 */
export class MachinePoisoned extends Error {
  override readonly name = 'MachinePoisoned';

  constructor(
    readonly index: number,
    readonly reason: string,
  ) {
    super(`entry ${index} cannot be applied: ${reason}`);
  }
}

export function createMachine(ports: MachinePorts): Machine {
  return new QueenMachine(ports);
}

type StateKind =
  | CommandKind.DeclareEphemeral
  | CommandKind.DropEphemeral
  | CommandKind.Timers
  | CommandKind.FireTimers
  | CommandKind.RegisterStream
  | CommandKind.StreamCycle
  | CommandKind.FailTimers
  | CommandKind.AppendTrace
  | CommandKind.SweepTraces
  | CommandKind.KvCall
  | CommandKind.KvSweep
  | CommandKind.SetSwitches
  | CommandKind.SetQuota
  | CommandKind.PurgeTenant;

class QueenMachine implements Machine {
  private readonly context: ApplyContext;
  private readonly push: PushApplier;
  private readonly transaction: TransactionApplier;
  private readonly entry = new EntryReader();
  private readonly reader = new BinaryReader();
  private version = FIRST_CLUSTER_VERSION;
  private index = 0;
  private termOfIndex = 0;
  private poisoned: MachinePoisoned | undefined;

  constructor(private readonly ports: MachinePorts) {
    this.context = new ApplyContext(ports);
    this.push = new PushApplier(this.context);
    this.transaction = new TransactionApplier(this.context, this.push);
  }

  get appliedIndex(): LogIndex {
    return logIndex(this.index);
  }

  get appliedTerm(): Term {
    return term(this.termOfIndex);
  }

  digest(): Uint8Array {
    return this.context.digest.toBytes();
  }

  clusterVersion(): number {
    return this.version;
  }

  lastStamp(): Micros {
    return micros(this.context.lastStamp);
  }

  prefetch(entry: AppliedEntry, sink: PrefetchSink): void {
    this.guarded(entry, () => {
      if (!this.openEntry(entry)) return;
      while (this.entry.next()) this.prefetchCommand(sink);
    });
  }

  execute(entry: AppliedEntry, outcomes: OutcomeSink, events: MachineEvents): void {
    invariant(entry.index > this.index, 'entries are applied in order', () => ({
      applied: this.index,
      given: entry.index,
    }));
    this.guarded(entry, () => {
      if (!this.openEntry(entry)) return;
      this.context.beginEntry(entry.index, entry.term, this.entry.now);
      while (this.entry.next()) this.applyCommand();
    });
    this.index = entry.index;
    this.termOfIndex = entry.term;
    this.context.effects.deliver(outcomes, events);
  }

  get dirtyRows(): number {
    return this.ports.tables.dirtyRows;
  }

  flushDirtyRows(): void {
    this.ports.tables.flushDirty(this.ports.rows);
  }

  encodeHeader(): Uint8Array {
    return encodeHeader({
      appliedIndex: this.index,
      appliedTerm: this.termOfIndex,
      digest: this.digest(),
      clusterVersion: this.version,
      lastStamp: this.context.lastStamp,
      counters: this.ports.tables.counters(),
    });
  }

  loadHeader(header: Uint8Array): void {
    const row = decodeHeader(header);
    if (row.clusterVersion > MACHINE_VERSION) {
      throw new MachinePoisoned(
        row.appliedIndex,
        `the state is of effect catalogue version ${row.clusterVersion}, this build reads ${MACHINE_VERSION}`,
      );
    }
    this.index = row.appliedIndex;
    this.termOfIndex = row.appliedTerm;
    this.version = row.clusterVersion;
    this.context.lastStamp = row.lastStamp;
    this.context.digest.load(row.digest);
    this.ports.tables.restoreCounters(row.counters);
  }

  loadRow(key: Uint8Array, value: Uint8Array): void {
    this.ports.tables.loadRow(key, value);
  }

  finishLoad(): void {
    this.ports.tables.finishLoad();
  }

  purgeStep(budget: number): boolean {
    return this.ports.tables.purgeStep(budget);
  }

  /** False for an entry without payload (a raft no-op). */
  private openEntry(entry: AppliedEntry): boolean {
    if (!this.entry.open(entry.parts)) return false;
    if (this.entry.machineVersion > MACHINE_VERSION) {
      throw this.poison(
        entry.index,
        `written by machine version ${this.entry.machineVersion}, this build reads ${MACHINE_VERSION}`,
      );
    }
    return true;
  }

  /** Malformed bytes inside a committed entry stop the node, naming the index. */
  private guarded(entry: AppliedEntry, run: () => void): void {
    if (this.poisoned !== undefined) throw this.poisoned;
    try {
      run();
    } catch (error) {
      if (error instanceof DecodeError) throw this.poison(entry.index, error.message);
      this.poison(entry.index, String(error));
      throw error;
    }
  }

  private poison(index: number, reason: string): MachinePoisoned {
    this.poisoned = new MachinePoisoned(index, reason);
    return this.poisoned;
  }

  private kind(): CommandKind {
    return this.entry.bytes[this.entry.start + COMMAND_HEADER.kind] as CommandKind;
  }

  private readTenant(): void {
    const { bytes, start } = this.entry;
    const { tenantUuid } = this.context;
    const at = start + COMMAND_HEADER.tenant;
    for (let i = 0; i < TENANT_BYTES; i++) tenantUuid[i] = bytes[at + i]!;
  }

  private prefetchCommand(sink: PrefetchSink): void {
    const kind = this.kind();
    this.readTenant();
    const { context, push } = this;
    switch (kind) {
      case CommandKind.Push:
        return push.prefetch(this.pushBody(), sink);
      case CommandKind.Transaction:
        return this.transaction.prefetch(this.pushBody(), sink);
      case CommandKind.AppendTrace:
        return prefetchAppendTrace(context, decodeAppendTrace(this.body()), sink);
      case CommandKind.SweepTraces:
        return prefetchSweepTraces(decodeSweepTraces(this.body()), sink);
      case CommandKind.Ack:
        return prefetchAck(context, decodeAck(this.body()), sink);
      case CommandKind.ReplayDeadLetter:
        return prefetchReplay(this.replay(), push, sink);
      case CommandKind.RemoveDeadLetters:
        return prefetchRemoveDeadLetters(decodeRemoveDeadLetters(this.body()), sink);
      case CommandKind.Timers:
        return prefetchTimers(context, this.timers(), push, sink);
      case CommandKind.FireTimers:
        return prefetchFire(context, this.fire(), push, sink);
      case CommandKind.StreamCycle:
        return prefetchCycle(this.cycle(), push, sink);
      case CommandKind.FailTimers:
        return prefetchFail(context, decodeFailTimers(this.body()), sink);
      case CommandKind.KvCall:
        return prefetchKvCall(context, decodeKvCall(this.body()), sink);
      case CommandKind.KvSweep:
        return prefetchKvSweep(decodeKvSweep(this.body()), sink);
      default:
        return;
    }
  }

  /** A repeat of a command and one of an ended session have no effect. */
  private applyCommand(): void {
    const { bytes, start } = this.entry;
    const session = commandU48(bytes, start + COMMAND_HEADER.session);
    const sequence = commandU48(bytes, start + COMMAND_HEADER.sequence);
    const floor = commandU48(bytes, start + COMMAND_HEADER.floor);
    const { effects, digest } = this.context;
    if (session !== 0) {
      const admitted = this.ports.tables.sessions.admit(session, sequence, floor);
      if (admitted !== 'fresh') {
        effects.outcome(session, sequence, admitted === 'seen' ? SEEN : ENDED);
        return;
      }
      digest.number(session);
      digest.number(sequence);
      digest.number(floor);
    }
    this.readTenant();
    effects.outcome(session, sequence, this.dispatch(this.kind()));
  }

  private dispatch(kind: CommandKind): Outcome {
    const { context } = this;
    switch (kind) {
      case CommandKind.OpenSession:
        return applyOpenSession(context, decodeOpenSession(this.body()));
      case CommandKind.Push:
        return this.push.apply(this.pushBody());
      case CommandKind.Register:
        return applyRegister(context, decodeRegister(this.body()));
      case CommandKind.Claim:
        return applyClaim(context, decodeClaim(this.body()));
      case CommandKind.Unclaim:
        return applyUnclaim(context, decodeUnclaim(this.body()));
      case CommandKind.Ack:
        return applyAck(context, decodeAck(this.body()));
      case CommandKind.Extend:
        return applyExtend(context, decodeExtend(this.body()));
      case CommandKind.Configure:
        return applyConfigure(context, decodeConfigure(this.body()));
      case CommandKind.DeleteQueue:
        return applyDeleteQueue(context, decodeDeleteQueue(this.body()));
      case CommandKind.RaiseVersion:
        return this.raiseVersion(decodeRaiseVersion(this.body()).version);
      case CommandKind.ForgetNode:
        return applyForgetNode(context, decodeForgetNode(this.body()));
      case CommandKind.SeekCursors:
        return applySeekCursors(context, decodeSeekCursors(this.body()));
      case CommandKind.DeleteCursors:
        return applyDeleteCursors(context, decodeDeleteCursors(this.body()));
      case CommandKind.UpdateSubscription:
        return applyUpdateSubscription(context, decodeUpdateSubscription(this.body()));
      case CommandKind.RemoveDeadLetters:
        return applyRemoveDeadLetters(context, decodeRemoveDeadLetters(this.body()));
      case CommandKind.ReplayDeadLetter:
        return applyReplay(context, this.replay(), this.push);
      case CommandKind.TrimPartitions:
        return applyTrimPartitions(context, decodeTrimPartitions(this.body()));
      case CommandKind.DropPartitions:
        return applyDropPartitions(context, decodeDropPartitions(this.body()));
      case CommandKind.SealCursors:
        return applySealCursors(context, decodeSealCursors(this.body()));
      case CommandKind.BindEncryptionKey:
        return applyBindEncryptionKey(context, decodeBindEncryptionKey(this.body()));
      case CommandKind.Transaction:
        return this.transaction.apply(this.pushBody());
      default:
        return this.dispatchState(kind);
    }
  }

  /** The state plane: ephemeral declarations, timers, traces, streams, keys, switches and quotas. */
  private dispatchState(kind: StateKind): Outcome {
    const { context } = this;
    switch (kind) {
      case CommandKind.DeclareEphemeral:
        return applyDeclareEphemeral(context, decodeDeclareEphemeral(this.body()));
      case CommandKind.DropEphemeral:
        return applyDropEphemeral(context, decodeDropEphemeral(this.body()));
      case CommandKind.Timers:
        return applyTimers(context, this.timers(), this.push);
      case CommandKind.FireTimers:
        return applyFire(context, this.fire(), this.push);
      case CommandKind.RegisterStream:
        return applyRegisterStream(context, decodeRegisterStream(this.body()));
      case CommandKind.StreamCycle:
        return applyCycle(context, this.cycle(), this.push);
      case CommandKind.FailTimers:
        return applyFail(context, decodeFailTimers(this.body()));
      case CommandKind.AppendTrace:
        return applyAppendTrace(context, decodeAppendTrace(this.body()));
      case CommandKind.SweepTraces:
        return applySweepTraces(context, decodeSweepTraces(this.body()));
      case CommandKind.KvCall:
        return applyKvCall(context, decodeKvCall(this.body()));
      case CommandKind.KvSweep:
        return applyKvSweep(context, decodeKvSweep(this.body()));
      case CommandKind.SetSwitches:
        return applySetSwitches(context, decodeSetSwitches(this.body()));
      case CommandKind.SetQuota:
        return applySetQuota(context, decodeSetQuota(this.body()));
      case CommandKind.PurgeTenant:
        decodePurgeTenant(this.body());
        return applyPurgeTenant(context);
      default:
        return unreachable(kind, 'command kind');
    }
  }

  /** Never lowers. A version above this build's is noted; the first entry written under it stops it. */
  private raiseVersion(version: number): RaiseVersionOutcome {
    this.version = Math.max(this.version, version);
    this.context.digest.word(this.version);
    return { kind: CommandKind.RaiseVersion, version: this.version };
  }

  private body(): BinaryReader {
    const { bytes, start, end } = this.entry;
    this.reader.reset(bytes, start + COMMAND_HEADER.body, end);
    return this.reader;
  }

  private pushBody(at = this.entry.start + COMMAND_HEADER.body): PushBody {
    const { bytes, start, end, entryOffset } = this.entry;
    return { bytes, start: at, end, entryOffset: entryOffset - start };
  }

  private replay(): Replay {
    const reader = this.body();
    const command = decodeReplayDeadLetter(reader);
    return { command, copy: this.pushBody(reader.position) };
  }

  private timers(): TimerOps {
    const { bytes, start, entryOffset } = this.entry;
    return { ops: decodeTimers(this.body()), bytes, entryOffset: entryOffset - start };
  }

  private cycle(): Cycle {
    const reader = this.body();
    const command = decodeStreamCycle(reader);
    return { command, pushes: this.pushBody(reader.position) };
  }

  private fire(): Fire {
    const reader = this.body();
    const command = decodeFireTimers(reader);
    return { command, body: this.pushBody(reader.position) };
  }
}

const SEEN: IgnoredOutcome = { kind: 'ignored', why: 'seen' };
const ENDED: IgnoredOutcome = { kind: 'ignored', why: 'ended' };
