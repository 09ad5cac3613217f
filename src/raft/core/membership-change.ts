/**
 * Membership through the log. The leader checks a proposal against the applied configuration; the
 * change takes effect when its entry is applied. A refused change becomes an empty entry, so that its
 * place in a batch of proposals stays. One change at a time, and none before the leader's own term
 * has an applied entry (the pending mark is set to the last index at election).
 */
import { logIndex, type LogIndex } from '../../common/ids.js';
import { decodeConfigChange, encodeConfigChange } from './membership-codec.js';
import { canonicalConfig, changeConfig, isJoint, memberIds } from './membership.js';
import { reconcileProgress, type ProgressMap } from './membership.js';
import { invariant } from './invariant.js';
import { voterIds } from './quorum.js';
import { releasePostponedReads } from './reads.js';
import {
  advanceCommit,
  appendProposals,
  broadcastAppend,
  sendAppend,
  type Proposal,
} from './replication.js';
import { becomeFollower, dump, trace, type CoreState } from './state.js';
import { abortTransfer } from './transfer.js';
import type { ChangeIgnored, ProposalRefusal } from './trace.js';
import { NO_NODE, type ConfigChange, type ConfigState } from './types.js';

export type ProposeResult =
  | { readonly outcome: 'appended'; readonly index: LogIndex; readonly term: number }
  /** The membership change was refused; an empty entry took its place. */
  | { readonly outcome: 'replaced'; readonly index: LogIndex; readonly reason: ChangeIgnored }
  | { readonly outcome: 'forwarded' }
  | { readonly outcome: 'refused'; readonly reason: ProposalRefusal };

const EMPTY = new Uint8Array(0);
const LEAVE_JOINT: ConfigChange = Object.freeze({
  transition: 'auto',
  changes: Object.freeze([]),
});

/** On the leader. All proposals enter the log in order, or none does. */
export function proposeEntries(state: CoreState, proposals: readonly Proposal[]): ProposeResult {
  // Between applying its own removal and stepping down nothing new may start.
  if (!state.progress.has(state.id)) return refuse(state, 'removed');
  if (state.transferee !== NO_NODE) return refuse(state, 'transferring');
  const first = state.log.lastIndex() + 1;
  const pendingBefore = state.pendingChangeIndex;
  let ignored: ChangeIgnored | undefined;
  const admitted = proposals.map((proposal, offset): Proposal => {
    if (proposal.kind === 'normal') return proposal;
    const reason = admitChange(state, proposal, logIndex(first + offset));
    if (reason === undefined) return proposal;
    ignored = reason;
    return { kind: 'normal', data: EMPTY };
  });
  if (!appendProposals(state, admitted)) {
    state.pendingChangeIndex = pendingBefore;
    return refuse(state, 'over-limit');
  }
  broadcastAppend(state);
  const index = state.log.lastIndex();
  return ignored === undefined
    ? { outcome: 'appended', index, term: state.term }
    : { outcome: 'replaced', index, reason: ignored };
}

function refuse(state: CoreState, reason: ProposalRefusal): ProposeResult {
  trace(state, () => ({ type: 'proposal-dropped', reason, term: state.term }));
  return { outcome: 'refused', reason };
}

/** Undefined when the change may enter the log at `place`; then it is the pending one. */
function admitChange(
  state: CoreState,
  proposal: Proposal,
  place: LogIndex,
): ChangeIgnored | undefined {
  const change = decodeConfigChange(proposal.data);
  if (change === 'malformed') return 'invalid';
  const reason = changeObjection(state, change);
  if (reason !== undefined && state.options.validateChanges) {
    trace(state, () => ({
      type: 'change-ignored',
      change,
      config: state.config,
      reason,
      pendingIndex: state.pendingChangeIndex,
      applied: state.log.applied,
    }));
    return reason;
  }
  state.pendingChangeIndex = place;
  return undefined;
}

function changeObjection(state: CoreState, change: ConfigChange): ChangeIgnored | undefined {
  const leaves = change.changes.length === 0;
  if (state.pendingChangeIndex > state.log.applied) return 'pending-change';
  if (isJoint(state.config)) return leaves ? undefined : 'already-joint';
  if (leaves) return 'not-joint';
  // Would fail when applied (no voter left, say): better an empty entry than a stopped group.
  return changeConfig(state.config, change).ok ? undefined : 'invalid';
}

/**
 * The driver applies a membership entry. Entries at or below the configuration's own index were
 * already covered by a snapshot that overtook them (rule D2) and change nothing.
 */
export function applyChange(state: CoreState, change: ConfigChange, index: LogIndex): ConfigState {
  if (index <= state.configIndex) return state.config;
  const outcome = changeConfig(state.config, change);
  invariant(outcome.ok, 'membership entry cannot be applied', () => ({
    ...dump(state),
    change,
    index,
    outcome,
  }));
  state.configIndex = index;
  const { maxInflightMessages, maxInflightBytes } = state.options;
  const progress = reconcileProgress(outcome.config, state.progress, {
    lastIndex: state.log.lastIndex(),
    limits: { maxMessages: maxInflightMessages, maxBytes: maxInflightBytes },
  });
  switchConfig(state, outcome.config, progress);
  return state.config;
}

/**
 * A fresh node that joins knows no members; the first membership entry of its log tells those before
 * the change as well. Never replaces a membership.
 */
export function adoptConfig(state: CoreState, config: ConfigState): void {
  invariant(memberIds(state.config).length === 0, 'a membership is known already', () => ({
    ...dump(state),
    given: config,
  }));
  const { maxInflightMessages, maxInflightBytes } = state.options;
  const canonical = canonicalConfig(config);
  const progress = reconcileProgress(canonical, new Map(), {
    lastIndex: state.log.lastIndex(),
    limits: { maxMessages: maxInflightMessages, maxBytes: maxInflightBytes },
  });
  switchConfig(state, canonical, progress);
}

export function switchConfig(state: CoreState, config: ConfigState, progress: ProgressMap): void {
  state.config = config;
  state.progress = progress;
  trace(state, () => ({ type: 'config-switched', config }));
  if (state.role !== 'leader') return;
  const own = progress.get(state.id);
  if ((own === undefined || own.isLearner) && state.options.stepDownOnRemoval) {
    becomeFollower(state, state.term, NO_NODE);
    return;
  }
  // The quorum may have shrunk below what is already acknowledged.
  if (advanceCommit(state)) {
    releasePostponedReads(state);
    broadcastAppend(state);
  } else {
    // Start probing new members at once, without an empty append to everybody.
    for (const id of progress.keys()) if (id !== state.id) sendAppend(state, id, false);
  }
  if (state.transferee !== NO_NODE && !voterIds(config).includes(state.transferee)) {
    abortTransfer(state);
  }
}

/** The state machine got this far. */
export function applied(state: CoreState, index: LogIndex): void {
  const bytes = state.log.appliedTo(index);
  state.uncommittedBytes = Math.max(0, state.uncommittedBytes - bytes);
  proposeAutoLeave(state);
}

/**
 * A leader in a joint state it should leave by itself proposes to, once: the pending mark holds
 * further attempts back. An attempt that is refused (a transfer runs, say) is repeated with the next
 * applied entry, and with the next heartbeat, because an idle group has no next entry.
 */
export function proposeAutoLeave(state: CoreState): void {
  const isDue =
    state.role === 'leader' &&
    state.config.autoLeave &&
    state.transferee === NO_NODE &&
    state.log.applied >= state.pendingChangeIndex;
  if (!isDue) return;
  const data = encodeConfigChange(LEAVE_JOINT);
  const result = proposeEntries(state, [{ kind: 'membership', data }]);
  if (result.outcome !== 'appended') return;
  trace(state, () => ({ type: 'auto-leave-proposed', config: state.config }));
}
