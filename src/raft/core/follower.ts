/**
 * Follower side: appends, heartbeats and snapshots of the leader of this term, and the requests a
 * follower passes on. Candidates come here too, after they have become followers.
 */
import { logIndex } from '../../common/ids.js';
import { startElection } from './election.js';
import { switchConfig } from './membership-change.js';
import { canonicalConfig, memberIds, reconcileProgress } from './membership.js';
import type { AppendRequest, Heartbeat, Message, SnapshotRequest, TimeoutNow } from './messages.js';
import {
  acknowledgeAppend,
  followLeader,
  send,
  trace,
  type CoreState,
  type StepResult,
} from './state.js';
import { NO_NODE, type SnapshotMeta } from './types.js';

export type LeaderMessage = AppendRequest | Heartbeat | SnapshotRequest;

export function stepFollower(state: CoreState, message: Message): StepResult {
  switch (message.kind) {
    case 'append-request':
    case 'heartbeat':
    case 'snapshot':
      state.electionElapsed = 0;
      followLeader(state, message.from);
      handleLeaderMessage(state, message);
      return 'ok';
    case 'timeout-now':
      return handleTimeoutNow(state, message);
    case 'propose':
      return passOn(state, message, state.options.forwardProposals);
    case 'transfer-request':
      return passOn(state, message, true);
    case 'read-response':
      state.readStates.push(Object.freeze({ index: message.index, context: message.context }));
      return 'ok';
    case 'read-request':
      return passOn(state, message, true);
    case 'append-response':
    case 'heartbeat-response':
    case 'vote-request':
    case 'vote-response':
      return 'dropped';
  }
}

/** The sender thought this node leads; the one it follows may know better. */
function passOn(
  state: CoreState,
  message: Extract<Message, { kind: 'propose' | 'transfer-request' | 'read-request' }>,
  allowed: boolean,
): StepResult {
  if (!allowed || state.leader === NO_NODE || state.leader === message.from) return 'dropped';
  send(state, { ...message, to: state.leader });
  return 'ok';
}

export function handleLeaderMessage(state: CoreState, message: LeaderMessage): void {
  switch (message.kind) {
    case 'append-request':
      return handleAppend(state, message);
    case 'heartbeat':
      state.log.commitTo(message.commit);
      send(state, {
        kind: 'heartbeat-response',
        from: state.id,
        to: message.from,
        term: state.term,
        readRound: message.readRound,
      });
      return;
    case 'snapshot':
      return handleSnapshot(state, message);
  }
}

function handleAppend(state: CoreState, message: AppendRequest): void {
  const { log } = state;
  if (message.prevIndex < log.committed) {
    // Old or duplicate. Below the commit index nothing can conflict, so say how far we agree.
    acknowledgeAppend(state, message.from, log.committed);
    return;
  }
  const prev = { index: message.prevIndex, term: message.prevTerm };
  const last = log.tryAppend(prev, message.entries, message.commit);
  if (last !== undefined) {
    // The last entry of this message, not of our log: what follows it is not verified.
    acknowledgeAppend(state, message.from, last);
    return;
  }
  trace(state, () => ({
    type: 'append-rejected',
    from: message.from,
    own: { index: message.prevIndex, term: log.termOrZero(message.prevIndex) },
    theirTerm: message.prevTerm,
  }));
  const end = logIndex(Math.min(message.prevIndex, log.lastIndex()));
  const hint = log.lastPossibleMatch(end, message.prevTerm);
  send(state, {
    kind: 'append-response',
    from: state.id,
    to: message.from,
    term: state.term,
    index: message.prevIndex,
    rejected: true,
    hintIndex: hint.index,
    hintTerm: hint.term,
  });
}

function handleSnapshot(state: CoreState, message: SnapshotRequest): void {
  const { snapshot } = message;
  const point = { index: snapshot.index, term: snapshot.term };
  const restored = restoreSnapshot(state, snapshot);
  trace(state, () => ({
    type: restored ? 'snapshot-accepted' : 'snapshot-ignored',
    commit: state.log.committed,
    snapshot: point,
  }));
  acknowledgeAppend(state, message.from, restored ? state.log.lastIndex() : state.log.committed);
}

/** False when the snapshot brings nothing; then the log is untouched. */
function restoreSnapshot(state: CoreState, snapshot: SnapshotMeta): boolean {
  const { log } = state;
  const point = { index: snapshot.index, term: snapshot.term };
  if (snapshot.index <= log.committed) return false;
  const config = canonicalConfig(snapshot.config);
  // Outgoing-only voters count: they take part until the joint state is left.
  if (!memberIds(config).includes(state.id)) {
    trace(state, () => ({
      type: 'snapshot-not-member',
      commit: log.committed,
      snapshot: point,
    }));
    return false;
  }
  if (log.matches(point)) {
    // We hold the entry, so everything up to it: only the commit index was behind.
    log.commitTo(snapshot.index);
    trace(state, () => ({
      type: 'snapshot-fast-forwarded',
      commit: log.committed,
      last: log.last(),
      snapshot: point,
    }));
    return false;
  }
  log.restore(Object.freeze({ ...snapshot, config }));
  state.configIndex = snapshot.index;
  const start = { lastIndex: log.lastIndex(), limits: inflightLimits(state) };
  switchConfig(state, config, reconcileProgress(config, new Map(), start));
  trace(state, () => ({
    type: 'snapshot-restored',
    commit: log.committed,
    last: log.last(),
    snapshot: point,
  }));
  return true;
}

function inflightLimits(state: CoreState): { maxMessages: number; maxBytes: number } {
  const { maxInflightMessages, maxInflightBytes } = state.options;
  return { maxMessages: maxInflightMessages, maxBytes: maxInflightBytes };
}

function handleTimeoutNow(state: CoreState, message: TimeoutNow): StepResult {
  trace(state, () => ({ type: 'transfer-election', peer: message.from, term: state.term }));
  return startElection(state, 'transfer') ? 'ok' : 'dropped';
}

/** A planned stop or a known failure of the leader: let others be elected at once. */
export function forgetLeader(state: CoreState): void {
  if (state.role !== 'follower') return;
  if (state.options.readMode === 'lease') {
    trace(state, () => ({ type: 'forget-refused' }));
    return;
  }
  if (state.leader === NO_NODE) return;
  trace(state, () => ({ type: 'leader-forgotten', leader: state.leader, term: state.term }));
  state.leader = NO_NODE;
}
