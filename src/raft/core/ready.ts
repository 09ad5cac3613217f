/**
 * Builds the package of work for the driver and marks it as handed out. Several packages may be
 * outstanding; each acknowledgement carries enough identity (term of the writer, last index and its
 * term) to be recognised as stale.
 */
import { hardStateOf, type CoreState } from './state.js';
import {
  NO_INDEX,
  NO_TERM,
  type Entry,
  type HardState,
  type PersistAck,
  type Ready,
  type SnapshotMeta,
  type SoftState,
} from './types.js';
import type { Message } from './messages.js';

/** What the driver was told last. */
export interface Reported {
  soft: SoftState;
  hard: HardState;
}

export function reportedAtStart(state: CoreState): Reported {
  return { soft: softStateOf(state), hard: hardStateOf(state) };
}

export function hasReady(state: CoreState, reported: Reported): boolean {
  return (
    state.messages.length > 0 ||
    state.afterPersist.length > 0 ||
    state.readStates.length > 0 ||
    state.log.unstable.hasNextEntries() ||
    state.log.unstable.nextSnapshot() !== undefined ||
    state.log.hasNextCommitted() ||
    !sameSoft(softStateOf(state), reported.soft) ||
    !sameHard(hardStateOf(state), reported.hard)
  );
}

export function takeReady(state: CoreState, reported: Reported): Ready {
  const soft = softStateOf(state);
  const hard = hardStateOf(state);
  const softChanged = !sameSoft(soft, reported.soft);
  const hardChanged = !sameHard(hard, reported.hard);
  const ballotChanged = hard.term !== reported.hard.term || hard.vote !== reported.hard.vote;
  const entries = state.log.unstable.nextEntries();
  const snapshot = state.log.unstable.nextSnapshot();
  const committed = state.log.takeCommitted();
  const { selfMessages, others } = splitAfterPersist(state);
  const mustWrite = entries.length > 0 || hardChanged || snapshot !== undefined;
  const persist =
    mustWrite || state.afterPersist.length > 0
      ? persistAck(state, snapshot, selfMessages)
      : undefined;
  const ready: Ready = {
    ...(softChanged ? { softState: Object.freeze(soft) } : {}),
    ...(hardChanged ? { hardState: Object.freeze(hard) } : {}),
    entries: freezeAll(entries),
    ...(snapshot === undefined ? {} : { snapshot }),
    committed: freezeAll(committed),
    readStates: Object.freeze(state.readStates),
    mustSync: entries.length > 0 || ballotChanged,
    holdMessages: ballotChanged,
    messages: Object.freeze(state.messages),
    messagesAfterPersist: Object.freeze(others),
    ...(persist === undefined ? {} : { persist }),
  };
  state.messages = [];
  state.afterPersist = [];
  state.readStates = [];
  state.log.unstable.markInProgress();
  reported.soft = soft;
  reported.hard = hard;
  return Object.freeze(ready);
}

/** The arrays are copies made for this Ready; entries are shared and immutable. */
function freezeAll(entries: Entry[]): readonly Entry[] {
  for (const entry of entries) Object.freeze(entry);
  return Object.freeze(entries);
}

function splitAfterPersist(state: CoreState): { selfMessages: Message[]; others: Message[] } {
  const selfMessages: Message[] = [];
  const others: Message[] = [];
  for (const message of state.afterPersist) {
    (message.to === state.id ? selfMessages : others).push(message);
  }
  return { selfMessages, others };
}

/**
 * Acknowledges the whole unstable log, not only this package: writes are in order, so when this one
 * is durable, so are those before it.
 */
function persistAck(
  state: CoreState,
  snapshot: SnapshotMeta | undefined,
  selfMessages: Message[],
): PersistAck {
  const last = state.log.unstable.entries.length > 0 ? state.log.last() : undefined;
  return Object.freeze({
    term: state.term,
    index: last?.index ?? NO_INDEX,
    indexTerm: last?.term ?? NO_TERM,
    snapshotIndex: snapshot?.index ?? NO_INDEX,
    selfMessages: Object.freeze(selfMessages),
  });
}

function softStateOf(state: CoreState): SoftState {
  return { leader: state.leader, role: state.role };
}

function sameSoft(a: SoftState, b: SoftState): boolean {
  return a.leader === b.leader && a.role === b.role;
}

function sameHard(a: HardState, b: HardState): boolean {
  return a.term === b.term && a.vote === b.vote && a.commit === b.commit;
}
