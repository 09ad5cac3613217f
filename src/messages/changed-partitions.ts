/**
 * Which partitions of a queue changed (messages.md §12.3): a page by name, or by (lastWriteAt, name) since
 * an instant. The walk keeps only a page: the smallest keys behind the cursor.
 */
import { timestampText } from '../common/timestamp.js';
import type { QueueRow, Tables } from '../machine/tables/tables.js';
import { ObjectHeap } from '../reads/object-heap.js';
import { walkPartitions } from '../reads/partition-walk.js';
import type { Slices } from '../reads/slices.js';
import type { ChangedEntry } from './fetch-body.js';

/** One page as it is answered, or what is wrong with the entry. */
export type ChangedPage =
  | { readonly queue: string; readonly error: string }
  | {
      readonly queue: string;
      readonly partitions: readonly object[];
      readonly next: string | null;
    };

interface PageKey {
  /** µs of the newest append; 0 in pages by name. */
  readonly at: number;
  readonly name: string;
}

interface ChangedRow extends PageKey {
  readonly lastOffset: number;
  readonly logStart: number;
  readonly lastWriteAt: number;
}

const BY_NAME = /^n\|([^]*)$/;
const BY_TIME = /^t\|(\d{1,16})\|([^]*)$/;

/** Undefined when the cursor has another form than the page. */
export function parseCursor(entry: ChangedEntry): PageKey | null | undefined {
  if (entry.after === null) return null;
  if (entry.since === null) {
    const match = BY_NAME.exec(entry.after);
    return match === null ? undefined : { at: 0, name: match[1] ?? '' };
  }
  const match = BY_TIME.exec(entry.after);
  return match === null ? undefined : { at: Number(match[1]), name: match[2] ?? '' };
}

export async function changedPage(
  walk: { readonly tables: Tables; readonly slices: Slices },
  queue: QueueRow,
  entry: ChangedEntry,
): Promise<ChangedPage> {
  const after = parseCursor(entry);
  if (after === undefined) return { queue: entry.queue, error: 'BAD_CURSOR' };
  const page = new ObjectHeap<ChangedRow>((a, b) => compare(a, b) > 0);
  await walkPartitions(walk, queue.id, (slot) => {
    const { partitions } = walk.tables;
    const lastWriteAt = partitions.lastAppendAt(slot) || partitions.createdAt(slot);
    if (entry.since !== null && lastWriteAt < entry.since) return;
    const key = { at: entry.since === null ? 0 : lastWriteAt, name: partitions.name(slot) };
    if (after !== null && compare(key, after) <= 0) return;
    const largest = page.first;
    if (page.size >= entry.limit && largest !== undefined && compare(key, largest) >= 0) return;
    const lastOffset = partitions.lastOffset(slot);
    page.push({ ...key, lastOffset, logStart: partitions.logStart(slot), lastWriteAt });
    if (page.size > entry.limit) page.pop();
  });
  const rows: ChangedRow[] = [];
  for (let row = page.pop(); row !== undefined; row = page.pop()) rows.push(row);
  rows.reverse();
  const last = rows.length === entry.limit ? rows.at(-1) : undefined;
  return {
    queue: entry.queue,
    partitions: rows.map(({ name, lastOffset, logStart, lastWriteAt }) => ({
      ...{ name, lastOffset, logStart, lastWriteAt: timestampText(lastWriteAt) },
    })),
    next: last === undefined ? null : cursorText(entry, last),
  };
}

function cursorText(entry: ChangedEntry, row: ChangedRow): string {
  return entry.since === null ? `n|${row.name}` : `t|${row.at}|${row.name}`;
}

function compare(a: PageKey, b: PageKey): number {
  if (a.at !== b.at) return a.at - b.at;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}
