/**
 * The group of a single voter: one loop owns log, apply and checkpoints. A command is answered when its
 * entry is fsynced and applied here, never before. A failed log, store or apply stops the group for
 * good (role `stopped`, everybody who waits is told `retry`); the process and its health page stay up.
 * Reading path: submit → Intake → LogWriter → WAL → ApplyLoop → outcome.
 */
import type { Clock } from '../../common/clock.js';
import { QueenError } from '../../common/errors.js';
import type { GroupId, LogIndex, Micros, NodeId, Term } from '../../common/ids.js';
import { partitionId as asPartitionId, term as asTerm } from '../../common/ids.js';
import { CommandKind } from '../../machine/commands/catalogue.js';
import type { GrantOutcome, Outcome } from '../../machine/commands/catalogue.js';
import type { MachineEvents, OutcomeSink } from '../../machine/machine.js';
import type { Tables } from '../../machine/tables/tables.js';
import { AppendFinder } from './append-finder.js';
import { ApplyLoop } from './apply-loop.js';
import { Checkpointer } from './checkpointer.js';
import type { CollectorOptions } from './collector/collector.js';
import { ReadPins } from './collector/read-pins.js';
import { CoordinatorSet } from './coordinator-set.js';
import { DeadlineWheel } from './deadline-wheel.js';
import { EventHub } from './event-hub.js';
import type { CallOptions, Group, GroupStatus, GroupView, PopAnswer } from './group.js';
import type {
  PayloadCipher,
  PopRequest,
  PreparedCommand,
  RecordPlace,
  StoredMessage,
} from './group.js';
import { growthRefusal } from './growth.js';
import { IdResolver, type ResolvedIds } from './id-resolver.js';
import { Intake } from './intake.js';
import { LogClock } from './log-clock.js';
import { LogWriter } from './log-writer.js';
import { Maintenance } from './maintenance.js';
import { MessageReader } from './message-reader.js';
import { PopDesk } from './pop-desk.js';
import type { PartitionPlace, CoordinatorPort, DispatcherPort, GroupLog } from './ports.js';
import type { IdIndexDriver, LogEntry } from './ports.js';
import type { MachineParts, RowsPort, StorePort, WalPort } from './ports.js';
import { ReadBarrier } from './read-barrier.js';
import { loadColumns, replayLog } from './recovery.js';
import { TailCache } from './tail-cache.js';
import type { TailIndex } from './tail-index.js';

const TWO_32 = 0x1_0000_0000;

export interface LocalGroupParts {
  readonly id: GroupId;
  readonly nodeId: NodeId;
  /** 16 bytes, minted with the data directory. */
  readonly directoryId: Uint8Array;
  readonly bootCount: number;
  /** Highest machine version this build reads. */
  readonly kinds: number;
  readonly tailCacheBytes: number;
  readonly clock: Clock;
  readonly log: GroupLog;
  readonly wal: WalPort;
  readonly store: StorePort;
  readonly rows: RowsPort;
  readonly ids: IdIndexDriver;
  readonly machine: MachineParts;
  /** Absent: the disk is never too full. */
  readonly diskGate?: { readonly isFull: boolean };
  /** Fed by the row port the machine writes through. */
  readonly tailIndex: TailIndex;
  /** Entries kept in the raft log behind the durable index. */
  readonly logKeepEntries?: number;
  /** Absent: this node has no encryption key. */
  readonly cipher?: PayloadCipher | null;
  /** Absent: log segments are never freed. */
  readonly collector?: CollectorOptions;
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
  private readonly events: EventHub;
  private readonly tail: TailCache;
  private readonly apply: ApplyLoop;
  private readonly checkpointer: Checkpointer;
  readonly maintenance: Maintenance;
  private readonly pins = new ReadPins();
  private readonly desk: PopDesk;
  private readonly reader: MessageReader;
  private readonly resolver: IdResolver;
  private readonly nowMs: () => number;

  constructor(private readonly parts: LocalGroupParts) {
    const { clock, machine, store, rows, ids, wal } = parts;
    this.id = parts.id;
    this.cipher = parts.cipher ?? null;
    this.tables = machine.tables;
    this.currentTerm = wal.term;
    this.committed = wal.lastIndex;
    this.nowMs = (): number => clock.monotonicMicros() / 1000;
    this.logClock = new LogClock(clock, 0);
    this.wheel = new DeadlineWheel(this.nowMs);
    this.barrier = new ReadBarrier(this.wheel);
    const firstProposal = ((wal.term + 1) % 0x1_0000) * TWO_32;
    this.intake = new Intake(this.wheel, (call) => this.writer?.enqueue(call), firstProposal);
    this.events = new EventHub(parts.log);
    this.tail = new TailCache(parts.tailCacheBytes);
    this.desk = new PopDesk(
      () => this.intake.sessionId,
      (grant) => this.handBack(grant),
    );
    this.checkpointer = new Checkpointer({
      ...{ parts: machine, rows, store, ids, nowMs: this.nowMs },
      ...(parts.logKeepEntries === undefined ? {} : { logKeepEntries: parts.logKeepEntries }),
      purge: (index) => wal.purge(index),
      failed: (error) => this.poison('NODE-LOCAL', error, this.status().applied),
    });
    const view = (): Promise<GroupView> => this.view();
    const { retired } = wal;
    const { collector: options } = parts;
    this.maintenance = new Maintenance({
      ...{ machine, rows, log: parts.log, view },
      ...(retired === undefined || options === undefined
        ? {}
        : { collecting: { retired, store, pins: this.pins, nowMs: this.nowMs, options } }),
    });
    this.apply = new ApplyLoop(
      { parts: machine, rows, ids, outcomes: this, events: this.events, nowMs: this.nowMs },
      {
        applied: (entry) => this.afterApply(entry),
        room: () => this.checkpointer.room(),
        failed: (entry, error) => this.applyFailed(entry, error),
      },
    );
    const { appends } = machine;
    const { tailIndex } = parts;
    const finder = new AppendFinder({ appends, tailIndex, view });
    this.resolver = new IdResolver(finder, ids);
    this.reader = new MessageReader({
      ...{ finder, appends, tail: this.tail, wal, pins: this.pins, cipher: this.cipher },
      damaged: (error) => this.damaged(error),
    });
  }

  /** Loads, replays and takes the lead; resolves when the group serves. */
  async start(): Promise<void> {
    const { wal, store, machine, ids, nodeId, clock, log } = this.parts;
    this.events.listen({ granted: (grant) => this.desk.granted(grant) });
    await loadColumns({ store, machine, ids, wal, log });
    this.checkpointer.start();
    await replayLog({ wal, apply: this.apply, tail: this.tail, log });
    this.throwIfStopped();
    this.currentTerm = asTerm(wal.term + 1);
    await wal.startTerm(this.currentTerm, nodeId);
    this.logClock = new LogClock(clock, machine.machine.lastStamp());
    const lead = new Promise<void>((resolve) => {
      this.leading = resolve;
    });
    const { machine: state } = machine;
    const format = { term: this.currentTerm, machineVersion: () => state.clusterVersion() };
    this.writer = new LogWriter(wal, this.logClock, format, {
      stampCall: (call) => this.intake.stampCall(call),
      durable: (entries) => this.commit(entries),
      packed: (calls, index) => this.barrier.packed(calls, index),
      failed: (error) => this.logFailed(error),
    });
    this.writer.writeEmpty();
    await lead;
    this.throwIfStopped();
    await this.openSession();
    this.maintenance.start();
  }

  /** Plugs the leader's dispatcher in; it starts with the lead, or now. */
  attachDispatcher(dispatcher: DispatcherPort): void {
    this.dispatcher = dispatcher;
    if (this.role === 'leader') dispatcher.start();
  }

  attachCoordinator(coordinator: CoordinatorPort): void {
    this.coordinators.add(coordinator);
  }

  /** Before the HTTP port closes: parked pops are told to retry, no new ones are taken. */
  releasePops(): void {
    this.dispatcher?.stop();
    this.dispatcher = null;
  }

  term(): Term {
    return this.currentTerm;
  }

  /** The store met damage while it served: nothing more is served. */
  damaged(error: Error): void {
    this.poison('NODE-LOCAL', error, this.status().applied);
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
    if (this.role !== 'leader') return Promise.reject(new QueenError('retry'));
    return this.desk.pop(this.dispatcher, request, options);
  }

  handBack(grant: GrantOutcome): void {
    if (this.role !== 'leader' || grant.ranges.length === 0) return;
    const bytes = this.parts.machine.commands.unclaim(grant);
    this.intake.propose(bytes).catch((error: unknown) => {
      // The lease then ends with its time; nothing is lost but an attempt.
      this.parts.log.warn('grant was not handed back', { error: String(error) });
    });
  }

  readBarrier(options: CallOptions): Promise<void> {
    const writer = this.writer;
    if (this.role !== 'leader' || writer === null) return Promise.reject(new QueenError('retry'));
    const { enqueued, allPacked } = writer.position;
    const applied = this.apply.appliedIndex;
    return this.barrier.wait(
      { enqueued, allPacked, lastIndex: writer.lastIndex, applied },
      options,
    );
  }

  readMessages(partitionId: number, first: number, last: number): Promise<StoredMessage[]> {
    const place = this.placeOf(partitionId);
    if (place === undefined) return Promise.resolve([]);
    return this.reader.read(place, Math.max(first, place.logStart), last);
  }

  readRecord(place: RecordPlace): Promise<Uint8Array> {
    return this.reader.readRecord(place);
  }

  findIds(
    partitionId: number,
    hashes: Uint8Array,
    span: { readonly first: number; readonly last: number },
  ): Promise<ResolvedIds> {
    const place = this.placeOf(partitionId);
    if (place !== undefined) return this.resolver.find(place, hashes, span);
    const nowhere = new Float64Array(Math.floor(hashes.length / 16)).fill(-1);
    return Promise.resolve({ offsets: nowhere, bases: nowhere });
  }

  view(): Promise<GroupView> {
    const { machine, rows } = this.parts;
    machine.machine.flushDirtyRows();
    return rows.view(machine.machine.appliedIndex);
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
    return this.events.listen(events);
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
    const { ids, wal, store } = this.parts;
    this.role = 'stopped';
    this.dispatcher?.stop();
    this.coordinators.stop();
    await this.maintenance.stop();
    if (!graceful) this.apply.stop();
    await this.writer?.stop();
    if (graceful) await this.apply.drained();
    this.apply.stop();
    this.answerAll();
    await this.checkpointer.stop(graceful);
    await this.apply.drained();
    this.wheel.stop();
    await this.closeQuietly(ids, wal, store);
  }

  /** A poisoned log or store may refuse to close; the others are closed all the same. */
  private async closeQuietly(...files: readonly { close(): Promise<void> }[]): Promise<void> {
    for (const file of files) {
      try {
        await file.close();
      } catch (error) {
        this.parts.log.warn('file not closed cleanly', { error: describe(error) });
      }
    }
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

  private placeOf(partitionId: number): PartitionPlace | undefined {
    const { partitions } = this.tables;
    const slot = partitions.byId(asPartitionId(partitionId));
    if (slot < 0) return undefined;
    const logStart = partitions.logStart(slot);
    return { queueId: partitions.queueId(slot), partitionId, logStart };
  }

  private commit(entries: readonly LogEntry[]): void {
    for (const entry of entries) {
      this.tail.add(entry);
      this.committed = entry.index;
    }
    this.apply.push(entries);
  }

  private afterApply(entry: LogEntry): void {
    this.barrier.applied(entry.index);
    if (this.role === 'candidate' && entry.term === this.currentTerm && this.writer !== null) {
      this.role = 'leader';
      this.dispatcher?.start();
      this.coordinators.start();
      this.leading?.();
    }
    this.checkpointer.poll();
  }

  private applyFailed(entry: LogEntry, error: unknown): void {
    const nodeLocal = error instanceof Error && 'code' in error;
    this.poison(nodeLocal ? 'NODE-LOCAL' : 'DETERMINISTIC', error, entry.index);
    this.parts.log.error(`APPLY FAILED at entry ${entry.index}`, {
      class: nodeLocal ? 'NODE-LOCAL' : 'DETERMINISTIC',
      error: describe(error),
    });
  }

  private logFailed(error: unknown): void {
    this.poison('NODE-LOCAL', error, this.writer?.lastIndex ?? 0);
    this.parts.log.error('raft log writer poisoned; node stops', { why: describe(error) });
  }

  private poison(kind: string, error: unknown, index: number): void {
    if (this.failure !== null || this.stopping !== null) return;
    this.failure = { class: kind, error: describe(error), index };
    this.role = 'stopped';
    this.parts.log.error('group stopped', { class: kind, error: describe(error), index });
    this.apply.stop();
    void this.writer?.stop();
    void this.maintenance.stop();
    this.dispatcher?.stop();
    this.coordinators.stop();
    this.answerAll();
    this.leading?.();
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
