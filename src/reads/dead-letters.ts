/**
 * Reads over dead letters in a view: newest first over any queues, by message, by id, counts. Pages are
 * read as they are needed, so a list costs what it shows plus one seek per queue.
 */

import { micros, queueId as brandQueue } from '../common/ids.js';
import type { QueueId } from '../common/ids.js';
import type { DeadLetterName } from '../machine/commands/catalogue.js';
import type { DeadLetterRow } from '../machine/tables/dead-letter-row.js';
import {
  decodeDeadLetterRow,
  decodeLetterCount,
  decodeLetterPointer,
} from '../machine/tables/dead-letter-row.js';
import {
  deadLetterKey,
  groupLettersKey,
  keyLetterOffset,
  keyMessageLetterId,
  KEYSPACE,
  letterIdKey,
  messageLetterRange,
  queueRange,
} from '../machine/tables/keyspaces.js';
import type { MessagePlace } from '../machine/tables/keyspaces.js';
import type { RowView } from './append-rows.js';
import { ObjectHeap } from './object-heap.js';

/** A view that also answers exact keys. */
export interface LetterView extends RowView {
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
}

/** Instants of failure, µs: from inclusive, to exclusive; null = open. */
export interface FailedBetween {
  readonly from: number | null;
  readonly to: number | null;
}

const PAGE = 64;
const FIRST_ID = new Uint8Array(16);

/** Dead letters of the queues, newest failure first. */
export async function* newestLetters(
  view: RowView,
  queues: readonly QueueId[],
  between: FailedBetween,
): AsyncGenerator<DeadLetterRow> {
  const heap = new ObjectHeap<LetterSource>((a, b) => a.isNewerThan(b));
  for (const queue of queues) {
    const source = new LetterSource(view, queue, between);
    if (await source.fill(queues.length > 1 ? 1 : PAGE)) heap.push(source);
  }
  for (let source = heap.pop(); source !== undefined; source = heap.pop()) {
    yield source.take();
    if (source.head !== undefined || (await source.fill(PAGE))) heap.push(source);
  }
}

class LetterSource {
  private page: DeadLetterRow[] = [];
  private at = 0;
  private readonly gte: Uint8Array;
  private lt: Uint8Array;

  constructor(
    private readonly view: RowView,
    queue: QueueId,
    { from, to }: FailedBetween,
  ) {
    const all = queueRange(KEYSPACE.deadLetters, queue);
    this.gte = from === null ? all.gte : deadLetterKey(queue, Math.max(from, 0), FIRST_ID);
    this.lt = to === null ? all.lt : deadLetterKey(queue, Math.max(to, 0), FIRST_ID);
  }

  get head(): DeadLetterRow | undefined {
    return this.page[this.at];
  }

  /** Reads the next rows; false when there are none. */
  async fill(limit: number): Promise<boolean> {
    this.page = [];
    this.at = 0;
    const range = { gte: this.gte, lt: this.lt, reverse: true, limit };
    if (Buffer.compare(this.gte, this.lt) >= 0) return false;
    for await (const [key, value] of this.view.iterate(range)) {
      this.page.push(decodeDeadLetterRow(value));
      this.lt = Uint8Array.from(key);
    }
    return this.page.length > 0;
  }

  /** The head, which must be there. */
  take(): DeadLetterRow {
    const row = this.page[this.at];
    if (row === undefined) throw new Error('dead letter source is empty');
    this.at += 1;
    return row;
  }

  isNewerThan(other: LetterSource): boolean {
    const a = this.head;
    const b = other.head;
    if (a === undefined || b === undefined) return a !== undefined;
    if (a.failedAt !== b.failedAt) return a.failedAt > b.failedAt;
    return Buffer.compare(a.deadLetterId, b.deadLetterId) > 0;
  }
}

/** Names of the dead letters of one queue, oldest first, with their group. */
export async function* lettersOfQueue(
  view: RowView,
  queue: QueueId,
): AsyncGenerator<{ readonly name: DeadLetterName; readonly groupId: number }> {
  for await (const [, value] of view.iterate(queueRange(KEYSPACE.deadLetters, queue))) {
    const row = decodeDeadLetterRow(value);
    yield { name: letterName(row), groupId: row.groupId };
  }
}

export function letterName(row: DeadLetterRow): DeadLetterName {
  return {
    queueId: brandQueue(row.queueId),
    failedAt: micros(row.failedAt),
    deadLetterId: row.deadLetterId,
  };
}

export interface LetterOfMessage {
  readonly name: DeadLetterName;
  readonly offset: number;
}

/** Dead letters of the messages of a partition that have this transactionId, by offset. */
export async function lettersOfMessage(
  view: RowView,
  place: Omit<MessagePlace, 'offset'>,
  limit: number,
): Promise<LetterOfMessage[]> {
  const found: LetterOfMessage[] = [];
  for await (const [key, value] of view.iterate({ ...messageLetterRange(place), limit })) {
    const deadLetterId = Uint8Array.from(keyMessageLetterId(key));
    const failedAt = micros(decodeLetterPointer(value));
    const name = { queueId: brandQueue(place.queueId), failedAt, deadLetterId };
    found.push({ name, offset: keyLetterOffset(key) });
  }
  return found;
}

/** The dead letter of this id on one of the queues. */
export async function letterById(
  view: LetterView,
  queues: readonly QueueId[],
  deadLetterId: Uint8Array,
): Promise<DeadLetterRow | undefined> {
  for (const queueId of queues) {
    const pointer = await view.get(letterIdKey(queueId, deadLetterId));
    if (pointer === undefined) continue;
    const failedAt = micros(decodeLetterPointer(pointer));
    return readLetter(view, { queueId, failedAt, deadLetterId });
  }
  return undefined;
}

export async function readLetter(
  view: LetterView,
  name: DeadLetterName,
): Promise<DeadLetterRow | undefined> {
  const value = await view.get(deadLetterKey(name.queueId, name.failedAt, name.deadLetterId));
  return value === undefined ? undefined : decodeDeadLetterRow(value);
}

/** Dead letters of a group on a queue. */
export async function countLetters(
  view: LetterView,
  queueId: QueueId,
  groupId: number,
): Promise<number> {
  const value = await view.get(groupLettersKey(queueId, groupId));
  return value === undefined ? 0 : decodeLetterCount(value);
}
