/** Leader role: what a leader does with each message and with time. */
import { broadcastHeartbeat } from './heartbeat.js';
import { invariant } from './invariant.js';
import { proposeAutoLeave, proposeEntries } from './membership-change.js';
import type { AppendResponse, HeartbeatResponse, Message } from './messages.js';
import { jointVote } from './quorum.js';
import { leaderRead } from './reads.js';
import { handleAppendResponse, handleHeartbeatResponse, sendAppend } from './replication.js';
import { becomeFollower, dump, trace, type CoreState, type StepResult } from './state.js';
import { abortTransfer, startTransfer } from './transfer.js';
import { NO_NODE } from './types.js';

export function stepLeader(state: CoreState, message: Message): StepResult {
  switch (message.kind) {
    case 'append-response':
    case 'heartbeat-response':
      return handlePeer(state, message);
    case 'propose':
      return proposeEntries(state, message.entries).outcome === 'refused' ? 'dropped' : 'ok';
    case 'read-request':
      return leaderRead(state, message.from, message.context) === 'ok' ? 'ok' : 'dropped';
    case 'transfer-request':
      return startTransfer(state, message.target) === 'ignored' ? 'dropped' : 'ok';
    case 'append-request':
    case 'heartbeat':
    case 'snapshot':
      // Same term, another leader: the group is broken, and going on would spread it.
      invariant(false, 'two leaders in one term', () => ({ ...dump(state), other: message.from }));
      return 'invalid';
    case 'vote-request':
    case 'vote-response':
    case 'timeout-now':
    case 'read-response':
      return 'dropped';
  }
}

function handlePeer(state: CoreState, message: AppendResponse | HeartbeatResponse): StepResult {
  const progress = state.progress.get(message.from);
  if (progress === undefined) return 'unknown-peer';
  progress.recentActive = true;
  progress.lastContactTick = state.ticks;
  if (message.kind === 'heartbeat-response') {
    handleHeartbeatResponse(state, message, progress);
    return 'ok';
  }
  // Nobody can hold, or be asked about, what this leader never wrote.
  if (message.index > state.log.lastIndex()) return 'invalid';
  handleAppendResponse(state, message, progress);
  return 'ok';
}

export function tickLeader(state: CoreState): void {
  state.heartbeatElapsed += 1;
  state.electionElapsed += 1;
  if (state.electionElapsed >= state.options.electionTicks) {
    state.electionElapsed = 0;
    if (state.options.checkQuorum) checkQuorum(state);
    if (state.role === 'leader') abortTransfer(state);
  }
  if (state.role !== 'leader') return;
  if (state.heartbeatElapsed < state.options.heartbeatTicks) return;
  state.heartbeatElapsed = 0;
  broadcastHeartbeat(state);
  proposeAutoLeave(state);
}

/** Without a quorum heard from in the last election timeout somebody else may lead already. */
function checkQuorum(state: CoreState): void {
  const active = jointVote(state.config, (id) => state.progress.get(id)?.recentActive ?? false);
  if (active !== 'won') {
    trace(state, () => ({ type: 'quorum-lost', term: state.term }));
    becomeFollower(state, state.term, NO_NODE);
  }
  for (const [id, progress] of state.progress) {
    if (id !== state.id) progress.recentActive = false;
  }
}

/** Storage has read what it was asked for: go on where replication stopped. */
export function resumeReplication(state: CoreState): void {
  if (state.role !== 'leader') return;
  for (const [id, progress] of state.progress) {
    if (id === state.id || progress.next > state.log.lastIndex()) continue;
    while (sendAppend(state, id, false));
  }
}
