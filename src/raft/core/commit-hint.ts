/**
 * Rule D3. With membership effective at apply, a leader can commit its own removal and step down
 * while the others hold the entry but not the news that it is committed: they still need votes of
 * members that have left, and those refuse them. So vote requests and refusals say what their sender
 * knows to be committed, as (index, term); whoever holds exactly that entry may commit it too.
 */
import { NO_NODE, NO_TERM } from './types.js';
import type { CommitHint } from './messages.js';
import { becomeFollower, trace, type CoreState } from './state.js';
import type { NodeId } from '../../common/ids.js';

export function commitHint(state: CoreState): CommitHint {
  const commitIndex = state.log.committed;
  return { commitIndex, commitTerm: state.log.termOrZero(commitIndex) };
}

export function learnCommit(state: CoreState, from: NodeId, hint: CommitHint): void {
  const { commitIndex, commitTerm } = hint;
  // A leader holds every committed entry and finds out by counting.
  if (state.role === 'leader' || commitTerm === NO_TERM) return;
  if (commitIndex <= state.log.committed) return;
  if (!state.log.matches({ index: commitIndex, term: commitTerm })) return;
  state.log.commitTo(commitIndex);
  trace(state, () => ({ type: 'commit-learnt-by-vote', commit: commitIndex, from }));
  // A candidate counts votes by its applied membership; one that is about to change is no basis.
  const asksForVotes = state.role === 'candidate' || state.role === 'pre-candidate';
  if (asksForVotes && state.log.hasUnappliedChange(state.options.maxApplyingBytes)) {
    becomeFollower(state, state.term, NO_NODE);
  }
}
