/**
 * Elections: who may ask, asking, judging a request, counting answers, taking over. A pre-vote asks
 * without changing anything on either side. Term and vote reach the disk before an answer leaves
 * (votes travel with messagesAfterPersist; the driver adds rule D1 for the requests).
 */
import { term as asTerm, type NodeId, type Term } from '../../common/ids.js';
import { commitHint, learnCommit } from './commit-hint.js';
import { invariant } from './invariant.js';
import type { VoteRequest, VoteResponse } from './messages.js';
import { jointVote, voterIds, type VoteResult } from './quorum.js';
import { appendProposals, broadcastAppend } from './replication.js';
import {
  becomeFollower,
  dump,
  isPromotable,
  resetRole,
  send,
  trace,
  type CoreState,
} from './state.js';
import type { CampaignRefusal } from './trace.js';
import { NO_INDEX, NO_NODE, NO_TERM } from './types.js';

/** `transfer`: ordered by the leader, so no pre-vote and no respect for its lease. */
export type CampaignCause = 'timeout' | 'transfer';

const EMPTY = new Uint8Array(0);

/** Starts an election unless this node must not. */
export function startElection(state: CoreState, cause: CampaignCause): boolean {
  if (state.role === 'leader') return false;
  const refusal = campaignRefusal(state);
  if (refusal !== undefined) {
    trace(state, () => ({ type: 'campaign-refused', reason: refusal, term: state.term }));
    return false;
  }
  trace(state, () => ({ type: 'election-started', term: state.term }));
  const preVote = cause === 'timeout' && state.options.preVote;
  if (preVote) becomePreCandidate(state);
  else becomeCandidate(state);
  requestVotes(state, preVote, cause === 'transfer');
  return true;
}

function campaignRefusal(state: CoreState): CampaignRefusal | undefined {
  if (!state.mayCampaign) return 'disabled';
  if (!isPromotable(state)) return 'unpromotable';
  // The membership is about to change: winning by the old one could elect two leaders.
  if (state.log.hasUnappliedChange(state.options.maxApplyingBytes)) return 'pending-change';
  return undefined;
}

function becomePreCandidate(state: CoreState): void {
  invariant(state.role !== 'leader', 'leader turns pre-candidate', () => dump(state));
  // Neither term nor vote change; the timer keeps running so that a lost round is repeated.
  state.votes = new Map();
  state.leader = NO_NODE;
  state.role = 'pre-candidate';
  trace(state, () => ({ type: 'role-changed', role: 'pre-candidate', term: state.term }));
}

function becomeCandidate(state: CoreState): void {
  invariant(state.role !== 'leader', 'leader turns candidate', () => dump(state));
  resetRole(state, asTerm(state.term + 1));
  state.role = 'candidate';
  state.vote = state.id;
  trace(state, () => ({ type: 'role-changed', role: 'candidate', term: state.term }));
}

function requestVotes(state: CoreState, preVote: boolean, transfer: boolean): void {
  const term = preVote ? asTerm(state.term + 1) : state.term;
  const own = state.log.last();
  for (const id of voterIds(state.config)) {
    if (id === state.id) {
      // The own vote counts like any other: once it is on disk.
      answerVote(state, { to: id, preVote, granted: true, term });
      continue;
    }
    trace(state, () => ({ type: 'vote-requested', preVote, to: id, own, term: state.term }));
    send(state, {
      kind: 'vote-request',
      from: state.id,
      to: id,
      term,
      preVote,
      transfer,
      lastIndex: own.index,
      lastTerm: own.term,
      ...commitHint(state),
    });
  }
}

interface VoteAnswer {
  readonly to: NodeId;
  readonly preVote: boolean;
  readonly granted: boolean;
  readonly term: Term;
}

function answerVote(state: CoreState, answer: VoteAnswer): void {
  const nothing = { commitIndex: NO_INDEX, commitTerm: NO_TERM };
  const hint = answer.granted ? nothing : commitHint(state);
  send(state, { kind: 'vote-response', from: state.id, ...answer, ...hint });
}

/**
 * A leader heard from recently is protected from everyone except itself (it would not ask if it still
 * led, and refusing it could leave two of three nodes without a leader) and its chosen successor.
 */
export function isLeaseHeld(state: CoreState, request: VoteRequest): boolean {
  return (
    state.options.checkQuorum &&
    !request.transfer &&
    state.leader !== NO_NODE &&
    state.leader !== request.from &&
    state.electionElapsed < state.options.electionTicks
  );
}

/** The request is in this node's term, or a pre-vote for a later one. */
export function handleVoteRequest(state: CoreState, request: VoteRequest): void {
  const { preVote, from } = request;
  const free = state.vote === NO_NODE && state.leader === NO_NODE;
  const canVote = state.vote === from || free || (preVote && request.term > state.term);
  const candidate = { index: request.lastIndex, term: request.lastTerm };
  const granted = canVote && state.log.isUpToDate(candidate);
  traceVote(state, request, granted ? 'vote-cast' : 'vote-rejected');
  learnCommit(state, from, request);
  if (!granted) {
    answerVote(state, { to: from, preVote, granted, term: state.term });
    return;
  }
  // A granted pre-vote answers in the term asked for: the asker compares it with its next term.
  answerVote(state, { to: from, preVote, granted, term: request.term });
  if (preVote) return;
  state.electionElapsed = 0;
  state.vote = from;
}

/** Asked in a term this node has left. Pre-votes must be answered, or a mixed group deadlocks. */
export function refuseOldPreVote(state: CoreState, request: VoteRequest): void {
  traceVote(state, request, 'vote-rejected');
  learnCommit(state, request.from, request);
  answerVote(state, { to: request.from, preVote: true, granted: false, term: state.term });
}

export function traceVote(
  state: CoreState,
  request: VoteRequest,
  type: 'vote-cast' | 'vote-rejected' | 'vote-ignored',
): void {
  trace(state, () => ({
    type,
    preVote: request.preVote,
    from: request.from,
    own: state.log.last(),
    vote: state.vote,
    theirs: { index: request.lastIndex, term: request.lastTerm },
    term: state.term,
    leaseTicksLeft: state.options.electionTicks - state.electionElapsed,
  }));
}

/** Candidate or pre-candidate; an answer to the other kind of round says nothing. */
export function handleVoteResponse(state: CoreState, answer: VoteResponse): void {
  const preVote = state.role === 'pre-candidate';
  if (answer.preVote !== preVote) return;
  // A grant of an earlier pre-vote round must not count in this one.
  if (preVote && answer.granted && answer.term !== state.term + 1) return;
  const result = countVote(state, answer);
  if (result === 'won' && preVote) {
    becomeCandidate(state);
    requestVotes(state, false, false);
  } else if (result === 'won') {
    becomeLeader(state);
    broadcastAppend(state);
  } else if (result === 'lost') {
    // The term stays: a lost pre-vote has not changed it, a lost vote has used it up.
    becomeFollower(state, state.term, NO_NODE);
  }
  if (!answer.granted) learnCommit(state, answer.from, answer);
}

function countVote(state: CoreState, answer: VoteResponse): VoteResult {
  const { preVote, from, granted } = answer;
  trace(state, () => ({ type: 'vote-answered', preVote, from, granted, term: state.term }));
  // The first answer of a node stands: a duplicate must not turn it.
  if (!state.votes.has(from)) state.votes.set(from, granted);
  trace(state, () => ({ type: 'votes-counted', preVote, ...tally(state) }));
  return jointVote(state.config, (id) => state.votes.get(id));
}

function tally(state: CoreState): { granted: number; rejected: number } {
  let granted = 0;
  let rejected = 0;
  for (const id of voterIds(state.config)) {
    const vote = state.votes.get(id);
    if (vote === true) granted += 1;
    else if (vote === false) rejected += 1;
  }
  return { granted, rejected };
}

export function becomeLeader(state: CoreState): void {
  invariant(state.role === 'candidate', 'leader without an election', () => dump(state));
  resetRole(state, state.term);
  invariant(state.termLeader === NO_NODE, 'two leaders in one term', () => dump(state));
  state.role = 'leader';
  state.leader = state.id;
  state.termLeader = state.id;
  const own = state.progress.get(state.id);
  invariant(own !== undefined, 'leader outside its membership', () => dump(state));
  own.becomeReplicate();
  own.recentActive = true;
  // Membership entries of earlier terms may sit in the log: accept no change before this is applied.
  state.pendingChangeIndex = state.log.lastIndex();
  // Nothing of an earlier term may be committed by counting, so the leader opens with its own entry.
  const opened = appendProposals(state, [{ kind: 'normal', data: EMPTY }]);
  invariant(opened, 'empty entry refused', () => dump(state));
  state.termStart = state.log.lastIndex();
  trace(state, () => ({ type: 'role-changed', role: 'leader', term: state.term }));
}
