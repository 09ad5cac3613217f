/**
 * Leader side of replication: appending, sending, learning from answers, committing. A member is sent
 * appends ahead of its answers while it replicates, one at a time while its log is being probed, and
 * a snapshot when what it needs is compacted. The leader counts itself through its own persisted
 * acknowledgement, exactly like a member.
 */
import { logIndex, type NodeId } from '../../common/ids.js';
import { invariant } from './invariant.js';
import { memberIds } from './membership.js';
import type { AppendResponse, HeartbeatResponse } from './messages.js';
import type { Progress } from './progress.js';
import { jointIndex } from './quorum.js';
import { acknowledgeRound, releasePostponedReads } from './reads.js';
import { acknowledgeAppend, dump, progressStatus, send, trace, type CoreState } from './state.js';
import { payloadBytes, type Entry, type EntryKind } from './types.js';

/** An entry before the leader gives it a place. */
export interface Proposal {
  readonly kind: EntryKind;
  readonly data: Uint8Array;
}

/** Places proposals at the end of the leader's log. False when the uncommitted bound refuses them. */
export function appendProposals(state: CoreState, proposals: readonly Proposal[]): boolean {
  let index: number = state.log.lastIndex();
  const entries: Entry[] = proposals.map(({ kind, data }) => {
    index += 1;
    return Object.freeze({ term: state.term, index: logIndex(index), kind, data });
  });
  if (!reserveUncommitted(state, payloadBytes(entries))) return false;
  const last = state.log.append(entries);
  // Released by onPersisted: the leader is a vote for its entries only when they are on disk.
  acknowledgeAppend(state, state.id, last);
  return true;
}

/** Empty entries (start of term, leave-joint) always pass; so does a first one of any size. */
function reserveUncommitted(state: CoreState, bytes: number): boolean {
  const { maxUncommittedBytes } = state.options;
  const held = state.uncommittedBytes;
  if (held > 0 && bytes > 0 && held + bytes > maxUncommittedBytes) return false;
  state.uncommittedBytes = held + bytes;
  return true;
}

export function broadcastAppend(state: CoreState): void {
  for (const id of state.progress.keys()) {
    if (id !== state.id) sendAppend(state, id, true);
  }
}

/** Sends what the member can take now. False when nothing was sent. */
export function sendAppend(state: CoreState, to: NodeId, evenIfEmpty: boolean): boolean {
  const progress = state.progress.get(to);
  if (progress === undefined || progress.isPaused()) return false;
  const prevIndex = logIndex(progress.next - 1);
  const prevTerm = state.log.termOf(prevIndex);
  if (prevTerm === 'compacted') return sendSnapshot(state, to, progress);
  invariant(prevTerm !== 'unavailable', 'progress beyond the log', () => ({
    ...dump(state),
    to,
    progress: progressStatus(progress),
  }));
  const entries = entriesFor(state, progress);
  if (entries === 'compacted') return sendSnapshot(state, to, progress);
  if (entries === 'loading') return false;
  if (entries.length === 0 && !evenIfEmpty) return false;
  send(state, {
    kind: 'append-request',
    from: state.id,
    to,
    term: state.term,
    prevIndex,
    prevTerm,
    entries: Object.freeze(entries),
    commit: state.log.committed,
  });
  progress.sentAppend(entries.length, payloadBytes(entries));
  progress.noteSentCommit(state.log.committed);
  return true;
}

function entriesFor(state: CoreState, progress: Progress): Entry[] | 'compacted' | 'loading' {
  if (progress.state === 'replicate' && progress.inflights.full()) return [];
  return state.log.slice({
    from: progress.next,
    to: logIndex(state.log.lastIndex() + 1),
    maxBytes: state.options.maxAppendBytes,
  });
}

function sendSnapshot(state: CoreState, to: NodeId, progress: Progress): boolean {
  if (!progress.recentActive) {
    trace(state, () => ({ type: 'snapshot-deferred', peer: to, reason: 'inactive' }));
    return false;
  }
  const snapshot = state.log.snapshotFor(to);
  if (snapshot === 'preparing') {
    trace(state, () => ({ type: 'snapshot-deferred', peer: to, reason: 'preparing' }));
    return false;
  }
  invariant(snapshot.index > 0, 'empty snapshot', () => ({ ...dump(state), to }));
  if (!memberIds(snapshot.config).includes(to)) {
    // Taken before the member was added: it would refuse it, for ever. A newer one is needed.
    trace(state, () => ({ type: 'snapshot-deferred', peer: to, reason: 'outdated' }));
    return false;
  }
  trace(state, () => ({
    type: 'snapshot-sent',
    peer: to,
    firstIndex: state.log.firstIndex(),
    commit: state.log.committed,
    snapshot: { index: snapshot.index, term: snapshot.term },
    progress: progressStatus(progress),
  }));
  progress.becomeSnapshot(snapshot.index);
  trace(state, () => ({ type: 'snapshot-pause', peer: to, progress: progressStatus(progress) }));
  send(state, { kind: 'snapshot', from: state.id, to, term: state.term, snapshot });
  return true;
}

/** Commits what both halves hold, if it is of this term. */
export function advanceCommit(state: CoreState): boolean {
  const reached = jointIndex(state.config, (id) => state.progress.get(id)?.match);
  if (!Number.isFinite(reached)) return false;
  return state.log.tryCommit({ index: logIndex(reached), term: state.term });
}

export function handleAppendResponse(
  state: CoreState,
  message: AppendResponse,
  progress: Progress,
): void {
  if (message.rejected) {
    handleRejection(state, message, progress);
    return;
  }
  // An answer may return a probed member to streaming although it acknowledges nothing new.
  const isNews =
    progress.acknowledge(message.index) ||
    (progress.match === message.index && progress.state === 'probe');
  if (!isNews) return;
  settleProgress(state, message, progress);
  const isPeer = message.from !== state.id;
  if (advanceCommit(state)) {
    releasePostponedReads(state);
    broadcastAppend(state);
  } else if (isPeer && progress.wantsCommit(state.log.committed)) {
    sendAppend(state, message.from, true);
  }
  // The answer opened the window: refill it.
  while (isPeer && sendAppend(state, message.from, false));
  if (message.from === state.transferee && progress.match === state.log.lastIndex()) {
    sendTimeoutNow(state, message.from, false);
  }
}

/** Moves the member's state after a positive answer. */
function settleProgress(state: CoreState, message: AppendResponse, progress: Progress): void {
  if (progress.state === 'probe') {
    progress.becomeReplicate();
  } else if (progress.state === 'replicate') {
    progress.inflights.freeThrough(message.index);
  } else if (progress.match + 1 >= state.log.firstIndex()) {
    // Any snapshot that reconnects the member to our log will do, not only the one asked for.
    trace(state, () => ({
      type: 'snapshot-recovered',
      peer: message.from,
      progress: progressStatus(progress),
    }));
    progress.becomeProbe();
    progress.becomeReplicate();
  }
}

/**
 * The member lacks prevIndex or holds another term there. Its hint names the last place it may agree
 * at; our own log may rule out more of it, whole terms at a time.
 *
 *   ours    [1][1][4][4][6]      member answers hint (index 5, term 3)
 *   theirs  [1][1][2][3][3]      we hold nothing of terms 3 or 2, so probe at index 2
 */
function handleRejection(state: CoreState, message: AppendResponse, progress: Progress): void {
  trace(state, () => ({
    type: 'append-refused-by-peer',
    peer: message.from,
    hint: { index: message.hintIndex, term: message.hintTerm },
    index: message.index,
  }));
  const probe =
    message.hintTerm > 0
      ? state.log.lastPossibleMatch(message.hintIndex, message.hintTerm).index
      : message.hintIndex;
  if (!progress.stepBack(message.index, probe)) return;
  trace(state, () => ({
    type: 'progress-lowered',
    peer: message.from,
    progress: progressStatus(progress),
  }));
  if (progress.state === 'replicate') progress.becomeProbe();
  sendAppend(state, message.from, true);
}

export function handleHeartbeatResponse(
  state: CoreState,
  message: HeartbeatResponse,
  progress: Progress,
): void {
  // Lets one append out even when the window is full of lost ones.
  progress.paused = false;
  if (progress.match < state.log.lastIndex() || progress.state === 'probe') {
    sendAppend(state, message.from, true);
  }
  acknowledgeRound(state, message);
}

export function handleSnapshotReport(
  state: CoreState,
  report: { readonly id: NodeId; readonly sent: boolean },
): void {
  const progress = state.progress.get(report.id);
  if (state.role !== 'leader' || progress === undefined || progress.state !== 'snapshot') return;
  // A failed one proves nothing: probe from what is known, not from behind the snapshot.
  if (!report.sent) progress.pendingSnapshot = logIndex(0);
  progress.becomeProbe();
  trace(state, () => ({
    type: report.sent ? 'snapshot-reported-sent' : 'snapshot-reported-failed',
    peer: report.id,
    progress: progressStatus(progress),
  }));
  // Sent: wait for the member's own answer. Failed: wait for the next heartbeat before retrying.
  progress.paused = true;
}

export function handleUnreachable(state: CoreState, id: NodeId): void {
  const progress = state.progress.get(id);
  if (state.role !== 'leader' || progress === undefined || id === state.id) return;
  // Appends sent ahead are probably lost: go back to one at a time.
  if (progress.state === 'replicate') progress.becomeProbe();
  trace(state, () => ({
    type: 'peer-unreachable',
    peer: id,
    progress: progressStatus(progress),
  }));
}

/** The transfer target holds everything: it may start an election without waiting. */
export function sendTimeoutNow(state: CoreState, to: NodeId, immediately: boolean): void {
  trace(state, () => ({ type: 'timeout-now-sent', peer: to, immediately }));
  send(state, { kind: 'timeout-now', from: state.id, to, term: state.term });
}
