/**
 * A member of a replicated group. Any node takes commands, pops and reads; the leader alone gives the
 * log its order. A command is answered by the node that was asked, when that node has applied the
 * committed entry. Reading path: submit → Intake → CommandRoutes → (leader) EntryPacker → RaftLoop →
 * commit → ApplyLoop → outcome. A failed log, store or apply stops the group for good.
 */
import { QueenError } from '../../../common/errors.js';
import type { GroupId, LogIndex, Micros, NodeId, Term } from '../../../common/ids.js';
import { logIndex, micros, nodeId as asNodeId } from '../../../common/ids.js';
import { COMMAND_HEADER, CommandKind } from '../../../machine/commands/catalogue.js';
import type { GrantOutcome, Outcome } from '../../../machine/commands/catalogue.js';
import type { MachineEvents, OutcomeSink } from '../../../machine/machine.js';
import type { Tables } from '../../../machine/tables/tables.js';
import type { Entry, Message, SoftState } from '../../core/index.js';
import { decodeConfigChange } from '../../core/index.js';
import { Call } from '../call.js';
import { DeadlineWheel } from '../deadline-wheel.js';
import type { CallOptions, Group, GroupStatus, GroupView, PopAnswer } from '../group.js';
import type { PopRequest, PreparedCommand, StoredMessage } from '../group.js';
import type { ResolvedIds } from '../id-resolver.js';
import { Intake } from '../intake.js';
import type { DispatcherHost } from '../local-group.js';
import { LogClock } from '../log-clock.js';
import type { DispatcherPort, LogEntry } from '../ports.js';
import { loadColumns } from '../recovery.js';
import type { ClusterGroupParts } from './cluster-parts.js';
import { CommandRoutes } from './command-routes.js';
import { checkIdentity } from './identity-check.js';
import { EntryPacker } from './entry-packer.js';
import { HandOff } from './hand-off.js';
import { isEmptyEntry, toLogEntry } from './log-entries.js';
import type { PeerHandlers, StateAnswer, StateQuery } from './peer-port.js';
import { PopRouter } from './pop-router.js';
import { PopServer } from './pop-server.js';
import { QuorumWatch } from './quorum-watch.js';
import { RaftLoop } from './raft-loop.js';
import { ReadRounds } from './read-rounds.js';
import { SessionOpener } from './session-opener.js';
import { StableLog } from './stable-log.js';
import { StateSide } from './state-side.js';

const TWO_32 = 0x1_0000_0000;
const NOBODY = 0;
/** Housekeeping of routes, rounds and views. */
const SWEEP_MS = 50;
const VIEW_EVERY_SWEEPS = 2;
/** A loop stall this long is logged and never counts as several ticks. */
const STALL_MS = 100;

type Failure = NonNullable<GroupStatus['failure']>;

export class ClusterGroup implements Group, OutcomeSink, DispatcherHost {
  readonly id: GroupId;
  readonly tables: Tables;
  private readonly state: StateSide;
  private readonly wheel: DeadlineWheel;
  private readonly intake: Intake;
  private readonly routes: CommandRoutes;
  private readonly packer: EntryPacker;
  private readonly rounds: ReadRounds;
  private readonly pops: PopRouter;
  private readonly popServer: PopServer;
  private readonly watch: QuorumWatch;
  private readonly sessions: SessionOpener;
  private readonly stable: StableLog;
  private readonly loop: RaftLoop;
  private readonly nowMs: () => number;
  private dispatcher: DispatcherPort | null = null;
  private soft: SoftState = { role: 'follower', leader: asNodeId(NOBODY) };
  private established = false;
  private currentTerm: Term;
  private committed: LogIndex;
  private logClock: LogClock;
  private failure: Failure | null = null;
  private stopped = false;
  private admitted = false;
  private timers: NodeJS.Timeout[] = [];
  private sweeps = 0;
  private lastTickMs = 0;
  private stopping: Promise<void> | null = null;

  constructor(private readonly parts: ClusterGroupParts) {
    const { clock, machine, wal } = parts;
    this.id = parts.id;
    this.nowMs = (): number => clock.monotonicMicros() / 1000;
    this.currentTerm = wal.hardState.term;
    this.committed = logIndex(wal.hardState.commit);
    this.logClock = new LogClock(clock, 0);
    this.wheel = new DeadlineWheel(this.nowMs);
    this.watch = new QuorumWatch(this.nowMs, parts.timing.tickMs);
    this.state = new StateSide(
      { ...parts, wal: parts.walPort },
      {
        outcomes: this,
        nowMicros: () => this.nowMicros(),
        applied: (entry) => this.afterApply(entry),
        applyFailed: (entry, error) => this.applyFailed(entry, error),
        failed: (error) => this.poison('NODE-LOCAL', error, this.state.appliedIndex),
      },
    );
    this.tables = this.state.tables;
    const firstProposal = ((clock.nowMs() % 0xfffe) + 1) * TWO_32;
    this.intake = new Intake(this.wheel, (call) => this.forwardCall(call), firstProposal);
    this.packer = new EntryPacker({
      maxInFlight: parts.timing.pipelineEntries,
      stampCall: (call) => this.intake.stampCall(call),
      propose: (data) => this.loop.propose(data),
      machineVersion: () => machine.machine.clusterVersion(),
      term: () => this.currentTerm,
    });
    this.routes = new CommandRoutes({
      self: parts.nodeId,
      nowMs: this.nowMs,
      leader: () => this.routeTarget(),
      enqueue: (call) => this.packer.add(call.bytes, call),
      stampCall: (call) => this.intake.stampCall(call),
      forward: (to, bytes) => parts.peers.forwardCommand(to, bytes),
      eachOpen: (visit) => this.intake.eachOpen(visit),
    });
    this.rounds = new ReadRounds({
      wheel: this.wheel,
      nowMs: this.nowMs,
      firstContext: (clock.nowMs() % TWO_32) * 0x10_0000,
      ask: (context) => this.loop.readIndex(context),
      applied: () => this.state.appliedIndex,
      hasLeader: () => this.soft.leader !== NOBODY,
    });
    this.pops = new PopRouter({
      self: parts.nodeId,
      wheel: this.wheel,
      nowMs: this.nowMs,
      session: () => this.intake.sessionId,
      leader: () => this.routeTarget(),
      dispatcher: () => (this.established ? this.dispatcher : null),
      forward: (to, pop) => parts.peers.forwardPop(to, pop),
      cancel: (to, ticket) => parts.peers.cancelPop(to, ticket),
      handBack: (grant) => this.handBack(grant),
    });
    this.popServer = new PopServer({
      nowMs: this.nowMs,
      dispatcher: () => (this.established ? this.dispatcher : null),
      isQuorumFresh: () => (this.quorumAckMs() ?? Infinity) <= parts.timing.leaderLeaseMs,
    });
    this.sessions = new SessionOpener({
      nodeId: parts.nodeId,
      tables: this.tables,
      submit: () => this.submitOpenSession(),
      opened: (session) => this.intake.openSession(session),
    });
    this.stable = new StableLog(wal, {
      cacheBytes: parts.timing.logCacheBytes,
      config: parts.config,
      loaded: () => this.loop.logLoaded(),
      failed: (error) => this.logFailed(error),
    });
    this.loop = this.buildLoop();
  }

  private buildLoop(): RaftLoop {
    const { parts, stable } = this;
    const { timing, wal } = parts;
    const applied = parts.store.meta?.appliedIndex ?? logIndex(0);
    return new RaftLoop(
      {
        id: parts.nodeId,
        log: stable,
        random: parts.random,
        electionTicks: timing.electionTicks,
        heartbeatTicks: timing.heartbeatTicks,
        applied,
        preVote: true,
        checkQuorum: true,
        asyncStorage: true,
        stepDownOnRemoval: true,
      },
      {
        append: async (entries, hardState) => {
          await wal.append({
            entries: entries.map(toWalEntry),
            ...(hardState === undefined ? {} : { hardState }),
          });
          stable.stored(entries);
        },
        commitMoved: (commit) => wal.setCommit(commit),
        send: (message) => parts.peers.send(message),
        committed: (entries) => this.commit(entries),
        softState: (state) => this.softStateChanged(state),
        readState: (state) => this.rounds.answered(state),
        failed: (error) => this.logFailed(error),
      },
    );
  }

  /**
   * Loads, checks with the peers that this directory may vote, and takes part. Resolves when the node
   * serves (its session is open), or after the boot wait: it then serves 503 until it can.
   */
  async start(): Promise<void> {
    const { wal, store, machine, ids, log, peers } = this.parts;
    this.state.events.listen({ granted: (grant) => this.pops.granted(grant) });
    await loadColumns({ store, machine, ids, wal: this.parts.walPort, log });
    await peers.start(this.handlers());
    await checkIdentity({ ...this.parts, lastIndex: wal.lastIndex });
    this.admitted = true;
    this.state.checkpointer.start();
    this.state.maintenance.start();
    this.lastTickMs = this.nowMs();
    this.timers = [
      setInterval(() => this.tick(), this.parts.timing.tickMs),
      setInterval(() => this.sweep(), SWEEP_MS),
    ];
    if (!(await this.sessions.waitOpen(this.parts.timing.bootWaitMs))) {
      log.warn('raft: no leader yet; serving 503 until one is elected', {});
    }
    this.throwIfStopped();
  }

  attachDispatcher(dispatcher: DispatcherPort): void {
    this.dispatcher = dispatcher;
    if (this.established) dispatcher.start();
  }

  releasePops(): void {
    this.pops.answerAllEmpty();
  }

  term(): Term {
    return this.currentTerm;
  }

  /** The store met damage while it served: nothing more is served. */
  damaged(error: Error): void {
    this.poison('NODE-LOCAL', error, this.state.appliedIndex);
  }

  async submit(command: PreparedCommand, options: CallOptions): Promise<Outcome> {
    if (this.stopped) throw new QueenError('retry');
    const { bytes } = command;
    const kind = bytes[COMMAND_HEADER.kind];
    if (kind === CommandKind.Push) {
      if (this.parts.diskGate?.isFull === true) throw new QueenError('storage_full');
      if (this.parts.store.isFull) throw new QueenError('overloaded');
    }
    try {
      const outcome = await this.intake.submit(bytes, options);
      if (outcome.kind === 'ignored') throw new QueenError('retry');
      return outcome;
    } catch (error) {
      throw this.explain(error, kind);
    }
  }

  /** An ack whose outcome never came may or may not have happened; other commands say `timeout`. */
  private explain(error: unknown, kind: number | undefined): unknown {
    if (!(error instanceof QueenError) || error.code !== 'timeout') return error;
    if (this.soft.leader === NOBODY) return new QueenError('no_leader');
    return kind === CommandKind.Ack ? new QueenError('outcome_unknown') : error;
  }

  propose(command: PreparedCommand): Promise<Outcome> {
    if (!this.established) return Promise.reject(new QueenError('retry'));
    return this.intake.propose(command.bytes);
  }

  pop(request: PopRequest, options: CallOptions): Promise<PopAnswer> {
    if (this.stopped) return Promise.reject(new QueenError('retry'));
    return this.pops.pop(request, options);
  }

  handBack(grant: GrantOutcome): void {
    if (this.stopped || grant.ranges.length === 0) return;
    const bytes = this.parts.machine.commands.unclaim(grant);
    const target = this.routeTarget();
    if (target === NOBODY) return;
    // Not delivered: the lease ends with its time; nothing is lost but an attempt.
    if (target === this.parts.nodeId) this.packer.add(bytes, null);
    else this.parts.peers.forwardCommand(target, bytes);
  }

  readBarrier(options: CallOptions): Promise<void> {
    if (this.stopped) return Promise.reject(new QueenError('retry'));
    return this.rounds.wait(options);
  }

  readMessages(partitionId: number, first: number, last: number): Promise<StoredMessage[]> {
    return this.state.readMessages(partitionId, first, last);
  }

  findIds(
    partitionId: number,
    hashes: Uint8Array,
    span: { readonly first: number; readonly last: number },
  ): Promise<ResolvedIds> {
    return this.state.findIds(partitionId, hashes, span);
  }

  view(): Promise<GroupView> {
    return this.state.view();
  }

  status(): GroupStatus {
    const { nodeId, store, machine, kinds } = this.parts;
    const { leader } = this.soft;
    return {
      nodeId,
      role: this.roleShown(),
      leader: this.stopped || leader === NOBODY ? null : leader,
      term: this.currentTerm,
      applied: this.state.appliedIndex,
      commit: this.committed,
      durable: store.durableIndex,
      lastLog: this.parts.wal.lastIndex,
      lagMs: this.lagMs(),
      quorumAckMs: this.stopped ? null : this.quorumAckMs(),
      storageReady: !this.stopped,
      storageFull: this.parts.diskGate?.isFull ?? false,
      clusterVersion: machine.machine.clusterVersion(),
      kinds,
      failure: this.failure,
      inflight: this.intake.waiting,
      proposals: this.packer.proposals,
    };
  }

  listen(events: Partial<MachineEvents>): () => void {
    return this.state.events.listen(events);
  }

  nowMicros(): Micros {
    return this.logClock.now();
  }

  /** Part of OutcomeSink: apply tells what a command did. */
  outcome(session: number, sequence: number, outcome: Outcome): void {
    if (outcome.kind === CommandKind.OpenSession) this.sessions.applied(outcome);
    this.intake.settle(session, sequence, outcome);
  }

  /** Graceful stop: leadership goes first, then everybody is told `retry`, one last checkpoint. */
  stop(): Promise<void> {
    this.stopping ??= this.shutDown(true);
    return this.stopping;
  }

  abandon(): Promise<void> {
    this.stopping ??= this.shutDown(false);
    return this.stopping;
  }

  /** Hands leadership to another voter; this node never campaigns again. */
  async leave(): Promise<void> {
    this.loop.setCampaigning(false);
    await new HandOff({
      loop: this.loop,
      log: this.parts.log,
      nowMs: this.nowMs,
      leads: () => this.soft.role === 'leader',
      leader: () => this.soft.leader,
      self: this.parts.nodeId,
    }).run();
  }

  private async shutDown(graceful: boolean): Promise<void> {
    const serving = graceful && !this.stopped;
    if (serving) await this.leave();
    this.stopped = true;
    for (const timer of this.timers) clearInterval(timer);
    this.stepDown();
    this.answerAll();
    await this.parts.peers.stop();
    await this.loop.stop();
    await this.state.stop(serving);
    this.wheel.stop();
  }

  // --- inside ------------------------------------------------------------------------------------

  private handlers(): PeerHandlers {
    return {
      message: (message) => this.receive(message),
      command: (_from, bytes) => this.admitted && this.packer.add(bytes, null),
      commandRefused: () => this.routes.tick(),
      pop: (from, pop, reply) => this.popServer.serve(from, pop, reply),
      popCancelled: (from, ticket) => this.popServer.cancel(from, ticket),
      popReply: (from, ticket, reply) => this.pops.reply(from, ticket, reply),
      leaderView: (view) => this.watch.received(view),
      digest: () => undefined,
      disconnected: (peer) => this.peerLost(peer),
      connected: (peer) => this.peerFound(peer),
      state: (query) => this.answerState(query),
    };
  }

  private receive(message: Message): void {
    if (this.admitted && !this.stopped) this.loop.step(message);
  }

  private peerLost(peer: NodeId): void {
    this.popServer.dropNode(peer);
    if (this.admitted && !this.stopped) this.loop.reportUnreachable(peer);
    if (peer === this.soft.leader) this.reroute();
  }

  private peerFound(peer: NodeId): void {
    if (peer === this.soft.leader) this.reroute();
  }

  private answerState(query: StateQuery): StateAnswer {
    const status = this.loop.status();
    const progress = status.peers.find((peer) => peer.id === query.nodeId);
    return {
      holdsState: this.parts.wal.lastIndex > 0,
      boundDirectoryId: this.tables.sessions.directoryOf(query.nodeId) ?? null,
      acknowledged: progress?.match ?? logIndex(0),
      term: status.term,
    };
  }

  private tick(): void {
    const now = this.nowMs();
    const stall = now - this.lastTickMs - this.parts.timing.tickMs;
    this.lastTickMs = now;
    if (stall > STALL_MS) this.parts.log.warn('event loop stalled', { ms: Math.round(stall) });
    if (!this.stopped) this.loop.tick();
  }

  private sweep(): void {
    if (this.stopped) return;
    this.sweeps += 1;
    this.sessions.tick();
    this.rounds.tick();
    this.routes.tick();
    this.pops.tick();
    if (this.soft.role === 'leader' && this.sweeps % VIEW_EVERY_SWEEPS === 0) {
      this.parts.peers.broadcastView(this.watch.buildView(this.loop.status()));
    }
  }

  private forwardCall(call: Call): void {
    // A proposal (session 0) is the leader's own: it never travels.
    if (call.inSession) this.routes.route(call);
    else if (!this.packer.add(call.bytes, call)) call.fail(new QueenError('retry'));
  }

  private submitOpenSession(): void {
    const { nodeId, directoryId, machine, peers } = this.parts;
    const bootCount = this.tables.sessions.bootCountOf(nodeId) + 1;
    const bytes = machine.commands.openSession(nodeId, directoryId, bootCount);
    const target = this.routeTarget();
    if (target === nodeId) this.packer.add(bytes, null);
    else if (target !== NOBODY) peers.forwardCommand(target, bytes);
  }

  /** Leader that can take work now; this node only once it has applied an entry of its term. */
  private routeTarget(): NodeId | 0 {
    const { leader } = this.soft;
    if (leader === this.parts.nodeId && !this.established) return NOBODY;
    return leader as NodeId | 0;
  }

  private softStateChanged(state: SoftState): void {
    const before = this.soft;
    this.soft = state;
    this.currentTerm = this.loop.status().term;
    if (before.role === 'leader' && state.role !== 'leader') this.stepDown();
    if (before.leader !== state.leader) {
      this.parts.log.info('raft: leader changed', { leader: state.leader, term: this.currentTerm });
      this.reroute();
    }
  }

  private stepDown(): void {
    this.established = false;
    this.packer.close();
    this.dispatcher?.stop();
    this.intake.failProposals(() => new QueenError('retry'));
  }

  private reroute(): void {
    if (this.stopped) return;
    this.rounds.restart();
    this.sessions.tick();
    this.routes.rerouteAll();
    this.pops.rerouteAll();
  }

  private commit(entries: readonly Entry[]): void {
    const last = entries[entries.length - 1];
    if (last === undefined) return;
    this.committed = last.index;
    this.packer.commitMoved(last.index);
    for (const entry of entries)
      if (entry.kind === 'membership') this.changes.set(entry.index, entry);
    this.state.commit(entries.map(toLogEntry));
  }

  /** Membership entries on their way through apply. */
  private readonly changes = new Map<number, Entry>();

  private afterApply(entry: LogEntry): void {
    const change = this.changes.get(entry.index);
    if (change !== undefined) {
      this.changes.delete(entry.index);
      const decoded = decodeConfigChange(change.data);
      if (decoded === 'malformed') throw new Error(`membership entry ${entry.index} is malformed`);
      this.loop.applyConfigChange(decoded, change.index);
    }
    this.loop.applied(entry.index);
    if (this.soft.role === 'leader' && !this.established && entry.term === this.currentTerm) {
      this.establish();
    }
    this.rounds.applied(entry.index);
    this.state.checkpointer.poll();
  }

  private establish(): void {
    this.established = true;
    this.logClock = new LogClock(this.parts.clock, this.parts.machine.machine.lastStamp());
    this.packer.open(this.logClock, this.loop.status().lastIndex);
    this.dispatcher?.start();
    this.reroute();
  }

  private quorumAckMs(): number | null {
    return this.watch.quorumAckMs(this.loop.status());
  }

  private lagMs(): number {
    if (this.soft.role === 'leader') return 0;
    const { readyLagEntries } = this.parts.timing;
    const behind = Math.max(this.committed, this.watch.leaderCommit) - this.state.appliedIndex;
    if (behind <= readyLagEntries) return 0;
    const stamp = this.parts.machine.machine.lastStamp();
    return Math.max(0, this.parts.clock.nowMs() - Math.trunc(micros(stamp) / 1000));
  }

  private roleShown(): GroupStatus['role'] {
    if (this.stopped) return 'stopped';
    if (this.soft.role === 'leader') return this.established ? 'leader' : 'candidate';
    if (this.soft.role !== 'follower') return 'candidate';
    return this.loop.status().config.learners.includes(this.parts.nodeId) ? 'learner' : 'follower';
  }

  private applyFailed(entry: LogEntry, error: unknown): void {
    const nodeLocal = error instanceof Error && 'code' in error;
    const kind = nodeLocal ? 'NODE-LOCAL' : 'DETERMINISTIC';
    this.poison(kind, error, entry.index);
    this.parts.log.error(`APPLY FAILED at entry ${entry.index}`, {
      class: kind,
      error: describe(error),
    });
  }

  private logFailed(error: unknown): void {
    this.poison('NODE-LOCAL', error, this.parts.wal.lastIndex);
    this.parts.log.error('raft log writer poisoned; node stops', { why: describe(error) });
  }

  private poison(kind: string, error: unknown, index: number): void {
    if (this.failure !== null || this.stopping !== null) return;
    this.failure = { class: kind, error: describe(error), index };
    this.stopped = true;
    this.parts.log.error('group stopped', { class: kind, error: describe(error), index });
    for (const timer of this.timers) clearInterval(timer);
    this.state.apply.stop();
    this.stepDown();
    void this.loop.stop();
    void this.state.maintenance.stop();
    void this.parts.peers.stop();
    this.answerAll();
  }

  private answerAll(): void {
    this.intake.failAll(() => new QueenError('retry'));
    this.rounds.failAll(() => new QueenError('retry'));
    this.pops.failAll(() => new QueenError('retry'));
  }

  private throwIfStopped(): void {
    if (this.failure === null) return;
    throw new Error(`the group stopped while it started: ${this.failure.error}`);
  }
}

function toWalEntry(entry: Entry): {
  readonly index: LogIndex;
  readonly term: Term;
  readonly kind: 'normal' | 'membership' | 'empty';
  readonly parts: readonly Uint8Array[];
} {
  const { index, term, data } = entry;
  const kind = isEmptyEntry(entry) ? 'empty' : entry.kind;
  return { index, term, kind, parts: data.length === 0 ? [] : [data] };
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
