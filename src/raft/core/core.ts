/**
 * RaftCore: the consensus state machine of one group member, without clock, disk, network or
 * randomness of its own. The driver feeds ticks, messages and acknowledgements and carries out what
 * `takeReady` returns. Calls must not be nested, and one driver owns the instance.
 *
 * Driver's duties (raft-core.md D1-D7): hold back messages of a Ready whose ballot changed until it is
 * synced; acknowledge each Ready once, in order; report the outcome of every snapshot sent.
 */
import type { LogIndex, NodeId } from '../../common/ids.js';
import { startElection } from './election.js';
import { forgetLeader } from './follower.js';
import { resumeReplication } from './leader.js';
import { RaftLog } from './log.js';
import { encodeConfigChange } from './membership-codec.js';
import { adoptConfig, applied, applyChange, proposeEntries } from './membership-change.js';
import type { ProposeResult } from './membership-change.js';
import { canonicalConfig, reconcileProgress } from './membership.js';
import { isResponse, type Message } from './messages.js';
import { resolveOptions, type CoreOptions } from './options.js';
import { ReadQueue } from './read-queue.js';
import { requestRead, type ReadResult } from './reads.js';
import { hasReady, reportedAtStart, takeReady, type Reported } from './ready.js';
import { handleSnapshotReport, handleUnreachable, type Proposal } from './replication.js';
import { becomeFollower, send, trace, type CoreState, type StepResult } from './state.js';
import { statusOf, type CoreStatus } from './status.js';
import { isWellFormed, stepMessage, tickState } from './step.js';
import { transferLeadership, type TransferResult } from './transfer.js';
import {
  NO_INDEX,
  NO_NODE,
  NO_TERM,
  type ConfigChange,
  type ConfigState,
  type PersistAck,
  type ReadContext,
  type Ready,
} from './types.js';

export class RaftCore {
  private readonly state: CoreState;
  private readonly reported: Reported;

  constructor(options: CoreOptions) {
    this.state = createState(options);
    this.reported = reportedAtStart(this.state);
  }

  /** One unit of time. The driver caps catch-up after a stall: one call, not many. */
  tick(): void {
    tickState(this.state);
  }

  /** A message from another member. Throws only InvariantViolation. */
  step(message: Message): StepResult {
    const { state } = this;
    if (message.to !== state.id || message.from === state.id) return 'invalid';
    if (isResponse(message) && !state.progress.has(message.from)) return 'unknown-peer';
    if (!isWellFormed(message)) return 'invalid';
    return stepMessage(state, message);
  }

  /** Appends on the leader; the entry may still be lost until it is committed. */
  propose(data: Uint8Array): ProposeResult {
    return this.proposeAny({ kind: 'normal', data });
  }

  /** No changes = leave the joint state. */
  proposeChange(change: ConfigChange): ProposeResult {
    return this.proposeAny({ kind: 'membership', data: encodeConfigChange(change) });
  }

  /** The answer comes as a ReadState of a later Ready, or never: ask again after role changes. */
  readIndex(context: ReadContext): ReadResult {
    return requestRead(this.state, context);
  }

  transferLeadership(to: NodeId): TransferResult {
    return transferLeadership(this.state, to);
  }

  /** Election now, as if the timeout had passed. False when this node must not or leads already. */
  campaign(): boolean {
    return startElection(this.state, 'timeout');
  }

  /** Follower only: stop protecting the leader; term, vote and timer stay. */
  forgetLeader(): void {
    forgetLeader(this.state);
  }

  /** While false this node starts no election, not even when told to by a transfer. */
  setCampaigning(allowed: boolean): void {
    const { state } = this;
    state.mayCampaign = allowed;
    const asking = state.role === 'candidate' || state.role === 'pre-candidate';
    if (!allowed && asking) becomeFollower(state, state.term, NO_NODE);
  }

  reportUnreachable(id: NodeId): void {
    handleUnreachable(this.state, id);
  }

  /** Must be called for every snapshot message, also on timeout or lost connection (rule D4). */
  reportSnapshot(id: NodeId, outcome: 'sent' | 'failed'): void {
    handleSnapshotReport(this.state, { id, sent: outcome === 'sent' });
  }

  hasReady(): boolean {
    return hasReady(this.state, this.reported);
  }

  takeReady(): Ready {
    return takeReady(this.state, this.reported);
  }

  /** Everything of the Ready that carried `ack`, and of those before it, is durable. */
  onPersisted(ack: PersistAck): void {
    const { state } = this;
    for (const message of ack.selfMessages) stepMessage(state, message);
    if (ack.index !== NO_INDEX) {
      // Written by an earlier term: a later write may be about to replace it in storage (ABA).
      if (ack.term < state.term) {
        trace(state, () => ({ type: 'stale-persist-ack', term: state.term, ackTerm: ack.term }));
      } else {
        state.log.unstable.stableTo(ack.index, ack.indexTerm);
      }
    }
    if (ack.snapshotIndex === NO_INDEX) return;
    state.log.unstable.snapshotStableTo(ack.snapshotIndex);
    applied(state, ack.snapshotIndex);
  }

  /** The state machine has everything up to `index`. */
  onApplied(index: LogIndex): void {
    applied(this.state, index);
  }

  /** The driver applies the membership entry at `index`; call it before `onApplied(index)`. */
  applyConfigChange(change: ConfigChange, index: LogIndex): ConfigState {
    return applyChange(this.state, change, index);
  }

  /** The first membership of a node that was started without one: an entry tells it. */
  adoptConfig(config: ConfigState): void {
    adoptConfig(this.state, config);
  }

  /** Entries the LogReader answered `loading` for can be read now. */
  onLogLoaded(): void {
    this.state.log.resume();
    resumeReplication(this.state);
  }

  status(): CoreStatus {
    return statusOf(this.state);
  }

  private proposeAny(proposal: Proposal): ProposeResult {
    const { state } = this;
    if (state.role === 'leader') return proposeEntries(state, [proposal]);
    if (state.leader === NO_NODE || !state.options.forwardProposals) {
      const reason = state.leader === NO_NODE ? 'no-leader' : 'not-leader';
      trace(state, () => ({ type: 'proposal-dropped', reason, term: state.term }));
      return { outcome: 'refused', reason };
    }
    const entry = Object.freeze({ term: NO_TERM, index: NO_INDEX, ...proposal });
    const entries = Object.freeze([entry]);
    send(state, { kind: 'propose', from: state.id, to: state.leader, term: NO_TERM, entries });
    return { outcome: 'forwarded' };
  }
}

function createState(given: CoreOptions): CoreState {
  const options = resolveOptions(given);
  const { hardState, config } = given.log.initialState();
  const log = new RaftLog({
    reader: given.log,
    maxApplyingBytes: options.maxApplyingBytes,
    applyOnlyStable: options.asyncStorage,
    trace: options.trace,
  });
  // What the state machine holds was committed, whatever the last hard state that reached the disk.
  log.loadCommit(hardState.commit);
  log.loadCommit(options.applied);
  if (options.applied > log.applied) log.appliedTo(options.applied);
  const canonical = canonicalConfig(config);
  const limits = {
    maxMessages: options.maxInflightMessages,
    maxBytes: options.maxInflightBytes,
  };
  const state: CoreState = {
    id: options.id,
    options,
    log,
    reads: new ReadQueue(options.maxPendingReads),
    term: hardState.term,
    vote: hardState.vote,
    role: 'follower',
    leader: NO_NODE,
    termLeader: NO_NODE,
    config: canonical,
    configIndex: log.applied,
    progress: reconcileProgress(canonical, new Map(), { lastIndex: log.lastIndex(), limits }),
    votes: new Map(),
    transferee: NO_NODE,
    pendingChangeIndex: NO_INDEX,
    termStart: NO_INDEX,
    uncommittedBytes: 0,
    ticks: 0,
    electionElapsed: 0,
    heartbeatElapsed: 0,
    randomizedTimeout: 0,
    mayCampaign: true,
    messages: [],
    afterPersist: [],
    readStates: [],
  };
  trace(state, () => ({ type: 'config-switched', config: canonical }));
  becomeFollower(state, hardState.term, NO_NODE);
  trace(state, () => ({
    type: 'node-started',
    voters: canonical.voters,
    term: state.term,
    commit: log.committed,
    applied: log.applied,
    last: log.last(),
  }));
  return state;
}
