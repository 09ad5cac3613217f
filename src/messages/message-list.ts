/**
 * The message list (messages.md §11.1): newest first over the partitions the filter names, with status.
 * Partitions are walked in slices; the newest ones by their last append are kept, then merged.
 */
import { partitionId } from '../common/ids.js';
import { parseTimestamp } from '../common/timestamp.js';
import type { QueryValues } from '../http/query.js';
import { lenientInteger, textOrUndefined } from '../http/query.js';
import type { QueueRow, Tables } from '../machine/tables/tables.js';
import type { Group, GroupView } from '../raft/index.js';
import { lettersOfMessage } from '../reads/dead-letters.js';
import { newestMessages } from '../reads/newest-messages.js';
import type { ListedMessage, MessageSource } from '../reads/newest-messages.js';
import { ObjectHeap } from '../reads/object-heap.js';
import { findQueue, queuesOf } from '../reads/partition-identity.js';
import { walkPartitions } from '../reads/partition-walk.js';
import { Slices } from '../reads/slices.js';
import type { ConsumptionMode, MessageStatus, PartitionReaders } from './message-status.js';
import { messageStatus, ModeSurvey, partitionReaders } from './message-status.js';

const MINUTE_MICROS = 60_000_000;
const HOUR_MICROS = 60 * MINUTE_MICROS;
/** Messages one request looks at, and the time for a search by status: it may end short of what lies beyond. */
const MAX_SCANNED = 100_000;
const SCAN_MS = 2_000;
/** Partitions merged: those with the newest appends. */
const MAX_SOURCES = 65_536;
const MAX_LETTERS = 1_000;

export interface MessageFilter {
  readonly queue: string | undefined;
  readonly partition: string | undefined;
  readonly namespace: string | undefined;
  readonly task: string | undefined;
  readonly status: string | undefined;
  readonly limit: number;
  readonly offset: number;
  readonly from: number;
  readonly to: number;
}

export function parseMessageFilter(query: QueryValues, nowMicros: number): MessageFilter {
  const to = parseTimestamp(query['to'] ?? '') ?? nowMicros;
  return {
    queue: textOrUndefined(query, 'queue'),
    partition: textOrUndefined(query, 'partition'),
    namespace: textOrUndefined(query, 'namespace'),
    task: textOrUndefined(query, 'task'),
    status: textOrUndefined(query, 'status'),
    limit: lenientInteger(query, 'limit', { fallback: 200, min: 1, max: 1000 }),
    offset: lenientInteger(query, 'offset', {
      ...{ fallback: 0, min: 0, max: Number.MAX_SAFE_INTEGER },
    }),
    from: parseTimestamp(query['from'] ?? '') ?? nowMicros - HOUR_MICROS,
    to: (Math.floor(to / MINUTE_MICROS) + 1) * MINUTE_MICROS,
  };
}

export interface ListedRow extends ListedMessage {
  readonly status: MessageStatus;
  readonly readers: PartitionReaders;
}

export interface MessagePage {
  readonly rows: readonly ListedRow[];
  readonly mode: ConsumptionMode;
}

export async function listMessages(
  group: Group,
  tenant: Uint8Array,
  filter: MessageFilter,
): Promise<MessagePage> {
  const { sources, mode } = await gather(group, tenant, filter);
  const view = await group.view();
  try {
    return { rows: await readPage(group, view, { sources, filter }), mode };
  } finally {
    await view.close();
  }
}

interface Gathered {
  readonly sources: readonly MessageSource[];
  readonly mode: ConsumptionMode;
}

/** The mode speaks of all partitions of the queue and partition filter, whatever the other filters. */
async function gather(group: Group, tenant: Uint8Array, filter: MessageFilter): Promise<Gathered> {
  const { tables } = group;
  const survey = new ModeSurvey(tables);
  const kept = new NewestSources(filter);
  const slices = new Slices();
  for (const queue of namedQueues(group, tenant, filter)) {
    const isListed = matchesLabels(queue, filter);
    const visit = (slot: number): void => {
      survey.add(slot);
      if (!isListed || !kept.admits(tables, slot)) return;
      const source = sourceOf(group, slot, filter);
      if (source !== null) kept.add(source);
    };
    if (filter.partition === undefined) {
      await walkPartitions({ tables, slices }, queue.id, visit);
    } else {
      const slot = tables.partitions.find(queue.id, filter.partition);
      if (slot >= 0) visit(slot);
    }
    if (slices.isSpent()) await slices.pause();
  }
  return { sources: kept.all(), mode: survey.result() };
}

type Newest = Pick<MessageSource, 'lastAppendAt' | 'lastOffset' | 'partitionId'>;

/**
 * The partitions a page can come from. A page of n messages lies in the n partitions with the newest
 * ones; more are kept where those messages may not count: by their status, or as later than `to`.
 */
class NewestSources {
  /** First: the one to give way. */
  private readonly inside = new ObjectHeap<MessageSource>(isOlder);
  private readonly later = new ObjectHeap<MessageSource>(isOlder);
  private readonly needed: number;

  constructor(private readonly filter: MessageFilter) {
    const { status, limit, offset } = filter;
    this.needed = status === undefined ? Math.min(limit + offset, MAX_SOURCES) : MAX_SOURCES;
  }

  /** False for most lanes of a large queue; costs no object there. */
  admits({ partitions }: Tables, slot: number): boolean {
    const lastAppendAt = partitions.lastAppendAt(slot);
    const { heap, most } = this.of(lastAppendAt);
    if (heap.size < most || heap.first === undefined) return true;
    const lastOffset = partitions.lastOffset(slot);
    return !isOlder({ lastAppendAt, lastOffset, partitionId: partitions.id(slot) }, heap.first);
  }

  add(source: MessageSource): void {
    const { heap, most } = this.of(source.lastAppendAt);
    heap.push(source);
    if (heap.size > most) heap.pop();
  }

  all(): MessageSource[] {
    return [...this.inside.all, ...this.later.all];
  }

  private of(lastAppendAt: number): { heap: ObjectHeap<MessageSource>; most: number } {
    const isInside = lastAppendAt < this.filter.to;
    return isInside
      ? { heap: this.inside, most: this.needed }
      : { heap: this.later, most: MAX_SOURCES };
  }
}

/** By the newest message of each, as the list orders them. */
function isOlder(a: Newest, b: Newest): boolean {
  if (a.lastAppendAt !== b.lastAppendAt) return a.lastAppendAt < b.lastAppendAt;
  if (a.lastOffset !== b.lastOffset) return a.lastOffset < b.lastOffset;
  return a.partitionId < b.partitionId;
}

function namedQueues(group: Group, tenant: Uint8Array, filter: MessageFilter): readonly QueueRow[] {
  if (filter.queue === undefined) return queuesOf(group.tables, tenant);
  const queue = findQueue(group.tables, tenant, filter.queue);
  return queue === undefined ? [] : [queue];
}

function matchesLabels(queue: QueueRow, filter: MessageFilter): boolean {
  const { namespace, task } = queue.options;
  return (
    (filter.namespace === undefined || filter.namespace === namespace) &&
    (filter.task === undefined || filter.task === task)
  );
}

/** Null when nothing of the partition can lie in the interval. */
function sourceOf(group: Group, slot: number, filter: MessageFilter): MessageSource | null {
  const { partitions } = group.tables;
  if (!mayHold(group, slot, filter.status)) return null;
  const lastAppendAt = partitions.lastAppendAt(slot);
  const logStart = partitions.logStart(slot);
  const lastOffset = partitions.lastOffset(slot);
  if (lastOffset < logStart || lastAppendAt < filter.from) return null;
  if (partitions.createdAt(slot) >= filter.to) return null;
  const queueId = partitions.queueId(slot);
  return { queueId, partitionId: partitions.id(slot), logStart, lastOffset, lastAppendAt };
}

/** False when no message of the partition can have the status: most partitions then cost no read. */
function mayHold(group: Group, slot: number, status: string | undefined): boolean {
  if (status === undefined) return true;
  const { partitions } = group.tables;
  if (status === 'dead_letter') return partitions.deadLetters(slot) > 0;
  const readers = partitionReaders(group.tables, slot, group.nowMicros());
  const ends = (offset: number): MessageStatus => messageStatus(readers, offset, false);
  // Readers go forward: what is completed lies before what is not.
  if (status === 'completed') return ends(partitions.logStart(slot)) === status;
  return ends(partitions.lastOffset(slot)) === status;
}

async function readPage(
  group: Group,
  view: GroupView,
  query: { readonly sources: readonly MessageSource[]; readonly filter: MessageFilter },
): Promise<ListedRow[]> {
  const { sources, filter } = query;
  const readers = new Map<number, PartitionReaders>();
  const nowMicros = group.nowMicros();
  const rows: ListedRow[] = [];
  const slices = new Slices();
  const endMs = performance.now() + SCAN_MS;
  let scanned = 0;
  let matches = 0;
  for await (const message of newestMessages(view, sources, filter)) {
    scanned += 1;
    const isWanted = filter.status !== undefined || matches >= filter.offset;
    const row = isWanted ? await withStatus(group, view, { message, readers, nowMicros }) : null;
    if (row === null || filter.status === undefined || row.status === filter.status) {
      if (row !== null && matches >= filter.offset) rows.push(row);
      matches += 1;
    }
    if (rows.length >= filter.limit || scanned >= MAX_SCANNED) break;
    // Only a search may end short; a page as such is a matter of `offset + limit` messages.
    if (filter.status !== undefined && performance.now() >= endMs) break;
    if (slices.isSpent()) await slices.pause();
  }
  return rows;
}

interface Judging {
  readonly message: ListedMessage;
  readonly readers: Map<number, PartitionReaders>;
  readonly nowMicros: number;
}

async function withStatus(group: Group, view: GroupView, judging: Judging): Promise<ListedRow> {
  const { message, nowMicros } = judging;
  const { partitions } = group.tables;
  const slot = partitions.byId(partitionId(message.partitionId));
  let readers = judging.readers.get(message.partitionId);
  if (readers === undefined) {
    readers = partitionReaders(group.tables, slot, nowMicros);
    judging.readers.set(message.partitionId, readers);
  }
  const isDead =
    slot >= 0 && partitions.deadLetters(slot) > 0 && (await isDeadLetter(view, message));
  return { ...message, readers, status: messageStatus(readers, message.offset, isDead) };
}

async function isDeadLetter(view: GroupView, message: ListedMessage): Promise<boolean> {
  const letters = await lettersOfMessage(view, message, MAX_LETTERS);
  return letters.some((letter) => letter.offset === message.offset);
}
