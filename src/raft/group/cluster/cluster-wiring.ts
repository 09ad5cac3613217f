/**
 * Builds the collaborators of a cluster member and ties them together. No behaviour of its own: what a
 * part may ask of another is written here once, as the port it is given.
 */
import { QueenError } from '../../../common/errors.js';
import type { LogIndex, NodeId } from '../../../common/ids.js';
import { StageFigures } from '../../../common/stage-figures.js';
import { logIndex } from '../../../common/ids.js';
import { COMMAND_HEADER, CommandKind } from '../../../machine/commands/catalogue.js';
import type { GrantOutcome } from '../../../machine/commands/catalogue.js';
import type { OutcomeSink } from '../../../machine/machine.js';
import type { Entry, SoftState } from '../../core/index.js';
import type { Call } from '../call.js';
import { CommandFlow } from '../command-flow.js';
import { DeadlineWheel } from '../deadline-wheel.js';
import { patchCommand } from '../entry-payload.js';
import { Intake } from '../intake.js';
import type { DispatcherPort, LogEntry } from '../ports.js';
import { StateSide } from '../state-side.js';
import { AppliedWaiters } from './applied-waiters.js';
import { Caretaker } from './caretaker.js';
import type { ClusterGroupParts } from './cluster-parts.js';
import { CommandRoutes } from './command-routes.js';
import { DivergenceWatch } from './divergence-watch.js';
import { DurableLog } from './durable-log.js';
import { EntryPacker } from './entry-packer.js';
import { membersAtStart } from './first-start.js';
import { HandOff } from './hand-off.js';
import { toLogEntry } from './log-entries.js';
import { LeaderWait } from './leader-wait.js';
import { LeaveRecord } from './leave-record.js';
import { LogPurge } from './log-purge.js';
import { MemberBook } from './member-book.js';
import { MemberRole } from './member-role.js';
import { LOG_KEEP_BYTES, LOG_KEEP_ENTRIES } from '../log-kept.js';
import { MembershipDesk } from './membership-desk.js';
import { PopRouter } from './pop-router.js';
import { PopServer } from './pop-server.js';
import { PreferredLeader } from './preferred-leader.js';
import { QuorumWatch } from './quorum-watch.js';
import { RaftLoop } from './raft-loop.js';
import { ReadRounds } from './read-rounds.js';
import { SessionOpener } from './session-opener.js';
import { SnapshotDesk } from './snapshot-desk.js';
import { StableLog } from './stable-log.js';

const TWO_16 = 0x1_0000;
const TWO_24 = 0x100_0000;
const TWO_32 = 0x1_0000_0000;
/** Without a majority heard for this long, new entries wait outside the raft layer (cluster.md §1.7). */
const SILENT_QUORUM_MS = 1_500;
/** Grants go to nodes that are at most this far behind. */
const GRANT_LAG_ENTRIES = 1_000;
const PURGE_HOLD_MS = 600_000;
const PROMOTE_MAX_LAG = 1_000;
const CLUSTER_VERSION_MS = 1_000;
/** Members count as live when heard within two election timeouts, at least within this time. */
const LEAST_LIVE_MS = 1_000;

/** What the parts ask of the group itself. */
export interface ClusterHost extends OutcomeSink {
  nowMicros(): number;
  /** The dispatcher while this node serves as leader. */
  servingDispatcher(): DispatcherPort | null;
  quorumAckMs(): number;
  handBack(grant: GrantOutcome): void;
  softStateChanged(state: SoftState): void;
  termMoved(): void;
  committed(entries: readonly Entry[]): void;
  applied(entry: LogEntry): void;
  applyFailed(entry: LogEntry, error: unknown): void;
  /** Grants nothing more, what is on its way is handed back; the note outlives a kill meanwhile. */
  logDamaged(error: unknown): void;
  stateFailed(error: unknown): void;
  logFailed(error: unknown): void;
  diverged(index: LogIndex): void;
  takesPart(): boolean;
  isStopped(): boolean;
  /** A snapshot is staged: nothing is acknowledged any more when this resolves. */
  haltForRestart(): Promise<void>;
}

/** A call whose outcome never came: in doubt once it went out. */
export function unresolvedError(call: Call, hasLeader: boolean): QueenError {
  if (!call.sent) return new QueenError(hasLeader ? 'timeout' : 'no_leader');
  return new QueenError(isAck(call) ? 'outcome_unknown' : 'timeout');
}

/** Everybody is sent away (stop, failure): what went out may have had its effect. */
export function sentAwayError(call: Call): QueenError {
  return new QueenError(call.sent && isAck(call) ? 'outcome_unknown' : 'retry');
}

function isAck(call: Call): boolean {
  return call.bytes[COMMAND_HEADER.kind] === CommandKind.Ack;
}

export class ClusterWiring {
  readonly nowMs: () => number;
  readonly role: MemberRole;
  readonly wheel: DeadlineWheel;
  readonly watch: QuorumWatch;
  readonly state: StateSide;
  readonly intake: Intake;
  readonly packer: EntryPacker;
  readonly routes: CommandRoutes;
  readonly rounds: ReadRounds;
  readonly pops: PopRouter;
  readonly popServer: PopServer;
  readonly waiters: AppliedWaiters;
  readonly sessions: SessionOpener;
  readonly divergence: DivergenceWatch;
  readonly stable: StableLog;
  readonly loop: RaftLoop;
  readonly book: MemberBook;
  readonly membership: MembershipDesk;
  readonly snapshots: SnapshotDesk;
  readonly purge: LogPurge;
  readonly caretaker: Caretaker;
  readonly leaderWait: LeaderWait;
  readonly leavers: LeaveRecord;
  readonly flow: CommandFlow;

  constructor(
    private readonly parts: ClusterGroupParts,
    private readonly host: ClusterHost,
  ) {
    const { clock, timing, wal } = parts;
    this.nowMs = (): number => clock.monotonicMicros() / 1000;
    this.flow = new CommandFlow(parts.stages ?? new StageFigures(), this.nowMs);
    this.role = new MemberRole(parts.nodeId, wal.hardState.term);
    this.leavers = new LeaveRecord(this.nowMs);
    this.leaderWait = this.buildLeaderWait();
    this.wheel = new DeadlineWheel(this.nowMs);
    this.watch = new QuorumWatch(this.nowMs, timing.tickMs);
    this.state = this.buildState();
    this.intake = new Intake(
      this.wheel,
      (call) => this.forwardCall(call),
      (1 + parts.random(TWO_16 - 2)) * TWO_32,
      (call) => unresolvedError(call, this.role.hasLeader),
    );
    this.packer = this.buildPacker();
    this.routes = this.buildRoutes();
    this.rounds = this.buildRounds();
    this.pops = this.buildPops();
    this.waiters = new AppliedWaiters({
      commit: () => this.loop.status().commit,
      applied: () => this.state.appliedIndex,
    });
    this.popServer = new PopServer({
      nowMs: this.nowMs,
      caughtUp: () => this.waiters.caughtUp(),
      dispatcher: () => host.servingDispatcher(),
      isQuorumFresh: () => this.isQuorumFresh(),
      mayGrant: (node) => {
        const { peers, commit } = this.loop.status();
        const peer = peers.find(({ id }) => id === node);
        if (peer === undefined || commit - peer.match > GRANT_LAG_ENTRIES) return false;
        return this.watch.memberAckMs(peer) <= timing.leaderLeaseMs;
      },
    });
    this.sessions = this.buildSessions();
    this.divergence = this.buildDivergence();
    const first = membersAtStart(parts);
    this.book = new MemberBook(
      {
        self: parts.nodeId,
        rows: parts.rows,
        rowKey: parts.machine.membersKey,
        peers: parts.peers,
        own: parts.first.own,
        generation: () => wal.generation,
        startGeneration: (generation) => {
          wal.startGeneration(generation).catch((error: unknown) => host.logFailed(error));
        },
        loop: () => this.loop,
      },
      first,
    );
    this.snapshots = this.buildSnapshots();
    this.stable = new StableLog(wal, {
      cacheBytes: timing.logCacheBytes,
      config: first.config,
      snapshotFor: (peer) => this.snapshots.snapshotFor(peer),
      loaded: () => this.loop.logLoaded(),
      failed: (error) => host.logFailed(error),
    });
    this.loop = this.buildLoop();
    this.purge = this.buildPurge();
    this.caretaker = this.buildCaretaker();
    this.membership = this.buildMembership();
  }

  private isQuorumFresh(): boolean {
    return this.host.quorumAckMs() <= this.parts.timing.leaderLeaseMs;
  }

  private forwardCall(call: Call): void {
    // A proposal (session 0) is the leader's own: it never travels.
    if (call.inSession) this.routes.route(call);
    else if (!this.packer.add(call.bytes, call)) call.fail(new QueenError('retry'));
  }

  private submitOpenSession(nonce: number): void {
    const { nodeId, directoryId, machine, peers } = this.parts;
    const bootCount = this.state.tables.sessions.bootCountOf(nodeId) + 1;
    const bytes = machine.commands.openSession(nodeId, directoryId, bootCount);
    patchCommand(bytes, { session: 0, sequence: nonce, floor: 0 });
    const { target } = this.role;
    if (target === nodeId) this.packer.add(bytes, null);
    else if (target !== 0) peers.forwardCommand(target, bytes);
  }

  private buildLeaderWait(): LeaderWait {
    return new LeaderWait({
      holdMs: this.parts.timing.holdMs ?? Infinity,
      nowMs: this.nowMs,
      hasLeader: () => this.role.hasLeader,
    });
  }

  private buildState(): StateSide {
    const { parts, host } = this;
    return new StateSide(
      { ...parts, wal: parts.walPort, stages: this.flow.figures },
      {
        outcomes: host,
        nowMicros: () => host.nowMicros(),
        applied: (entry) => host.applied(entry),
        applyFailed: (entry, error) => host.applyFailed(entry, error),
        isGranting: () => this.intake.waitingProposals > 0 || this.pops.isRecalling,
        ending: (error) => host.logDamaged(error),
        failed: (error) => host.stateFailed(error),
      },
    );
  }

  private buildPacker(): EntryPacker {
    const { parts } = this;
    return new EntryPacker({
      flow: this.flow,
      maxInFlight: parts.timing.pipelineEntries,
      isQuorumSilent: () => this.host.quorumAckMs() > SILENT_QUORUM_MS,
      stampCall: (call) => this.intake.stampCall(call),
      propose: (data) => this.loop.propose(data),
      leads: () => this.role.leads,
      machineVersion: () => parts.machine.machine.clusterVersion(),
      term: () => this.role.term,
    });
  }

  private buildRoutes(): CommandRoutes {
    const { parts } = this;
    return new CommandRoutes({
      self: parts.nodeId,
      nowMs: this.nowMs,
      leader: () => this.role.target,
      enqueue: (call) => this.packer.add(call.bytes, call),
      stampCall: (call) => this.intake.stampCall(call),
      forward: (to, bytes) => {
        const sent = parts.peers.forwardCommand(to, bytes);
        if (sent) this.flow.figures.forwardsSent += 1;
        return sent;
      },
      eachOpen: (visit) => this.intake.eachOpen(visit),
    });
  }

  private buildRounds(): ReadRounds {
    return new ReadRounds({
      wheel: this.wheel,
      nowMs: this.nowMs,
      firstContext: (1 + this.parts.random(TWO_24)) * TWO_24,
      ask: (context) => this.loop.readIndex(context),
      applied: () => this.state.appliedIndex,
      hasLeader: () => this.role.hasLeader,
    });
  }

  private buildPops(): PopRouter {
    const { parts, host } = this;
    return new PopRouter({
      self: parts.nodeId,
      wheel: this.wheel,
      nowMs: this.nowMs,
      nowMicros: () => host.nowMicros(),
      session: () => this.intake.sessionId,
      leader: () => this.role.target,
      dispatcher: () => host.servingDispatcher(),
      isQuorumFresh: () => this.isQuorumFresh(),
      forward: (to, pop) => parts.peers.forwardPop(to, pop),
      cancel: (to, ticket) => parts.peers.cancelPop(to, ticket),
      handBack: (grant) => host.handBack(grant),
    });
  }

  private buildSessions(): SessionOpener {
    const { random, nodeId, log } = this.parts;
    return new SessionOpener({
      nodeId,
      tables: this.state.tables,
      nonce: (1 + random(TWO_24 - 1)) * TWO_24 + random(TWO_24),
      submit: (nonce) => this.submitOpenSession(nonce),
      opened: (session) => this.intake.openSession(session),
      ended: (session) => {
        log.warn('raft: the session of this node was ended by another; it is opened anew', {
          session,
        });
        this.intake.closeSession();
      },
    });
  }

  private buildDivergence(): DivergenceWatch {
    const { parts, host } = this;
    return new DivergenceWatch({
      self: parts.nodeId,
      nowMs: this.nowMs,
      leads: () => this.role.established,
      leader: () => this.role.leader,
      voters: () => this.loop.status().config.voters,
      applied: () => this.state.appliedIndex,
      sendAll: (report) => {
        for (const peer of this.book.ids) {
          if (peer !== parts.nodeId) parts.peers.sendDigest(peer, report);
        }
      },
      diverged: (index) => host.diverged(index),
      othersDiverged: (nodes, index) =>
        parts.log.error('raft: members hold another state than the majority', { nodes, index }),
    });
  }

  private buildLoop(): RaftLoop {
    const { parts, stable, host } = this;
    const { timing } = parts;
    const durable = new DurableLog(parts.wal, stable, {
      nowMs: this.nowMs,
      wrote: (entries, tookMs) => parts.walPort.wrote?.(entries.map(toLogEntry), tookMs),
    });
    return new RaftLoop(
      {
        id: parts.nodeId,
        log: stable,
        random: parts.random,
        electionTicks: timing.electionTicks,
        heartbeatTicks: timing.heartbeatTicks,
        applied: parts.store.meta?.appliedIndex ?? logIndex(0),
        preVote: true,
        checkQuorum: true,
        asyncStorage: true,
        stepDownOnRemoval: true,
      },
      {
        append: (entries, hardState) => {
          const last = entries[entries.length - 1];
          if (last !== undefined) this.flow.pickedUp(last.index);
          return durable.append(entries, hardState);
        },
        commitMoved: (commit) => durable.commitMoved(commit),
        send: (message) => {
          if (message.kind === 'snapshot') this.snapshots.send(message);
          else parts.peers.send(message);
        },
        committed: (entries) => host.committed(entries),
        softState: (state) => host.softStateChanged(state),
        termMoved: () => host.termMoved(),
        readState: (state) => this.rounds.answered(state),
        failed: (error) => host.logFailed(error),
      },
    );
  }

  /** To one of the candidates; to any voter when none are named. */
  handOff(candidates?: readonly NodeId[]): HandOff {
    const { parts, role, loop, nowMs, host, leavers } = this;
    return new HandOff({
      ...{ loop, nowMs, log: parts.log, self: parts.nodeId, tickMs: parts.timing.tickMs },
      ...(candidates === undefined ? {} : { candidates }),
      leads: () => role.leads && !host.isStopped(),
      leader: () => role.leader,
      leftRecently: (id) => leavers.isRecent(id),
    });
  }

  private buildPreferred(): PreferredLeader | null {
    const { parts, role, leavers, nowMs } = this;
    const { preferred, nodeId: self, log, timing } = parts;
    if (preferred === undefined) return null;
    const { tickMs } = timing;
    const loop = (): RaftLoop => this.loop;
    return new PreferredLeader({ self, preferred, role, leavers, log, nowMs, tickMs, loop });
  }

  private buildSnapshots(): SnapshotDesk {
    const { parts, host, nowMs } = this;
    const { nodeId, kinds, snapshots, peers, log, wal } = parts;
    return new SnapshotDesk({
      ...{ self: nodeId, kinds, snapshots, peers, log, nowMs, book: this.book },
      loop: () => this.loop,
      firstIndex: () => wal.firstIndex,
      termAt: (index) => wal.termAt(index),
      leader: () => this.role.leader,
      takesPart: () => host.takesPart(),
      halt: () => host.haltForRestart(),
      restart: () => parts.restart(),
    });
  }

  private buildPurge(): LogPurge {
    const { parts, host, nowMs, watch } = this;
    const { wal, store, timing } = parts;
    return new LogPurge({
      ...{ self: parts.nodeId, nowMs, watch },
      keepEntries: timing.logKeepEntries ?? LOG_KEEP_ENTRIES,
      holdMs: timing.purgeHoldMs ?? PURGE_HOLD_MS,
      status: () => this.loop.status(),
      durableIndex: () => store.durableIndex,
      indexBeforeKept: () => wal.indexBefore(LOG_KEEP_BYTES),
      firstIndex: () => wal.firstIndex,
      snapshotHold: () => this.snapshots.hold,
      release: (index) => {
        wal.setCommit(index);
        return wal.releaseTo(index);
      },
      failed: (error) => host.logFailed(error),
    });
  }

  private buildCaretaker(): Caretaker {
    const { parts, nowMs, book, role, watch } = this;
    const { timing, peers, log, kinds } = parts;
    const preferred = this.buildPreferred();
    return new Caretaker({
      ...{ self: parts.nodeId, kinds, peers, log, nowMs, book, role, tickMs: timing.tickMs },
      ...(preferred === null ? {} : { preferred }),
      tables: this.state.tables,
      commands: parts.machine.commands,
      clusterVersionMs: timing.clusterVersionMs ?? CLUSTER_VERSION_MS,
      handOverAfterMs: timing.electionTicks * timing.tickMs,
      loop: () => this.loop,
      clusterVersion: () => parts.machine.machine.clusterVersion(),
      unheardMs: () => watch.unheardMs(this.loop.status()),
      propose: (command) => {
        this.packer.add(command, null);
      },
    });
  }

  private buildMembership(): MembershipDesk {
    const { parts, host, nowMs, book, role, loop, watch } = this;
    const { timing, peers, log, kinds, wal } = parts;
    const electionMs = timing.electionTicks * timing.tickMs;
    return new MembershipDesk({
      ...{ self: parts.nodeId, directoryId: parts.directoryId, kinds, peers, log, nowMs },
      ...{ book, role, loop, watch },
      liveWithinMs: Math.max(LEAST_LIVE_MS, 2 * electionMs),
      promoteMaxLag: timing.promoteMaxLag ?? PROMOTE_MAX_LAG,
      clusterVersion: () => parts.machine.machine.clusterVersion(),
      lastIndex: () => wal.lastIndex,
      isStopped: () => host.isStopped(),
      handOff: (candidates) => this.handOff(candidates),
      confirmLead: (deadlineMs) => this.rounds.wait({ deadlineMs }),
      isBound: (id) => this.state.tables.sessions.directoryOf(id) !== undefined,
    });
  }
}
