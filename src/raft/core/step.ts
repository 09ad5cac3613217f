/**
 * Entry of every message: terms first, then the role. A higher term makes any node a follower, except
 * for pre-votes (which must change nothing) and for votes that a live leader's lease refuses. Lower
 * terms are ignored, except where silence would leave the sender stuck.
 */
import {
  handleVoteRequest,
  handleVoteResponse,
  isLeaseHeld,
  refuseOldPreVote,
  startElection,
  traceVote,
} from './election.js';
import { handleLeaderMessage, stepFollower } from './follower.js';
import { stepLeader, tickLeader } from './leader.js';
import type { AppendRequest, Message } from './messages.js';
import {
  acknowledgeAppend,
  becomeFollower,
  isPromotable,
  trace,
  type CoreState,
  type StepResult,
} from './state.js';
import { NO_INDEX, NO_NODE, NO_TERM } from './types.js';

export function stepMessage(state: CoreState, message: Message): StepResult {
  if (message.term !== NO_TERM) {
    if (message.term > state.term && !enterHigherTerm(state, message)) return 'dropped';
    if (message.term < state.term) return answerLowerTerm(state, message);
  }
  if (message.kind === 'vote-request') {
    handleVoteRequest(state, message);
    return 'ok';
  }
  switch (state.role) {
    case 'leader':
      return stepLeader(state, message);
    case 'follower':
      return stepFollower(state, message);
    case 'pre-candidate':
    case 'candidate':
      return stepCandidate(state, message);
  }
}

/** False when the message must not be looked at any further. */
function enterHigherTerm(state: CoreState, message: Message): boolean {
  if (message.kind === 'vote-request') {
    if (isLeaseHeld(state, message)) {
      traceVote(state, message, 'vote-ignored');
      return false;
    }
    // Asking is not being elected: the receiver keeps its own term.
    if (message.preVote) return true;
  }
  // A granted pre-vote carries the term that would be; only a refusal reports a real one.
  if (message.kind === 'vote-response' && message.preVote && message.granted) return true;
  traceTerms(state, message, 'higher-term-received');
  becomeFollower(state, message.term, isFromLeader(message) ? message.from : NO_NODE);
  return true;
}

/** Messages only the leader of the message's term can have sent. */
function isFromLeader(message: Message): boolean {
  return (
    message.kind === 'append-request' || message.kind === 'heartbeat' || message.kind === 'snapshot'
  );
}

function answerLowerTerm(state: CoreState, message: Message): StepResult {
  if (isFromLeader(message)) {
    // This node cannot lower its term, and it may be unable to campaign (a learner that does not
    // know yet that it votes): any answer with the newer term makes the old leader step down.
    acknowledgeAppend(state, message.from, NO_INDEX);
    return 'dropped';
  }
  if (message.kind === 'vote-request' && message.preVote) {
    refuseOldPreVote(state, message);
    return 'dropped';
  }
  traceTerms(state, message, 'lower-term-ignored');
  return 'dropped';
}

function traceTerms(
  state: CoreState,
  message: Message,
  type: 'higher-term-received' | 'lower-term-ignored',
): void {
  trace(state, () => ({
    type,
    term: state.term,
    message: message.kind,
    preVote: 'preVote' in message && message.preVote,
    from: message.from,
    messageTerm: message.term,
  }));
}

function stepCandidate(state: CoreState, message: Message): StepResult {
  switch (message.kind) {
    case 'append-request':
    case 'heartbeat':
    case 'snapshot':
      // Somebody else won this term; a snapshot says so as well as an append.
      becomeFollower(state, message.term, message.from);
      handleLeaderMessage(state, message);
      return 'ok';
    case 'vote-response':
      handleVoteResponse(state, message);
      return 'ok';
    case 'append-response':
    case 'heartbeat-response':
    case 'propose':
    case 'read-request':
    case 'read-response':
    case 'timeout-now':
    case 'transfer-request':
    case 'vote-request':
      return 'dropped';
  }
}

export function tickState(state: CoreState): void {
  state.ticks += 1;
  if (state.role === 'leader') {
    tickLeader(state);
    return;
  }
  state.electionElapsed += 1;
  if (!isPromotable(state) || state.electionElapsed < state.randomizedTimeout) return;
  state.electionElapsed = 0;
  startElection(state, 'timeout');
}

/** Remote data is checked before it touches state. */
export function isWellFormed(message: Message): boolean {
  if (!hasPlausibleTerm(message)) return false;
  switch (message.kind) {
    case 'append-request':
      return hasOrderedEntries(message);
    case 'propose':
      return message.entries.length > 0;
    case 'snapshot':
      return message.snapshot.index > 0;
    default:
      return true;
  }
}

/** Forwarded requests carry no term, everything else does (a voter of term 0 may refuse). */
function hasPlausibleTerm(message: Message): boolean {
  switch (message.kind) {
    case 'propose':
    case 'read-request':
    case 'transfer-request':
      return message.term === NO_TERM;
    case 'vote-response':
      return true;
    default:
      return message.term > NO_TERM;
  }
}

function hasOrderedEntries(message: AppendRequest): boolean {
  let index = message.prevIndex as number;
  let term = message.prevTerm as number;
  for (const entry of message.entries) {
    index += 1;
    if (entry.index !== index || entry.term < term || entry.term > message.term) return false;
    term = entry.term;
  }
  return true;
}
