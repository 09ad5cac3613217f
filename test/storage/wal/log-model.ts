/**
 * What a log must be after a crash, told by a model that imports nothing of the log: the state after
 * everything acknowledged plus any prefix of what was under way, in order, each step whole. A batch
 * that truncates into an older segment may also have truncated only.
 */

export interface ModelEntry {
  readonly index: number;
  readonly term: number;
  readonly payload: Buffer;
}

export interface ModelHardState {
  readonly term: number;
  readonly vote: number;
  readonly commit: number;
}

export interface ModelState {
  /** Position before the first entry; moves only by a reset. */
  readonly baseIndex: number;
  readonly baseTerm: number;
  readonly entries: readonly ModelEntry[];
  readonly hardState: ModelHardState;
}

export type ModelStep =
  | {
      readonly kind: 'append';
      readonly entries: readonly ModelEntry[];
      readonly hardState: ModelHardState | undefined;
    }
  | { readonly kind: 'reset'; readonly index: number; readonly term: number };

export const EMPTY_STATE: ModelState = {
  baseIndex: 0,
  baseTerm: 0,
  entries: [],
  hardState: { term: 0, vote: 0, commit: 0 },
};

export function lastIndexOf(state: ModelState): number {
  return state.baseIndex + state.entries.length;
}

export function lastTermOf(state: ModelState): number {
  return state.entries.at(-1)?.term ?? state.baseTerm;
}

export function truncated(state: ModelState, last: number): ModelState {
  return { ...state, entries: state.entries.slice(0, Math.max(0, last - state.baseIndex)) };
}

export function applied(state: ModelState, step: ModelStep): ModelState {
  if (step.kind === 'reset') {
    const hardState = { ...state.hardState, commit: step.index };
    return { baseIndex: step.index, baseTerm: step.term, entries: [], hardState };
  }
  const first = step.entries[0];
  const kept = first ? truncated(state, first.index - 1) : state;
  const commit = Math.max(state.hardState.commit, step.hardState?.commit ?? 0);
  return {
    ...kept,
    entries: [...kept.entries, ...step.entries],
    hardState: { ...(step.hardState ?? state.hardState), commit },
  };
}

/** Every state a crash may leave, the oldest first. */
export function possibleStates(acked: ModelState, underWay: readonly ModelStep[]): ModelState[] {
  const states = [acked];
  let state = acked;
  for (const step of underWay) {
    const first = step.kind === 'append' ? step.entries[0] : undefined;
    if (first && first.index <= lastIndexOf(state)) states.push(truncated(state, first.index - 1));
    state = applied(state, step);
    states.push(state);
  }
  return states;
}
