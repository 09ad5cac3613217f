/**
 * The group of a single voter: one loop owns log, apply and checkpoints. A command is answered when its
 * entry is fsynced and applied here, never before. A failed log, store or apply stops the group for
 * good (role `stopped`, everybody who waits is told `retry`); the process and its health page stay up.
 * Reading path: submit → Intake → LogWriter → WAL → ApplyLoop → outcome.
 */
import { QueenError } from '../../common/errors.js';
import type { GroupId, LogIndex, Micros, NodeId, Term } from '../../common/ids.js';
import { StageFigures } from '../../common/stage-figures.js';
import { term as asTerm } from '../../common/ids.js';
import { CommandKind } from '../../machine/commands/catalogue.js';
import type { GrantOutcome, Outcome } from '../../machine/commands/catalogue.js';
import type { MachineEvents, OutcomeSink } from '../../machine/machine.js';
import type { Tables } from '../../machine/tables/tables.js';
import { CommandFlow } from './command-flow.js';
import { applyFailureOf, DETERMINISTIC, failureLine, localFailure } from './apply-failure.js';
import type { StopNotes } from './apply-failure.js';
import { CoordinatorSet } from './coordinator-set.js';
import { DeadlineWheel } from './deadline-wheel.js';
import type { CallOptions, Group, GroupStatus, GroupView, PopAnswer } from './group.js';
import type {
  IdSpan,
  PayloadCipher,
  PopRequest,
  PreparedCommand,
  RecordPlace,
  StoredMessage,
} from './group.js';
import { growthRefusal } from './growth.js';
import type { ResolvedIds } from './id-resolver.js';
import { Intake } from './intake.js';
import { LogClock } from './log-clock.js';
import { LogWriter } from './log-writer.js';
import { PopDesk } from './pop-desk.js';
import type { CoordinatorPort, DispatcherPort, LogEntry } from './ports.js';
import { ReadBarrier } from './read-barrier.js';
import { loadColumns, replayLog } from './recovery.js';
import { StateSide, type StateSideParts } from './state-side.js';
import { isDamage } from './log-errors.js';

const TWO_32 = 0x1_0000_0000;

export interface LocalGroupParts extends Omit<StateSideParts, 'purge'> {
  readonly id: GroupId;
  readonly nodeId: NodeId;
  /** 16 bytes, minted with the data directory. */
  readonly directoryId: Uint8Array;
  readonly bootCount: number;
  /** Highest machine version this build reads. */
  readonly kinds: number;
  /** Absent: the disk is never too full. */
  readonly diskGate?: { readonly isFull: boolean };
  /** What stops this node; kept for the next start. */
  readonly stopNotes?: StopNotes;
}

/** What a dispatcher may use of its group. */
export interface DispatcherHost extends Pick<
  Group,
  'tables' | 'listen' | 'propose' | 'view' | 'nowMicros'
> {
  /** Term this node leads. */
  term(): Term;
}

type Failure = NonNullable<GroupStatus['failure']>;

export class LocalGroup implements Group, OutcomeSink, DispatcherHost {
  readonly id: GroupId;
  readonly tables: Tables;
  readonly cipher: PayloadCipher | null;
  readonly keepsCommands = false;
  private role: GroupStatus['role'] = 'candidate';
  private failure: Failure | null = null;
  private currentTerm: Term;
  private committed: LogIndex;
  private leading: (() => void) | null = null;
  private readonly coordinators = new CoordinatorSet();
  private dispatcher: DispatcherPort | null = null;
  private writer: LogWriter | null = null;
  private logClock: LogClock;
  private stopping: Promise<void> | null = null;
  private readonly wheel: DeadlineWheel;
  private readonly intake: Intake;
  private readonly barrier: ReadBarrier;
  private readonly state: StateSide;
  private readonly flow: CommandFlow;
  private readonly desk: PopDesk;
  private readonly nowMs: () => number;

  constructor(private readonly parts: LocalGroupParts) {
    const { clock, machine, wal } = parts;
    this.id = parts.id;
    this.cipher = parts.cipher ?? null;
    this.tables = machine.tables;
    this.currentTerm = wal.term;
    this.committed = wal.lastIndex;
    this.nowMs = (): number => clock.monotonicMicros() / 1000;
    this.logClock = new LogClock(clock, 0);
    const stages = parts.stages ?? new StageFigures();
    this.flow = new CommandFlow(stages, this.nowMs);
    this.wheel = new DeadlineWheel(this.nowMs);
    this.barrier = new ReadBarrier(this.wheel);
    const firstProposal = ((wal.term + 1) % 0x1_0000) * TWO_32;
    this.intake = new Intake(this.wheel, (call) => this.writer?.enqueue(call), firstProposal);
    this.desk = new PopDesk(
      () => this.intake.sessionId,
      (grant) => this.handBack(grant),
    );
    this.state = new StateSide(
      { ...parts, stages, purge: (index) => wal.purge(index) },
      {
        outcomes: this,
        nowMicros: () => this.nowMicros(),
        applied: (entry) => this.afterApply(entry),
        applyFailed: (entry, error) => this.applyFailed(entry, error),
        isGranting: () => this.intake.waitingProposals > 0,
        ending: () => this.releasePops(),
        failed: (error) => this.poison(localFailure(error, this.state.appliedIndex)),
      },
    );
  }

  /** Loads, replays and takes the lead; resolves when the group serves. */
  async start(): Promise<void> {
    const { wal, store, machine, ids, nodeId, clock, log } = this.parts;
    const { state } = this;
    state.events.listen({ granted: (grant) => this.desk.granted(grant) });
    await loadColumns({ store, machine, ids, wal, log });
    state.checkpointer.start();
    await replayLog({ wal, apply: state.apply, tail: state.tail, log });
    // An entry that cannot be applied: the process stays up and tells.
    if (this.failedAtEntry) return;
    this.throwIfStopped();
    this.currentTerm = asTerm(wal.term + 1);
    await wal.startTerm(this.currentTerm, nodeId);
    this.logClock = new LogClock(clock, machine.machine.lastStamp());
    const lead = new Promise<void>((resolve) => {
      this.leading = resolve;
    });
    const machineVersion = (): number => machine.machine.clusterVersion();
    const format = { term: this.currentTerm, machineVersion };
    this.writer = new LogWriter(wal, this.logClock, format, {
      flow: this.flow,
      stampCall: (call) => this.intake.stampCall(call),
      durable: (entries) => this.commit(entries),
      packed: (calls, index) => this.barrier.packed(calls, index),
      failed: (error) => this.logFailed(error),
    });
    this.writer.writeEmpty();
    await lead;
    this.throwIfStopped();
    await this.openSession();
    state.maintenance.start();
  }

  /** Plugs the leader's dispatcher in; it starts with the lead, or now. */
  attachDispatcher(dispatcher: DispatcherPort): void {
    this.dispatcher = dispatcher;
    if (this.role === 'leader') dispatcher.start();
  }

  attachCoordinator(coordinator: CoordinatorPort): void {
    this.coordinators.add(coordinator);
  }

  /** Before the HTTP port closes, and when the log met damage: parked pops are told to retry, no new ones are taken. */
  releasePops(): void {
    this.dispatcher?.stop();
    this.dispatcher = null;
  }

  term(): Term {
    return this.currentTerm;
  }

  /** Store or log met damage while it served: nothing more is served. */
  damaged(error: Error): void {
    if (isDamage(error)) this.state.logDamaged(error);
    else this.poison(localFailure(error, this.status().applied));
  }

  submit(command: PreparedCommand, options: CallOptions): Promise<Outcome> {
    if (this.role === 'stopped') return Promise.reject(new QueenError('retry'));
    const refusal = growthRefusal(command, this.parts);
    if (refusal !== undefined) return Promise.reject(refusal);
    return this.intake.submit(command.bytes, options);
  }

  propose(command: PreparedCommand): Promise<Outcome> {
    if (this.role !== 'leader') return Promise.reject(new QueenError('retry'));
    return this.intake.propose(command.bytes);
  }

  pop(request: PopRequest, options: CallOptions): Promise<PopAnswer> {
    if (this.role !== 'leader' || this.state.returns.isEnding)
      return Promise.reject(new QueenError('retry'));
    return this.desk.pop(this.dispatcher, request, options);
  }

  handBack(grant: GrantOutcome): void {
    if (this.role !== 'leader' || grant.ranges.length === 0) return;
    const bytes = this.parts.machine.commands.unclaim(grant);
    this.state.returns.track(this.intake.propose(bytes));
  }

  readBarrier(options: CallOptions): Promise<void> {
    const writer = this.writer;
    if (this.role !== 'leader' || writer === null) return Promise.reject(new QueenError('retry'));
    const { enqueued, allPacked } = writer.position;
    const applied = this.state.apply.appliedIndex;
    return this.barrier.wait(
      { enqueued, allPacked, lastIndex: writer.lastIndex, applied },
      options,
    );
  }

  readMessages(partitionId: number, first: number, last: number): Promise<StoredMessage[]> {
    return this.state.readMessages(partitionId, first, last);
  }

  readRecord(place: RecordPlace): Promise<Uint8Array> {
    return this.state.readRecord(place);
  }

  findIds(partitionId: number, hashes: Uint8Array, span: IdSpan): Promise<ResolvedIds> {
    return this.state.findIds(partitionId, hashes, span);
  }

  view(): Promise<GroupView> {
    return this.state.view();
  }

  status(): GroupStatus {
    const { nodeId, wal, store, machine, kinds } = this.parts;
    const stopped = this.role === 'stopped';
    return {
      nodeId,
      role: this.role,
      leader: this.role === 'leader' ? nodeId : null,
      term: this.currentTerm,
      applied: machine.machine.appliedIndex,
      commit: this.committed,
      durable: store.durableIndex,
      lastLog: this.writer?.lastIndex ?? wal.lastIndex,
      lagMs: 0,
      quorumAckMs: stopped ? null : 0,
      storageReady: !stopped,
      storageFull: this.parts.diskGate?.isFull ?? false,
      clusterVersion: machine.machine.clusterVersion(),
      kinds,
      failure: this.failure,
      inflight: this.intake.waiting,
      proposals: this.intake.waitingProposals,
    };
  }

  listen(events: Partial<MachineEvents>): () => void {
    return this.state.events.listen(events);
  }

  nowMicros(): Micros {
    return this.logClock.now();
  }

  /** Monotonic ms, the clock deadlines are measured on. */
  monotonicMs(): number {
    return this.nowMs();
  }

  /** Part of OutcomeSink: apply tells what a command did. */
  outcome(session: number, sequence: number, outcome: Outcome): void {
    this.intake.settle(session, sequence, outcome);
  }

  /** Graceful stop: what is in flight is finished, everybody else is told `retry`, one checkpoint. */
  stop(): Promise<void> {
    this.stopping ??= this.shutDown(this.role !== 'stopped');
    return this.stopping;
  }

  /** Ends like a crash, for tests: nothing is finished, nothing is checkpointed, files are closed. */
  abandon(): Promise<void> {
    this.stopping ??= this.shutDown(false);
    return this.stopping;
  }

  private async shutDown(graceful: boolean): Promise<void> {
    const { apply, maintenance } = this.state;
    this.role = 'stopped';
    this.dispatcher?.stop();
    this.coordinators.stop();
    await maintenance.stop();
    if (!graceful) apply.stop();
    await this.writer?.stop();
    if (graceful) await apply.drained();
    apply.stop();
    this.answerAll();
    await this.state.stop(graceful);
    this.wheel.stop();
  }

  private async openSession(): Promise<void> {
    const { nodeId, directoryId, bootCount, machine } = this.parts;
    const bytes = machine.commands.openSession(nodeId, directoryId, bootCount);
    const outcome = await this.intake.propose(bytes);
    if (outcome.kind !== CommandKind.OpenSession) {
      throw new Error(`the session of this node was not opened: ${JSON.stringify(outcome)}`);
    }
    this.intake.openSession(outcome.session);
  }

  private commit(entries: readonly LogEntry[]): void {
    const last = entries[entries.length - 1];
    if (last !== undefined) this.committed = last.index;
    this.flow.committed(this.committed);
    this.state.commit(entries);
  }

  private afterApply(entry: LogEntry): void {
    this.flow.applied(entry.index);
    this.barrier.applied(entry.index);
    this.parts.stopNotes?.applied(entry, false);
    if (this.role === 'candidate' && entry.term === this.currentTerm && this.writer !== null) {
      this.role = 'leader';
      this.dispatcher?.start();
      this.coordinators.start();
      this.leading?.();
    }
    this.state.checkpointer.poll();
  }

  private applyFailed(entry: LogEntry, error: unknown): void {
    this.state.checkpointer.freeze();
    const failure = applyFailureOf(entry, error);
    this.parts.stopNotes?.applyFailed(failure);
    this.parts.log.error(failureLine(failure, null), { ...failure });
    this.poison(failure);
  }

  private logFailed(error: unknown): void {
    this.poison(localFailure(error, this.writer?.lastIndex ?? 0));
    this.parts.log.error('raft log writer poisoned; node stops', { why: describe(error) });
  }

  private poison(failure: Failure): void {
    if (this.failure !== null || this.stopping !== null) return;
    this.failure = failure;
    this.role = 'stopped';
    const { class: kind, error, index } = failure;
    this.parts.log.error('group stopped', { class: kind, error, index });
    this.state.apply.stop();
    void this.writer?.stop();
    void this.state.maintenance.stop();
    this.dispatcher?.stop();
    this.coordinators.stop();
    this.answerAll();
    this.leading?.();
  }

  private get failedAtEntry(): boolean {
    return this.failure?.class === DETERMINISTIC;
  }

  private answerAll(): void {
    this.intake.failAll(() => new QueenError('retry'));
    this.barrier.failAll(() => new QueenError('retry'));
  }

  private throwIfStopped(): void {
    if (this.failure === null) return;
    throw new Error(`the group stopped while it started: ${this.failure.error}`);
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
