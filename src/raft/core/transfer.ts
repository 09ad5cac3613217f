/**
 * Leadership transfer. The leader stops taking proposals and reads, brings the target up to its last
 * entry, flushed, and tells it to campaign at once. The attempt ends after one election timeout, when
 * the target stops being a voter, or with the leadership. One runs at a time: a request for another
 * target replaces it.
 */
import type { NodeId } from '../../common/ids.js';
import { sendAppend, sendTimeoutNow } from './replication.js';
import { send, trace, type CoreState } from './state.js';
import { NO_NODE, NO_TERM } from './types.js';

export type TransferResult = 'started' | 'running' | 'forwarded' | 'ignored';

/** On any node; followers pass the wish on to the leader. */
export function transferLeadership(state: CoreState, target: NodeId): TransferResult {
  if (state.role === 'leader') return startTransfer(state, target);
  if (state.role !== 'follower' || state.leader === NO_NODE) return 'ignored';
  send(state, {
    kind: 'transfer-request',
    from: state.id,
    to: state.leader,
    term: NO_TERM,
    target,
  });
  return 'forwarded';
}

export function startTransfer(state: CoreState, target: NodeId): TransferResult {
  const progress = state.progress.get(target);
  if (progress === undefined || progress.isLearner) return 'ignored';
  if (state.transferee === target) {
    // Asked again, within the same attempt: what told the target may have been lost on the way.
    if (progress.match === state.log.lastIndex()) sendTimeoutNow(state, target, true);
    return 'running';
  }
  if (state.transferee !== NO_NODE) abortTransfer(state);
  if (target === state.id) return 'ignored';
  trace(state, () => ({ type: 'transfer-started', peer: target, term: state.term }));
  // The attempt has one election timeout from now.
  state.electionElapsed = 0;
  state.transferee = target;
  // `match` is what the target has flushed, so it cannot lose the last entry and then win.
  if (progress.match === state.log.lastIndex()) sendTimeoutNow(state, target, true);
  else sendAppend(state, target, true);
  return 'started';
}

export function abortTransfer(state: CoreState): void {
  if (state.transferee === NO_NODE) return;
  trace(state, () => ({ type: 'transfer-aborted', peer: state.transferee, term: state.term }));
  state.transferee = NO_NODE;
}
