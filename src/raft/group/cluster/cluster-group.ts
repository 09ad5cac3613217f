/**
 * A member of a replicated group. Any node takes commands, pops and reads; the leader alone gives the
 * log its order. A command is answered by the node that was asked, when that node has applied the
 * committed entry. Reading path: submit → Intake → CommandRoutes → (leader) EntryPacker → RaftLoop →
 * commit → ApplyLoop → outcome. A failed log, store or apply stops the group for good.
 */
import { QueenError } from '../../../common/errors.js';
import { micros } from '../../../common/ids.js';
import type { GroupId, LogIndex, Micros, Term } from '../../../common/ids.js';
import { CommandKind } from '../../../machine/commands/catalogue.js';
import type { GrantOutcome, Outcome } from '../../../machine/commands/catalogue.js';
import type { MachineEvents } from '../../../machine/machine.js';
import type { Tables } from '../../../machine/tables/tables.js';
import type { Entry, SoftState } from '../../core/index.js';
import * as failures from '../apply-failure.js';
import type { CallOptions, ClusterSide, Group, GroupStatus } from '../group.js';
import type { GroupView, IdSpan, MembersView, PayloadCipher, PopAnswer } from '../group.js';
import type { PopRequest, PreparedCommand, RecordPlace, StoredMessage } from '../group.js';
import { CoordinatorSet } from '../coordinator-set.js';
import { growthRefusal } from '../growth.js';
import type { ResolvedIds } from '../id-resolver.js';
import type { DispatcherHost } from '../local-group.js';
import { LogClock } from '../log-clock.js';
import type { CoordinatorPort, DispatcherPort, LogEntry } from '../ports.js';
import { loadColumns } from '../recovery.js';
import type { ClusterGroupParts } from './cluster-parts.js';
import { ClusterWiring, sentAwayError, type ClusterHost } from './cluster-wiring.js';
import { isDamage } from '../log-errors.js';
import { settleMembership } from './first-start.js';
import { Housekeeping } from './housekeeping.js';
import { toLogEntry } from './log-entries.js';
import type { RoleChange } from './member-role.js';
import { MEMBERSHIP_QUESTION } from './membership-desk.js';
import { peerHandlers } from './peer-desk.js';
import type { PeerChannel } from './peer-port.js';
import { VoteRight } from './vote-right.js';

const VIEW_EVERY_SWEEPS = 2;
/** A grant is handed back for as long as its lease runs, at least and at most this long. */
const HAND_BACK_MIN_MS = 1_000;
const HAND_BACK_MAX_MS = 60_000;
/** After leadership was handed over: calls in flight may still be answered for this long. */
const DRAIN_MS = 300;
const DRAIN_POLL_MS = 5;

type Failure = NonNullable<GroupStatus['failure']>;

export class ClusterGroup implements Group, ClusterHost, DispatcherHost {
  readonly id: GroupId;
  readonly tables: Tables;
  readonly cipher: PayloadCipher | null;
  readonly keepsCommands = true;
  private readonly own: ClusterWiring;
  private readonly housekeeping: Housekeeping;
  /** Membership entries on their way through apply. */
  private readonly changes = new Map<number, Entry>();
  private readonly coordinators = new CoordinatorSet();
  private dispatcher: DispatcherPort | null = null;
  private logClock: LogClock;
  private failure: Failure | null = null;
  private stopped = false;
  private admitted = false;
  private sweeps = 0;
  private stopping: Promise<void> | null = null;
  private readonly notes: failures.StopNotes;

  constructor(private readonly parts: ClusterGroupParts) {
    this.id = parts.id;
    this.cipher = parts.cipher ?? null;
    this.notes = parts.stopNotes ?? failures.NO_NOTES;
    this.logClock = new LogClock(parts.clock, 0);
    this.own = new ClusterWiring(parts, this);
    this.tables = this.own.state.tables;
    this.housekeeping = new Housekeeping({
      tickMs: parts.timing.tickMs,
      log: parts.log,
      tick: () => {
        const lateMs = this.own.watch.ticked();
        if (!this.stopped) this.own.loop.tick();
        return lateMs;
      },
      sweep: () => this.sweep(),
    });
  }

  /**
   * Loads, checks with the peers that this directory may vote, and takes part. Resolves when the node
   * serves (its session is open), or after the boot wait: it then serves 503 until it can.
   */
  async start(): Promise<void> {
    const { wal, store, machine, ids, log, peers } = this.parts;
    const { state, pops, sessions, watch } = this.own;
    const right = new VoteRight(this.parts, this.tables.sessions);
    state.events.listen({ granted: (grant) => pops.granted(grant) });
    await loadColumns({ store, machine, ids, wal: this.parts.walPort, log });
    await peers.start(
      peerHandlers({
        ...{ ...this.own, tables: this.tables, commands: machine.commands, log, wal },
        ...{ nodeId: this.parts.nodeId, kinds: this.parts.kinds },
        ...{ applied: () => state.appliedIndex, lastIndex: () => wal.lastIndex },
        mayVote: () => right.mayVote,
        takesPart: () => this.takesPart(),
        ...{ leader: () => this.own.role.leader, reroute: () => this.reroute() },
      }),
    );
    peers.answer(MEMBERSHIP_QUESTION, (text) => this.own.membership.answer(text));
    right.joins = await settleMembership(this.parts, this.own.book);
    this.admitted = true;
    state.checkpointer.start();
    state.maintenance.start();
    watch.ticked();
    this.housekeeping.start();
    // A node that joins has nobody to wait for: it is added when it runs.
    if (this.own.book.ids.length === 0) return this.throwIfStopped();
    if (!(await sessions.waitOpen(this.parts.timing.bootWaitMs))) {
      log.warn('raft: no leader yet; serving 503 until one is elected', {});
    }
    this.throwIfStopped();
  }

  attachDispatcher(dispatcher: DispatcherPort): void {
    this.dispatcher = dispatcher;
    if (this.own.role.established) dispatcher.start();
  }

  attachCoordinator(coordinator: CoordinatorPort): void {
    this.coordinators.add(coordinator);
  }

  /** Before the HTTP port closes: pops that wait here are answered at once. */
  releasePops(): void {
    this.own.pops.answerAllEmpty();
  }

  term(): Term {
    return this.own.role.term;
  }

  damaged(error: Error): void {
    if (isDamage(error)) this.own.state.logDamaged(error);
    else this.stateFailed(error);
  }

  submit(command: PreparedCommand, options: CallOptions): Promise<Outcome> {
    if (this.stopped) return Promise.reject(new QueenError('retry'));
    const refusal = growthRefusal(command, this.parts);
    if (refusal !== undefined) return Promise.reject(refusal);
    return this.whenLed(options, () => this.own.intake.submit(command.bytes, options));
  }

  propose(command: PreparedCommand): Promise<Outcome> {
    if (!this.own.role.established) return Promise.reject(new QueenError('retry'));
    return this.own.intake.propose(command.bytes);
  }

  pop(request: PopRequest, options: CallOptions): Promise<PopAnswer> {
    if (this.stopped || this.own.state.returns.isEnding)
      return Promise.reject(new QueenError('retry'));
    return this.whenLed(options, () => this.own.pops.pop(request, options));
  }

  /** A command of the session like any other: sent again until a leader took it or the lease ends. */
  handBack(grant: GrantOutcome): void {
    if (this.stopped || grant.ranges.length === 0) return;
    const leaseMs = (grant.expiresAt - this.nowMicros()) / 1000;
    const waitMs = Math.min(HAND_BACK_MAX_MS, Math.max(HAND_BACK_MIN_MS, leaseMs));
    const bytes = this.parts.machine.commands.unclaim(grant);
    const sent = this.own.intake.submit(bytes, { deadlineMs: this.own.nowMs() + waitMs });
    this.own.state.returns.track(sent);
  }

  readBarrier(options: CallOptions): Promise<void> {
    if (this.stopped) return Promise.reject(new QueenError('retry'));
    return this.whenLed(options, () => this.own.rounds.wait(options));
  }

  readMessages(partitionId: number, first: number, last: number): Promise<StoredMessage[]> {
    return this.own.state.readMessages(partitionId, first, last);
  }

  readRecord(place: RecordPlace): Promise<Uint8Array> {
    return this.own.state.readRecord(place);
  }

  findIds(partitionId: number, hashes: Uint8Array, span: IdSpan): Promise<ResolvedIds> {
    return this.own.state.findIds(partitionId, hashes, span);
  }

  view(): Promise<GroupView> {
    return this.own.state.view();
  }

  status(): GroupStatus {
    const { nodeId, store, machine, kinds } = this.parts;
    const { role, state, loop, intake, packer, watch } = this.own;
    const core = loop.status();
    return {
      nodeId,
      role: this.stopped ? 'stopped' : role.shown(core),
      leader: this.stopped || !role.hasLeader ? null : role.leader,
      term: core.term,
      applied: state.appliedIndex,
      commit: core.commit,
      durable: store.durableIndex,
      lastLog: this.parts.wal.lastIndex,
      lagMs: this.lagMs(core.commit),
      quorumAckMs: this.stopped ? null : watch.quorumAckMs(core),
      storageReady: !this.stopped,
      storageFull: this.parts.diskGate?.isFull ?? false,
      clusterVersion: machine.machine.clusterVersion(),
      kinds,
      failure: this.failure,
      skipped: this.notes.skipped,
      inflight: intake.waiting,
      proposals: packer.proposals,
    };
  }

  get channel(): PeerChannel | undefined {
    return this.parts.peers.channel;
  }

  membersView(): MembersView | null {
    const { watch, loop } = this.own;
    const status = loop.status();
    const view = status.role === 'leader' ? watch.buildView(status) : watch.lastView;
    if (view === null) return null;
    const members = view.members.map(({ id, ...seen }) => ({ nodeId: id, ...seen }));
    return { leader: view.leader, ageMs: Math.round(watch.viewAgeMs), members };
  }

  get cluster(): ClusterSide {
    const { book, membership } = this.own;
    return { membership, members: () => ({ ...book.members, addresses: book.addresses }) };
  }

  listen(events: Partial<MachineEvents>): () => void {
    return this.own.state.events.listen(events);
  }

  nowMicros(): Micros {
    // A follower's own clock may be behind what the leader stamped already.
    return micros(Math.max(this.logClock.now(), this.parts.machine.machine.lastStamp()));
  }

  /** Part of OutcomeSink: apply tells what a command did. */
  outcome(session: number, sequence: number, outcome: Outcome): void {
    if (outcome.kind === CommandKind.OpenSession) this.own.sessions.applied(sequence, outcome);
    this.own.intake.settle(session, sequence, outcome);
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
    if (this.stopped) return;
    this.own.leaderWait.leaving();
    this.own.loop.setCampaigning(false);
    await this.own.handOff().run();
  }

  private async shutDown(graceful: boolean): Promise<void> {
    const serving = graceful && !this.stopped;
    if (serving) {
      await this.leave();
      await this.drain();
    }
    const healthy = serving && this.failure === null;
    this.stopped = true;
    this.housekeeping.stop();
    this.stepDown();
    this.answerAll();
    await this.parts.peers.stop();
    await this.own.snapshots.stop();
    await this.own.loop.stop();
    await this.own.state.stop(healthy);
    this.own.wheel.stop();
  }

  /** What was sent to the new leader is answered by its apply here, if that comes soon. */
  private async drain(): Promise<void> {
    const { intake, role, nowMs } = this.own;
    const untilMs = nowMs() + DRAIN_MS;
    while (intake.waiting > 0 && role.target !== 0 && nowMs() < untilMs && !this.stopped) {
      await new Promise((resolve) => {
        setTimeout(resolve, DRAIN_POLL_MS);
      });
    }
  }

  // --- what the parts ask of the group -----------------------------------------------------------

  servingDispatcher(): DispatcherPort | null {
    return this.own.role.established ? this.dispatcher : null;
  }

  quorumAckMs(): number {
    return this.own.watch.quorumAckMs(this.own.loop.status()) ?? Infinity;
  }

  softStateChanged(state: SoftState): void {
    const { role, loop } = this.own;
    const before = role.leader;
    const change = role.changed(state, loop.term);
    if (before !== state.leader) {
      this.parts.log.info('raft: leader changed', { leader: state.leader, term: role.term });
    }
    this.roleChanged(change);
    if (role.hasLeader) this.own.leaderWait.release();
  }

  termMoved(): void {
    this.roleChanged(this.own.role.termMoved(this.own.loop.term));
  }

  committed(entries: readonly Entry[]): void {
    const last = entries[entries.length - 1];
    if (last === undefined) return;
    this.own.packer.commitMoved(last.index);
    for (const entry of entries) {
      if (entry.kind === 'membership') this.changes.set(entry.index, entry);
    }
    this.own.state.commit(entries.map(toLogEntry));
  }

  applied(entry: LogEntry): void {
    const { loop, role, rounds, state, divergence } = this.own;
    const change = this.changes.get(entry.index);
    if (change !== undefined) this.applyMembership(change);
    loop.applied(entry.index);
    divergence.applied(entry.index, this.parts.machine.machine.digest());
    if (role.establish(entry.term)) this.serve();
    this.own.flow.applied(entry.index);
    this.notes.applied(entry, change === undefined && failures.isMarker(entry));
    rounds.applied(entry.index);
    this.own.waiters.applied(entry.index);
    state.checkpointer.poll();
  }

  applyFailed(entry: LogEntry, error: unknown): void {
    this.own.state.checkpointer.freeze();
    const failure = failures.applyFailureOf(entry, error);
    this.notes.applyFailed(failure);
    this.parts.log.error(failures.failureLine(failure, this.parts.id), { ...failure });
    this.poison(failure);
  }

  logDamaged(error: unknown): void {
    this.notes.damaged(error);
    this.own.pops.sendAway();
    this.dispatcher?.stop();
    this.dispatcher = null;
  }

  stateFailed(error: unknown): void {
    this.notes.damaged(error);
    this.poison(failures.localFailure(error, this.own.state.appliedIndex));
  }

  logFailed(error: unknown): void {
    this.notes.damaged(error);
    const failure = failures.localFailure(error, this.parts.wal.lastIndex);
    this.poison(failure);
    this.parts.log.error('raft log writer poisoned; node stops', { why: failure.error });
  }

  diverged(index: LogIndex): void {
    const error = `the state at index ${index} differs from that of a majority`;
    this.poison({ class: 'DIVERGED', error, index });
  }

  takesPart(): boolean {
    return this.admitted && !this.stopped;
  }

  isStopped(): boolean {
    return this.stopped;
  }

  /** A received snapshot waits: this node answers nobody any more and writes no further entry. */
  async haltForRestart(): Promise<void> {
    this.stopped = true;
    this.housekeeping.stop();
    this.own.state.apply.stop();
    this.stepDown();
    this.answerAll();
    await this.own.loop.stop();
  }

  private sweep(): void {
    if (this.stopped) return;
    const { sessions, rounds, routes, packer, pops, popServer, divergence, role } = this.own;
    const { purge, caretaker, snapshots, leaderWait } = this.own;
    leaderWait.tick();
    if (leaderWait.isHopeless) this.answerAll();
    this.sweeps += 1;
    sessions.tick();
    rounds.tick();
    routes.tick();
    packer.tick();
    pops.tick();
    popServer.tick();
    divergence.tick();
    purge.tick();
    snapshots.tick();
    caretaker.tick();
    if (role.leads && this.sweeps % VIEW_EVERY_SWEEPS === 0) {
      this.parts.peers.broadcastView(this.own.watch.buildView(this.own.loop.status()));
    }
  }

  private roleChanged(change: RoleChange): void {
    if (change.steppedDown) this.stepDown();
    if (change.reroute) this.reroute();
  }

  private whenLed<T>(options: CallOptions, run: () => Promise<T>): Promise<T> {
    return this.own.leaderWait.until(options.deadlineMs)?.then(run) ?? run();
  }

  private stepDown(): void {
    this.own.role.resign();
    this.own.packer.close();
    this.dispatcher?.stop();
    this.coordinators.stop();
    this.own.intake.failProposals(() => new QueenError('retry'));
  }

  private serve(): void {
    this.logClock = new LogClock(this.parts.clock, this.parts.machine.machine.lastStamp());
    this.own.packer.open(this.logClock, this.own.loop.status().lastIndex);
    this.dispatcher?.start();
    this.coordinators.start();
    this.reroute();
  }

  private reroute(): void {
    if (this.stopped) return;
    const { rounds, sessions, routes, pops } = this.own;
    rounds.restart();
    sessions.again();
    routes.rerouteAll();
    pops.rerouteAll();
  }

  private applyMembership(entry: Entry): void {
    this.changes.delete(entry.index);
    this.own.book.apply(entry);
  }

  private lagMs(commit: LogIndex): number {
    if (this.own.role.leads) return 0;
    const { state, watch } = this.own;
    const behind = Math.max(commit, watch.leaderCommit) - state.appliedIndex;
    if (behind <= this.parts.timing.readyLagEntries) return 0;
    const stamp = this.parts.machine.machine.lastStamp();
    return Math.max(0, this.parts.clock.nowMs() - Math.trunc(stamp / 1000));
  }

  private poison(failure: Failure): void {
    if (this.failure !== null) return;
    this.failure = failure;
    this.stopped = true;
    const { class: kind, error, index } = failure;
    this.parts.log.error('group stopped', { class: kind, error, index });
    if (this.stopping !== null) return;
    this.housekeeping.stop();
    this.own.state.apply.stop();
    this.stepDown();
    void this.own.loop.stop();
    void this.own.state.maintenance.stop();
    void this.parts.peers.stop();
    this.answerAll();
  }

  private answerAll(): void {
    const { intake, rounds, pops, sessions, waiters } = this.own;
    waiters.stop();
    this.own.leaderWait.failAll();
    intake.failAll(sentAwayError);
    rounds.failAll(() => new QueenError('retry'));
    pops.failAll(() => new QueenError('retry'));
    sessions.stop();
  }

  private throwIfStopped(): void {
    // An entry that nobody can apply: the node stays up and tells (cluster.md §2.9).
    if (this.failure === null || this.failure.class === failures.DETERMINISTIC) return;
    throw new Error(`the group stopped while it started: ${this.failure.error}`);
  }
}
