/**
 * The mutable state of one core and the few moves every handler needs: sending, role changes, term
 * changes. Handlers are functions over this state; only core.ts owns an instance. Outgoing messages
 * are sorted here into those that may leave at once and those that promise durability.
 */
import type { LogIndex, NodeId, Term } from '../../common/ids.js';
import { invariant } from './invariant.js';
import type { RaftLog } from './log.js';
import type { ProgressMap } from './membership.js';
import type { Message } from './messages.js';
import type { ResolvedOptions } from './options.js';
import type { Progress } from './progress.js';
import type { ReadQueue } from './read-queue.js';
import type { NodeTraceEvent, ProgressStatus } from './trace.js';
import {
  NO_INDEX,
  NO_NODE,
  type ConfigState,
  type HardState,
  type ReadState,
  type Role,
} from './types.js';

export interface CoreState {
  readonly id: NodeId;
  readonly options: ResolvedOptions;
  readonly log: RaftLog;
  readonly reads: ReadQueue;
  term: Term;
  vote: NodeId;
  role: Role;
  leader: NodeId;
  /** Who has been seen leading this term, even after it was forgotten: there is at most one. */
  termLeader: NodeId;
  config: ConfigState;
  /** Entry or snapshot that brought `config`; older membership entries are not applied again. */
  configIndex: LogIndex;
  progress: ProgressMap;
  votes: Map<NodeId, boolean>;
  /** Target of the running transfer. */
  transferee: NodeId;
  /** No membership proposal is accepted until this index is applied. */
  pendingChangeIndex: LogIndex;
  /** Index of the empty entry that opened this leader's term. */
  termStart: LogIndex;
  uncommittedBytes: number;
  /** Ticks since start; never reset. */
  ticks: number;
  /** Follower: ticks since the leader was heard. Leader: ticks since the last quorum check. */
  electionElapsed: number;
  heartbeatElapsed: number;
  randomizedTimeout: number;
  mayCampaign: boolean;
  messages: Message[];
  afterPersist: Message[];
  readStates: ReadState[];
}

/** Result of one message. Nothing a peer sends makes `step` throw, except a broken invariant. */
export type StepResult = 'ok' | 'dropped' | 'unknown-peer' | 'invalid';

export function trace(state: CoreState, event: () => NodeTraceEvent): void {
  const { trace: sink } = state.options;
  if (sink !== undefined) sink({ node: state.id, ...event() });
}

/** Votes and acknowledgements promise that something is on disk, so they wait for it. */
export function send(state: CoreState, message: Message): void {
  Object.freeze(message);
  if (message.kind === 'append-response' || message.kind === 'vote-response') {
    state.afterPersist.push(message);
    return;
  }
  invariant(message.to !== state.id, 'message to itself', () => ({ ...dump(state), message }));
  state.messages.push(message);
}

/** Positive acknowledgement: everything up to `index` matches the leader's log once persisted. */
export function acknowledgeAppend(state: CoreState, to: NodeId, index: LogIndex): void {
  send(state, {
    kind: 'append-response',
    from: state.id,
    to,
    term: state.term,
    index,
    rejected: false,
    hintIndex: NO_INDEX,
    hintTerm: 0 as Term,
  });
}

export function hardStateOf(state: CoreState): HardState {
  return { term: state.term, vote: state.vote, commit: state.log.committed };
}

/** Start of a role: nothing of the former role survives. The vote survives within a term. */
export function resetRole(state: CoreState, term: Term): void {
  invariant(term >= state.term, 'term moved back', () => ({ ...dump(state), to: term }));
  if (term !== state.term) {
    state.term = term;
    state.vote = NO_NODE;
    state.termLeader = NO_NODE;
  }
  state.leader = NO_NODE;
  state.electionElapsed = 0;
  state.heartbeatElapsed = 0;
  state.randomizedTimeout =
    state.options.electionTicks + state.options.random(state.options.electionTicks);
  state.transferee = NO_NODE;
  state.votes = new Map();
  const lastIndex = state.log.lastIndex();
  for (const [id, progress] of state.progress) progress.reset(lastIndex, id === state.id);
  state.pendingChangeIndex = NO_INDEX;
  state.termStart = NO_INDEX;
  state.uncommittedBytes = 0;
  state.reads.reset();
}

export function becomeFollower(state: CoreState, term: Term, leader: NodeId): void {
  resetRole(state, term);
  state.role = 'follower';
  if (leader !== NO_NODE) followLeader(state, leader);
  trace(state, () => ({ type: 'role-changed', role: 'follower', term: state.term }));
}

/** A message only a leader of this term can send came from `leader`. */
export function followLeader(state: CoreState, leader: NodeId): void {
  invariant(
    state.termLeader === NO_NODE || state.termLeader === leader,
    'two leaders in one term',
    () => ({ ...dump(state), other: leader }),
  );
  state.leader = leader;
  state.termLeader = leader;
}

/** May this node ask for votes at all: a voter with no snapshot on its way in. */
export function isPromotable(state: CoreState): boolean {
  const own = state.progress.get(state.id);
  return own !== undefined && !own.isLearner && !state.log.snapshotPending();
}

export function isSingleVoter(state: CoreState): boolean {
  const { voters, outgoing } = state.config;
  return outgoing.length === 0 && voters.length === 1 && voters[0] === state.id;
}

export function progressStatus(progress: Progress): ProgressStatus {
  return {
    state: progress.state,
    match: progress.match,
    next: progress.next,
    isLearner: progress.isLearner,
    paused: progress.isPaused(),
    pendingSnapshot: progress.pendingSnapshot,
    recentActive: progress.recentActive,
    inflight: progress.inflights.count,
    inflightFull: progress.inflights.full(),
  };
}

/** State dump for a broken invariant. */
export function dump(state: CoreState): Record<string, unknown> {
  return {
    id: state.id,
    term: state.term,
    vote: state.vote,
    role: state.role,
    leader: state.leader,
    config: state.config,
    log: state.log.dump(),
  };
}
