/**
 * The list of dead letters (messages.md §11.4): newest failure first. Totals come from counters; only
 * filters without one (partition with group, times) are counted by reading, up to a bound.
 */
import { JsonWriter } from '../common/json/json-writer.js';
import { partitionId } from '../common/ids.js';
import { parseTimestamp } from '../common/timestamp.js';
import type { QueryValues } from '../http/query.js';
import { lenientInteger, textOrUndefined } from '../http/query.js';
import type { DeadLetterRow } from '../machine/tables/dead-letter-row.js';
import type { QueueRow } from '../machine/tables/tables.js';
import type { Group, GroupView } from '../raft/index.js';
import { countLetters, newestLetters } from '../reads/dead-letters.js';
import type { LetterMessage } from '../reads/letter-messages.js';
import { letterMessage } from '../reads/letter-messages.js';
import { findQueue, queuesOf } from '../reads/partition-identity.js';
import { Slices } from '../reads/slices.js';
import { PayloadBudget, readInSlices, writePayload } from '../reads/stored-messages.js';

/** Rows one request looks at; a page or a count may end short of what lies beyond. */
const MAX_SCANNED = 200_000;

export interface LetterFilter {
  readonly queue: string | undefined;
  readonly partition: string | undefined;
  readonly consumerGroup: string | undefined;
  readonly from: number | null;
  readonly to: number | null;
  readonly limit: number;
  readonly offset: number;
}

export function parseLetterFilter(query: QueryValues): LetterFilter {
  const time = (name: string): number | null => parseTimestamp(query[name] ?? '') ?? null;
  return {
    queue: textOrUndefined(query, 'queue'),
    partition: textOrUndefined(query, 'partition'),
    consumerGroup: textOrUndefined(query, 'consumerGroup'),
    from: time('from'),
    to: time('to'),
    limit: lenientInteger(query, 'limit', { fallback: 100, min: 1, max: 1000 }),
    offset: lenientInteger(query, 'offset', {
      ...{ fallback: 0, min: 0, max: Number.MAX_SAFE_INTEGER },
    }),
  };
}

/** What the filter names in this state of the tables. */
interface Scope {
  readonly queues: readonly QueueRow[];
  /** Undefined: any. */
  readonly groupId: number | undefined;
  readonly partition: string | undefined;
  readonly isEmpty: boolean;
}

function scopeOf(group: Group, tenant: Uint8Array, filter: LetterFilter): Scope {
  const { names } = group.tables;
  const queues =
    filter.queue === undefined
      ? queuesOf(group.tables, tenant)
      : [findQueue(group.tables, tenant, filter.queue)].filter((queue) => queue !== undefined);
  const tenantId = names.tenant(tenant);
  const groupId =
    tenantId === undefined || filter.consumerGroup === undefined
      ? undefined
      : names.group(tenantId, filter.consumerGroup);
  return {
    queues: queues.filter((queue) => queue.deadLetters > 0),
    groupId,
    partition: filter.partition,
    isEmpty: filter.consumerGroup !== undefined && groupId === undefined,
  };
}

/** The answer as JSON bytes. */
export async function listLetters(
  group: Group,
  tenant: Uint8Array,
  filter: LetterFilter,
): Promise<Uint8Array> {
  const scope = scopeOf(group, tenant, filter);
  const view = await group.view();
  try {
    const counted = scope.isEmpty ? 0 : await countFromCounters(group, view, { scope, filter });
    const found = await scanPage(group, view, { scope, filter, isCounted: counted !== null });
    return await render(group, found.rows, { filter, total: counted ?? found.matches });
  } finally {
    await view.close();
  }
}

interface Query {
  readonly scope: Scope;
  readonly filter: LetterFilter;
}

/** Null when no counter says it. */
async function countFromCounters(
  group: Group,
  view: GroupView,
  { scope, filter }: Query,
): Promise<number | null> {
  if (filter.from !== null || filter.to !== null) return null;
  const { partitions } = group.tables;
  let total = 0;
  for (const queue of scope.queues) {
    if (filter.partition !== undefined) {
      if (scope.groupId !== undefined) return null;
      const slot = partitions.find(queue.id, filter.partition);
      total += slot < 0 ? 0 : partitions.deadLetters(slot);
    } else if (scope.groupId !== undefined) {
      total += await countLetters(view, queue.id, scope.groupId);
    } else {
      total += queue.deadLetters;
    }
  }
  return total;
}

async function scanPage(
  group: Group,
  view: GroupView,
  query: Query & { readonly isCounted: boolean },
): Promise<{ readonly rows: DeadLetterRow[]; readonly matches: number }> {
  const { scope, filter, isCounted } = query;
  const rows: DeadLetterRow[] = [];
  let matches = 0;
  let scanned = 0;
  if (scope.isEmpty) return { rows, matches };
  const slices = new Slices();
  const queues = scope.queues.map(({ id }) => id);
  for await (const row of newestLetters(view, queues, filter)) {
    scanned += 1;
    if (matchesScope(group, scope, row)) {
      if (matches >= filter.offset && rows.length < filter.limit) rows.push(row);
      matches += 1;
    }
    if (scanned >= MAX_SCANNED || (isCounted && rows.length >= filter.limit)) break;
    if (slices.isSpent()) await slices.pause();
  }
  return { rows, matches };
}

function matchesScope(group: Group, scope: Scope, row: DeadLetterRow): boolean {
  if (scope.groupId !== undefined && row.groupId !== scope.groupId) return false;
  return scope.partition === undefined || partitionName(group, row) === scope.partition;
}

function partitionName(group: Group, row: DeadLetterRow): string {
  const { partitions } = group.tables;
  const slot = partitions.byId(partitionId(row.partitionId));
  return slot < 0 ? '' : partitions.name(slot);
}

async function render(
  group: Group,
  rows: readonly DeadLetterRow[],
  page: { readonly filter: LetterFilter; readonly total: number },
): Promise<Uint8Array> {
  const out = new JsonWriter(1024 + rows.length * 512);
  const budget = new PayloadBudget();
  out.ascii('{"messages":[');
  let isFirst = true;
  const read = (row: DeadLetterRow): Promise<LetterMessage | null> => letterMessage(group, row);
  await readInSlices(rows, read, (row, message) => {
    if (!isFirst) out.ascii(',');
    isFirst = false;
    writeLetter(out, group, { row, message, shown: budget.admits(message) });
  });
  out.ascii('],"total":').integer(page.total);
  out.ascii(',"pagination":{"limit":').integer(page.filter.limit);
  out.ascii(',"offset":').integer(page.filter.offset);
  return out.ascii('}}').view();
}

interface ShownLetter {
  readonly row: DeadLetterRow;
  readonly message: LetterMessage | null;
  readonly shown: boolean;
}

function writeLetter(out: JsonWriter, group: Group, letter: ShownLetter): void {
  const { row, message, shown } = letter;
  const { names, queues } = group.tables;
  out.ascii('{"id":').uuid(row.deadLetterId);
  out.ascii(',"queue":').string(queues.byId(row.queueId as never)?.name ?? '');
  out.ascii(',"partition":').string(partitionName(group, row));
  out.ascii(',"partitionId":').integerText(row.partitionId);
  out.ascii(',"createdAt":').timestamp(row.failedAt);
  out.ascii(',"consumerGroup":').string(names.groupName(row.groupId as never));
  out.ascii(',"offset":').integer(row.offset);
  out.ascii(',"messageId":').uuid(row.messageId);
  out.ascii(',"transactionId":');
  if (message === null) out.ascii('""');
  else out.utf8(message.transactionId, 0, message.transactionId.length);
  out.ascii(',"data":');
  writePayload(out, message, shown);
  out.ascii(',"payload":');
  writePayload(out, message, shown);
  out.ascii(',"errorMessage":').string(row.error);
  out.ascii(',"retryCount":').integer(row.retryCount);
  out.ascii(',"failedAt":').timestamp(row.failedAt).ascii('}');
}
