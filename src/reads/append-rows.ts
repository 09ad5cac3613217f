/**
 * Reads over append index rows of one partition in a view: where a start instant falls, and how many
 * messages fit a byte bound. Rows are found by seeks on their base offset; a search costs O(log n)
 * seeks, never a walk of the partition.
 */
import type { Micros, PartitionId, QueueId } from '../common/ids.js';
import { AppendRowView } from '../machine/tables/append-row.js';
import { appendKey, keyBaseOffset } from '../machine/tables/keyspaces.js';

/** The part of a group view these reads need. */
export interface RowView {
  iterate(range: {
    readonly gte: Uint8Array;
    readonly lt: Uint8Array;
    readonly reverse?: boolean;
    readonly limit?: number;
  }): AsyncIterable<readonly [Uint8Array, Uint8Array]>;
}

export interface AppendSpan {
  readonly queueId: QueueId;
  readonly partitionId: PartitionId;
  /** First and last offset to look at, inclusive. */
  readonly first: number;
  readonly last: number;
}

export interface FoundAppend {
  readonly baseOffset: number;
  readonly row: AppendRowView;
}

/** The append holding `offset`, or null when the view has none: trimmed, or appended after its moment. */
export async function appendHolding(
  view: RowView,
  span: AppendSpan,
  offset: number,
): Promise<FoundAppend | null> {
  const found = await appendAtOrBelow(view, span, offset);
  return found === null || endOf(found) <= offset ? null : found;
}

/** The append with the greatest base at or below `offset`, whether or not it reaches it. */
async function appendAtOrBelow(
  view: RowView,
  span: AppendSpan,
  offset: number,
): Promise<FoundAppend | null> {
  const range = {
    gte: appendKey(span.queueId, span.partitionId, 0),
    lt: appendKey(span.queueId, span.partitionId, offset + 1),
    reverse: true,
    limit: 1,
  };
  for await (const [key, value] of view.iterate(range)) {
    return { baseOffset: keyBaseOffset(key), row: new AppendRowView().open(value) };
  }
  return null;
}

const endOf = ({ baseOffset, row }: FoundAppend): number => baseOffset + row.count;

/**
 * First offset in the span whose append is stamped at or after `instant`; `last + 1` when none is.
 * Stamps increase strictly from append to append, so the search halves the offsets.
 *
 * The span comes from columns, which may be older or newer than the view. Rows the view has no longer
 * (trimmed) are older than all others. Rows it has not yet were appended after its moment, so they
 * count as stamped later: the first of them is the answer at the latest.
 */
export async function firstOffsetAtOrAfter(
  view: RowView,
  span: AppendSpan,
  instant: Micros,
): Promise<number> {
  let low = span.first;
  let high = span.last + 1;
  let hasRows = false;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const found = await appendAtOrBelow(view, span, middle);
    hasRows ||= found !== null;
    if (found === null) {
      low = middle + 1;
    } else if (found.row.createdAt >= instant) {
      high = Math.max(found.baseOffset, span.first);
      if (high <= low) return low;
    } else if (endOf(found) <= middle) {
      return Math.max(endOf(found), low);
    } else {
      low = endOf(found);
    }
  }
  return hasRows ? low : span.first;
}

/** Last offset of the longest run from `span.first` whose records take at most `maxBytes` (at least one). */
export async function lastOffsetWithin(
  view: RowView,
  span: AppendSpan,
  maxBytes: number,
): Promise<number> {
  const holding = await appendHolding(view, span, span.first);
  const from = holding?.baseOffset ?? span.first;
  let used = 0;
  let end = span.first - 1;
  const range = {
    gte: appendKey(span.queueId, span.partitionId, from),
    lt: appendKey(span.queueId, span.partitionId, span.last + 1),
  };
  const row = new AppendRowView();
  for await (const [key, value] of view.iterate(range)) {
    const base = keyBaseOffset(key);
    row.open(value);
    for (let i = 0; i < row.count; i += 1) {
      const offset = base + i;
      if (offset < span.first) continue;
      used += row.length(i);
      if (offset > span.last || (used > maxBytes && end >= span.first)) return end;
      end = offset;
    }
  }
  return Math.max(end, span.first);
}
