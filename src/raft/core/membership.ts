/**
 * Membership arithmetic, pure: a configuration and a list of changes give the next configuration or
 * a refusal. Progress is reconciled afterwards, so a refused change has touched nothing.
 *
 *   (1 2 3)  --r1 v4, joint-->  (2 3 4)&&(1 2 3)  --leave-->  (2 3 4)
 *
 * A voter of the outgoing half cannot be a learner yet: it waits in `learnersNext` until the joint
 * state is left, because until then its vote still counts in the outgoing half.
 */
import { logIndex, type LogIndex, type NodeId } from '../../common/ids.js';
import type { InflightLimits } from './inflights.js';
import { invariant } from './invariant.js';
import { Progress } from './progress.js';
import { sortedIds } from './quorum.js';
import { NO_NODE, type ConfigChange, type ConfigState, type SingleChange } from './types.js';

export type ChangeRefusal =
  | 'config-is-joint'
  | 'already-joint'
  | 'not-joint'
  | 'no-voters'
  | 'no-voters-to-join'
  | 'more-than-one-voter';

export type ChangeOutcome =
  | { readonly ok: true; readonly config: ConfigState }
  | { readonly ok: false; readonly refusal: ChangeRefusal };

export type ProgressMap = Map<NodeId, Progress>;

interface Draft {
  voters: Set<NodeId>;
  outgoing: Set<NodeId>;
  learners: Set<NodeId>;
  learnersNext: Set<NodeId>;
}

export const EMPTY_CONFIG: ConfigState = freezeConfig({
  voters: [],
  outgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
});

export function isJoint(config: ConfigState): boolean {
  return config.outgoing.length > 0;
}

/** The change at most moves one voter and needs no joint state. */
export function simpleChange(config: ConfigState, changes: readonly SingleChange[]): ChangeOutcome {
  if (isJoint(config)) return refuse('config-is-joint');
  const draft = draftOf(config);
  applyChanges(draft, changes);
  if (draft.voters.size === 0) return refuse('no-voters');
  if (votersMoved(config.voters, draft.voters) > 1) return refuse('more-than-one-voter');
  return accept(draft, false);
}

/** Copies the voters to the outgoing half, then applies the changes to the incoming half. */
export function enterJoint(
  config: ConfigState,
  changes: readonly SingleChange[],
  autoLeave: boolean,
): ChangeOutcome {
  if (isJoint(config)) return refuse('already-joint');
  if (config.voters.length === 0) return refuse('no-voters-to-join');
  const draft = draftOf(config);
  draft.outgoing = new Set(config.voters);
  applyChanges(draft, changes);
  if (draft.voters.size === 0) return refuse('no-voters');
  return accept(draft, autoLeave);
}

export function leaveJoint(config: ConfigState): ChangeOutcome {
  if (!isJoint(config)) return refuse('not-joint');
  const draft = draftOf(config);
  for (const id of draft.learnersNext) draft.learners.add(id);
  draft.learnersNext.clear();
  draft.outgoing.clear();
  return accept(draft, false);
}

/** Chooses among the three by the change's shape; the driver and the leader's check both use it. */
export function changeConfig(config: ConfigState, change: ConfigChange): ChangeOutcome {
  if (change.changes.length === 0) return leaveJoint(config);
  if (change.transition !== 'auto' || change.changes.length > 1) {
    return enterJoint(config, change.changes, change.transition !== 'explicit');
  }
  return simpleChange(config, change.changes);
}

/** Brings a configuration from outside (snapshot, disk) into canonical, checked, frozen form. */
export function canonicalConfig(config: ConfigState): ConfigState {
  const draft = draftOf(config);
  checkDraft(draft, config.autoLeave);
  return freezeDraft(draft, config.autoLeave);
}

export function sameConfig(a: ConfigState, b: ConfigState): boolean {
  return JSON.stringify(canonicalConfig(a)) === JSON.stringify(canonicalConfig(b));
}

/** Everyone the configuration mentions, ascending. */
export function memberIds(config: ConfigState): NodeId[] {
  return sortedIds(
    new Set([...config.voters, ...config.outgoing, ...config.learners, ...config.learnersNext]),
  );
}

/**
 * Progress for a new configuration, in ascending id order (the order messages are produced in).
 * Known members keep theirs, a promoted learner included. A new one starts at the last index, not
 * after it: the first probe then either matches or tells the leader where to go.
 */
export function reconcileProgress(
  config: ConfigState,
  current: ProgressMap,
  start: { readonly lastIndex: LogIndex; readonly limits: InflightLimits },
): ProgressMap {
  const learners = new Set(config.learners);
  const result: ProgressMap = new Map();
  for (const id of memberIds(config)) {
    const known = current.get(id);
    const progress = known ?? new Progress(logIndex(Math.max(start.lastIndex, 1)), start.limits);
    progress.isLearner = learners.has(id);
    result.set(id, progress);
  }
  return result;
}

function applyChanges(draft: Draft, changes: readonly SingleChange[]): void {
  for (const { action, node } of changes) {
    if (node === NO_NODE || action === 'update') continue;
    draft.learnersNext.delete(node);
    if (action === 'add-learner') {
      draft.voters.delete(node);
      (draft.outgoing.has(node) ? draft.learnersNext : draft.learners).add(node);
      continue;
    }
    draft.learners.delete(node);
    if (action === 'add-voter') draft.voters.add(node);
    else draft.voters.delete(node);
  }
}

function votersMoved(before: readonly NodeId[], after: ReadonlySet<NodeId>): number {
  const old = new Set(before);
  const added = [...after].filter((id) => !old.has(id)).length;
  const removed = before.filter((id) => !after.has(id)).length;
  return added + removed;
}

function accept(draft: Draft, autoLeave: boolean): ChangeOutcome {
  checkDraft(draft, autoLeave);
  return { ok: true, config: freezeDraft(draft, autoLeave) };
}

function refuse(refusal: ChangeRefusal): ChangeOutcome {
  return { ok: false, refusal };
}

function checkDraft(draft: Draft, autoLeave: boolean): void {
  const dump = (): Record<string, unknown> => ({ ...freezeDraft(draft, autoLeave) });
  const joint = draft.outgoing.size > 0;
  invariant(joint || draft.learnersNext.size === 0, 'next learners outside a joint state', dump);
  invariant(joint || !autoLeave, 'automatic leave outside a joint state', dump);
  for (const id of draft.learnersNext) {
    invariant(draft.outgoing.has(id), 'next learner is no outgoing voter', dump);
    invariant(!draft.voters.has(id), 'next learner is an incoming voter', dump);
  }
  for (const id of draft.learners) {
    invariant(!draft.voters.has(id), 'learner is a voter', dump);
    invariant(!draft.outgoing.has(id), 'learner is an outgoing voter', dump);
  }
}

function draftOf(config: ConfigState): Draft {
  return {
    voters: new Set(config.voters),
    outgoing: new Set(config.outgoing),
    learners: new Set(config.learners),
    learnersNext: new Set(config.learnersNext),
  };
}

function freezeDraft(draft: Draft, autoLeave: boolean): ConfigState {
  return freezeConfig({
    voters: sortedIds(draft.voters),
    outgoing: sortedIds(draft.outgoing),
    learners: sortedIds(draft.learners),
    learnersNext: sortedIds(draft.learnersNext),
    autoLeave,
  });
}

function freezeConfig(config: ConfigState): ConfigState {
  for (const list of [config.voters, config.outgoing, config.learners, config.learnersNext]) {
    Object.freeze(list);
  }
  return Object.freeze(config);
}
