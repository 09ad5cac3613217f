/**
 * ReadIndex. The leader answers with its commit index once a quorum confirms, in a round begun after
 * the request, that it still leads. It answers nothing before it has committed an entry of its own
 * term, because until then it may not know the newest commit index (single voters included).
 */
import type { LogIndex, NodeId } from '../../common/ids.js';
import { broadcastHeartbeat } from './heartbeat.js';
import type { HeartbeatResponse } from './messages.js';
import { isSingleVoter, send, type CoreState } from './state.js';
import { NO_INDEX, NO_NODE, NO_TERM, type ReadContext } from './types.js';

export type ReadResult = 'ok' | 'no-leader' | 'transferring' | 'over-limit';

/** Local request, on any node. */
export function requestRead(state: CoreState, context: ReadContext): ReadResult {
  if (state.role === 'leader') return leaderRead(state, state.id, context);
  if (state.leader === NO_NODE) return 'no-leader';
  send(state, {
    kind: 'read-request',
    from: state.id,
    to: state.leader,
    term: NO_TERM,
    context,
  });
  return 'ok';
}

/** On the leader; `from` is itself or the follower that forwarded. */
export function leaderRead(state: CoreState, from: NodeId, context: ReadContext): ReadResult {
  // The successor skips leases and may already be at work: let readers ask again.
  if (state.transferee !== NO_NODE) return 'transferring';
  if (state.reads.isFull()) return 'over-limit';
  if (!hasCommittedInTerm(state)) {
    state.reads.postpone({ from, context });
    return 'ok';
  }
  startRead(state, from, context);
  return 'ok';
}

/** The first commit of the term has happened. */
export function releasePostponedReads(state: CoreState): void {
  if (!hasCommittedInTerm(state)) return;
  for (const { from, context } of state.reads.takePostponed()) startRead(state, from, context);
}

/** A follower answered a heartbeat of this term. */
export function acknowledgeRound(state: CoreState, message: HeartbeatResponse): void {
  if (message.readRound === 0) return;
  const confirmed = state.reads.acknowledge(message.from, message.readRound, {
    halves: state.config,
    self: state.id,
  });
  for (const read of confirmed) answer(state, read.from, read.context, read.index);
}

function startRead(state: CoreState, from: NodeId, context: ReadContext): void {
  const index = state.log.committed;
  if (isSingleVoter(state) || state.options.readMode === 'lease') {
    answer(state, from, context, index);
    return;
  }
  state.reads.add({ from, context, index });
  broadcastHeartbeat(state);
}

function answer(state: CoreState, to: NodeId, context: ReadContext, index: LogIndex): void {
  if (to === state.id) {
    state.readStates.push(Object.freeze({ index, context }));
    return;
  }
  send(state, { kind: 'read-response', from: state.id, to, term: state.term, context, index });
}

/** By index, not by the term found at the commit index: it cannot be fooled by a seeded log. */
function hasCommittedInTerm(state: CoreState): boolean {
  return state.termStart !== NO_INDEX && state.log.committed >= state.termStart;
}
