/**
 * Resolution and effect of the acks of one target: one partition, one group, one lease or none
 * (messages.md §6.2 to §6.4). Imports nothing from the broker.
 */
import {
  liveLease,
  mint,
  type Cursor,
  type Lease,
  type Partition,
  type Queue,
  type State,
} from './state.js';

export interface AckRequest {
  readonly txn: string;
  /** '' when there is none. */
  readonly lease: string;
  readonly status: 'completed' | 'failed' | 'retry' | 'dlq';
  readonly error: string | null;
}

export interface AckVerdict {
  readonly success: boolean;
  readonly leaseReleased: boolean;
  readonly dlq: boolean;
  readonly noop: boolean;
  /** This very item made its message a dead letter. */
  readonly filed: boolean;
  readonly why?: 'fenced' | 'unresolved';
}

/** Where the items of a target were found before any target of the call changed anything. */
export type Places = readonly Place[];

export interface Target {
  readonly queue: Queue;
  readonly partition: Partition;
  readonly group: string;
  readonly cursor: Cursor;
  readonly items: readonly AckRequest[];
}

type Place = number | 'below' | 'unknown';

const FAILED = {
  ...{ success: false, leaseReleased: false, dlq: false, noop: false, filed: false },
} as const;
const STRENGTH = { dlq: 3, failed: 2, retry: 1, completed: 0 } as const;

export function placesOf(state: State, target: Target): Places {
  const live = liveLease(state, target.cursor);
  const { freeMeansFirst } = state.rules;
  return target.items.map((item) => resolve(target, { live, freeMeansFirst }, item));
}

/** An item's place as it is now, after earlier targets of the call. */
function placeNow(place: Place, { cursor }: Target, live: Lease | null): Place {
  if (typeof place !== 'number') return place;
  if (place <= cursor.committed) return 'below';
  return live !== null && place > live.end ? 'unknown' : place;
}

/** `repeats` is off inside a transaction (§8.2). */
export function settle(
  state: State,
  target: Target,
  { found, repeats }: { readonly found: Places; readonly repeats: boolean },
): AckVerdict[] {
  const { cursor, items } = target;
  const named = items[0]?.lease ?? '';
  const live = liveLease(state, cursor);
  if (named === '' && live !== null && !state.rules.unfencedNeedsNoLease) {
    return items.map(() => ({ ...FAILED, why: 'fenced' }));
  }
  if (named !== '' && live?.id !== named) return repeated(state, target, named, repeats);
  const places = nameable(
    items,
    found.map((place) => placeNow(place, target, live)),
    state.rules.signalsNameDelivered ? live : null,
  );
  const before = state.letters.length;
  if (live === null) settleFree(target, places);
  else settleLease(state, target, live, places);
  const letters = state.letters.slice(before);
  const filed = letters.length > 0;
  const leaseReleased = live !== null && cursor.lease === null;
  return items.map(({ status }, i) => {
    const place = places[i] ?? 'unknown';
    const signal = status === 'failed' || status === 'dlq';
    if (place === 'unknown' || (place === 'below' && status !== 'completed')) {
      return { ...FAILED, leaseReleased, why: 'unresolved' as const };
    }
    const own = signal && letters.some(({ offset }) => offset === place);
    const noop = place === 'below';
    return { success: true, leaseReleased, dlq: filed && signal, noop, filed: own };
  });
}

/** §2.7: under a conflated lease a signal can name the delivered message alone. */
function nameable(
  items: readonly AckRequest[],
  places: readonly Place[],
  live: Lease | null,
): Place[] {
  return places.map((place, i) => {
    const isSignal = items[i]?.status !== 'completed';
    return live?.conflated === true && isSignal && place !== live.end ? 'unknown' : place;
  });
}

/** §6.4: the lease that settled its whole batch may be acknowledged again. */
function repeated(state: State, target: Target, named: string, repeats: boolean): AckVerdict[] {
  const { released } = target.cursor;
  return target.items.map(({ txn }) => {
    const known = repeats && state.rules.settledLeaseRemembered && released?.id === named;
    const inside =
      known &&
      target.partition.messages.some(
        ({ offset, txn: id }) => id === txn && offset >= released.first && offset <= released.last,
      );
    return inside
      ? { success: true, leaseReleased: true, dlq: false, noop: false, filed: false }
      : { ...FAILED, why: known ? ('unresolved' as const) : ('fenced' as const) };
  });
}

/**
 * A place in the span, else `below` when it is behind the cursor. Of several places in a batch the newest,
 * so that all of them are completed; a signal means the first. Without a batch the first, so that nothing
 * undelivered is passed over.
 */
function resolve(
  { partition, cursor }: Target,
  { live, freeMeansFirst }: { readonly live: Lease | null; readonly freeMeansFirst: boolean },
  { txn, status }: AckRequest,
): Place {
  const last = live?.end ?? Infinity;
  const places = partition.messages.filter((message) => message.txn === txn);
  const isFirst = live === null ? freeMeansFirst : status !== 'completed' && !live.conflated;
  const inside = places
    .filter(({ offset }) => offset > cursor.committed && offset <= last)
    .at(isFirst ? 0 : -1);
  if (inside !== undefined) return inside.offset;
  return places.some(({ offset }) => offset <= cursor.committed) ? 'below' : 'unknown';
}

/** §6.3 step 5: without a lease only a completed prefix moves the cursor, below the first signal. */
function settleFree({ cursor, items }: Target, places: readonly Place[]): void {
  const head = headOf(items, places);
  const reached = prefix(cursor.committed, items, places, head?.offset ?? Infinity);
  if (reached > cursor.committed) cursor.start = null;
  cursor.committed = reached;
}

interface Head {
  readonly offset: number;
  readonly status: 'failed' | 'retry' | 'dlq';
}

function headOf(items: readonly AckRequest[], places: readonly Place[]): Head | null {
  let head: Head | null = null;
  items.forEach(({ status }, i) => {
    const offset = places[i];
    if (typeof offset !== 'number' || status === 'completed') return;
    const stronger =
      head === null ||
      offset < head.offset ||
      (offset === head.offset && STRENGTH[status] > STRENGTH[head.status]);
    if (stronger) head = { offset, status };
  });
  return head;
}

function prefix(
  committed: number,
  items: readonly AckRequest[],
  places: readonly Place[],
  below: number,
): number {
  let highest = committed;
  items.forEach(({ status }, i) => {
    const offset = places[i];
    if (typeof offset !== 'number' || status !== 'completed' || offset >= below) return;
    highest = Math.max(highest, offset);
  });
  return highest;
}

/** §6.3 under a live lease. */
function settleLease(state: State, target: Target, lease: Lease, places: readonly Place[]): void {
  const { cursor, items, queue } = target;
  const { rules } = state;
  const head = headOf(items, places);
  const reached = prefix(cursor.committed, items, places, head?.offset ?? Infinity);
  if (head === null) {
    settlePrefix(state, cursor, lease, reached);
    return;
  }
  if (reached > cursor.committed && !lease.conflated) {
    cursor.committed = reached;
    cursor.attemptOffset = reached + 1;
  }
  const { retryLimit, deadLetterQueue, dlqAfterMaxRetries } = queue.options;
  const spent = cursor.retries;
  const budgetLeft = rules.budgetLeft(spent, retryLimit);
  const isOn = rules.dlqOn(deadLetterQueue, dlqAfterMaxRetries);
  if (head.status === 'retry') {
    release(state, cursor, lease);
    if (rules.retryCharges) cursor.retries += 1;
    return;
  }
  if (head.status === 'failed' && budgetLeft) {
    if (rules.settleAboveFailed)
      cursor.committed = prefix(cursor.committed, items, places, Infinity);
    release(state, cursor, lease);
    cursor.retries = spent + 1;
    return;
  }
  const files = head.status === 'dlq' || isOn;
  if (files) file(state, target, head.offset, places);
  cursor.committed = rules.letterPassesHead || !files ? head.offset : cursor.committed;
  cursor.retries = 0;
  resetAttempts(cursor);
  const exhausted = head.status === 'failed' || !budgetLeft;
  const stoppedAtFailed = settleAbove(state, target, lease, { places, exhausted, isOn, spent });
  if (stoppedAtFailed && head.status === 'dlq') cursor.retries = spent;
  release(state, cursor, lease);
}

function settlePrefix(state: State, cursor: Cursor, lease: Lease, reached: number): void {
  const moved = reached > cursor.committed;
  cursor.committed = lease.conflated && moved ? lease.end : reached;
  if (cursor.committed >= lease.end) {
    release(state, cursor, lease);
    cursor.retries = 0;
    resetAttempts(cursor);
    return;
  }
  if (!moved) return;
  cursor.attemptOffset = cursor.committed + 1;
}

function release(state: State, cursor: Cursor, lease: Lease): void {
  cursor.lease = null;
  if (cursor.committed >= lease.end) {
    cursor.released = { id: lease.id, first: lease.first, last: lease.end };
  }
  if (!state.rules.releaseSpansPartitions) return;
  for (const queue of state.queues.values()) {
    for (const partition of queue.partitions.values()) {
      for (const other of partition.cursors.values()) {
        if (other.lease?.id === lease.id) other.lease = null;
      }
    }
  }
}

function resetAttempts(cursor: Cursor): void {
  cursor.attemptOffset = -1;
  cursor.attemptCount = 0;
}

interface Above {
  readonly places: readonly Place[];
  readonly exhausted: boolean;
  readonly isOn: boolean;
  /** Retry count before the head reset it. */
  readonly spent: number;
}

/** §6.3 step 4; answers whether a `failed` with budget left ended it. */
function settleAbove(
  state: State,
  target: Target,
  lease: Lease,
  { places, exhausted, isOn, spent }: Above,
): boolean {
  const { cursor, items } = target;
  const highest = prefix(-1, items, places, Infinity);
  for (let offset = cursor.committed + 1; offset <= lease.end; offset += 1) {
    const status = strongestAt(items, places, offset);
    if (status === 'retry') break;
    if (status === 'failed' && !exhausted) return true;
    if (status === null && offset >= highest) break;
    if (status === 'dlq' || (status === 'failed' && isOn)) {
      file(state, target, offset, places, spent);
    }
    cursor.committed = offset;
  }
  return false;
}

function strongestAt(
  items: readonly AckRequest[],
  places: readonly Place[],
  offset: number,
): AckRequest['status'] | null {
  let found: AckRequest['status'] | null = null;
  items.forEach(({ status }, i) => {
    if (places[i] !== offset) return;
    if (found === null || STRENGTH[status] > STRENGTH[found]) found = status;
  });
  return found;
}

/** §2.6: content of a dead letter. */
function file(
  state: State,
  target: Target,
  offset: number,
  places: readonly Place[],
  retryCount: number = target.cursor.retries,
): void {
  const { partition, group, items } = target;
  const message = partition.messages[offset];
  if (message === undefined) throw new Error(`the model files a message that is none: ${offset}`);
  const strongest = strongestAt(items, places, offset);
  const own = items.find(({ status }, i) => places[i] === offset && status === strongest);
  const any = items.find(({ status, error }) => status !== 'completed' && error !== null);
  state.letters.push({
    id: mint(state, 'D'),
    ...{ queue: partition.queue, partition: partition.name, partitionId: partition.id },
    ...{ group, offset, messageId: message.id, txn: message.txn, payload: message.payload },
    error: own?.error ?? any?.error ?? 'Retries exhausted',
    ...{ retryCount, failedAt: state.now },
  });
}
