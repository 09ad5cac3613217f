/**
 * What a partition would deliver to a group now (messages.md §2.3, §2.4, §2.7, §2.8, §2.12) and what a
 * claim of it changes. Which of several claimable partitions comes first is the broker's choice; what
 * each of them gives is not. Imports nothing from the broker.
 */
import {
  freshCursor,
  lastOffset,
  QUEUE_MODE,
  takenUntil,
  type Cursor,
  type Message,
  type Partition,
  type Queue,
  type Registration,
  type State,
} from './state.js';

/** Where a group starts that has no cursor: the stored policy, or what a pinned pop asks for. */
export interface Start {
  readonly mode: Registration['mode'];
  readonly instant: number;
}

export interface Claim {
  readonly partition: Partition;
  readonly messages: readonly Message[];
  readonly attempt: number;
}

/** Committed offset a new cursor gets: everything before the first append at or after the instant. */
export function seedOf(partition: Partition, start: Start): number {
  if (start.mode === 'all') return -1;
  const first = partition.messages.find((message) => message.createdAt >= start.instant);
  return first === undefined ? lastOffset(partition) : first.offset - 1;
}

export function startOf(
  state: State,
  { queue, partition }: { readonly queue: Queue; readonly partition: Partition },
  group: string,
  intent: Start,
): Start {
  if (group === QUEUE_MODE) {
    return { mode: state.rules.queueModeStartsNew ? 'new' : 'all', instant: state.now };
  }
  const registered = queue.groups.get(group);
  const kept = partition.cursors.get(group)?.start ?? null;
  if (registered !== undefined || kept === null) return registered ?? intent;
  return { mode: 'timestamp', instant: kept };
}

export function cursorFor(partition: Partition, group: string, start: Start): Cursor {
  const known = partition.cursors.get(group);
  if (known === undefined) return freshCursor(seedOf(partition, start));
  if (known.start === null) return known;
  return { ...known, start: null, committed: seedOf(partition, start) };
}

/** §2.3: the first pinned pop of an unregistered group says where it starts on that partition. */
export function keepStart(partition: Partition, group: string, start: Start): void {
  if (start.mode === 'all' || partition.cursors.has(group)) return;
  const newest = partition.messages.at(-1)?.createdAt ?? -Infinity;
  const committed = newest < start.instant ? lastOffset(partition) : -1;
  partition.cursors.set(group, { ...freshCursor(committed), start: start.instant });
}

/** The messages a claim would deliver; empty when there is nothing to claim. */
export function deliverable(
  state: State,
  queue: Queue,
  partition: Partition,
  claim: { readonly cursor: Cursor; readonly conflate: boolean; readonly budget: number },
): Message[] {
  const { cursor, conflate, budget } = claim;
  const { delayedProcessing, windowBuffer } = queue.options;
  const { messages } = partition;
  const newest = messages.at(-1);
  const taken = cursor.lease === null ? -Infinity : takenUntil(state, cursor.lease);
  if (newest === undefined || state.now < taken) return [];
  if (windowBuffer > 0 && state.now - newest.createdAt < windowBuffer * 1000) return [];
  const wanted = messages.slice(cursor.committed + 1);
  const held = wanted.findIndex(
    (message) =>
      delayedProcessing > 0 && !state.rules.due(state.now - message.createdAt, delayedProcessing),
  );
  const due = held < 0 ? wanted : wanted.slice(0, held);
  return conflate ? due.slice(-1) : due.slice(0, budget);
}

/** §2.12 step 8 for a lease. */
export function takeLease(
  state: State,
  cursor: Cursor,
  lease: {
    readonly id: string;
    readonly messages: readonly Message[];
    readonly seconds: number;
    readonly conflated: boolean;
  },
): number {
  const first = cursor.committed + 1;
  const end = lease.messages.at(-1)?.offset ?? first;
  const start = lease.messages[0]?.offset ?? first;
  if (cursor.lease !== null && state.rules.expiryCharges) cursor.retries += 1;
  cursor.attemptCount = state.rules.attempt(cursor.attemptOffset === start, cursor.attemptCount);
  cursor.attemptOffset = start;
  const { id, conflated } = lease;
  const expiresAt = state.now + lease.seconds * 1000;
  cursor.lease = { id, first, end, conflated, expiresAt, boot: state.boot };
  return cursor.attemptCount;
}

/** §5.5: the cursor moves before the answer; nothing is left to acknowledge. */
export function commitOnDelivery(cursor: Cursor, messages: readonly Message[]): void {
  cursor.committed = messages.at(-1)?.offset ?? cursor.committed;
  cursor.lease = null;
}
