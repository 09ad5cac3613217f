/**
 * How far a cursor is behind: messages from the columns, time from the append that holds the oldest
 * message not yet consumed. Three cases need no row: nothing is left, the partition's first message is
 * next, its newest append is next.
 */
import type { PartitionId, QueueId } from '../common/ids.js';
import type { Tables } from '../machine/tables/tables.js';
import type { RowView } from './append-rows.js';
import { appendHolding } from './append-rows.js';

const SECOND_MICROS = 1_000_000;

/**
 * Row lookups of one answer, and the time for them; beyond them the newest append stands in for the
 * oldest message.
 */
export const MAX_LAG_LOOKUPS = 10_000;
export const LAG_LOOKUPS_MS = 1_000;

export interface CursorLag {
  /** Messages behind: retained and not settled. */
  readonly messages: number;
  /** Offset of the oldest of them, -1 when there is none. */
  readonly nextOffset: number;
  /** µs when it was appended, 0 when there is none, null when only the row knows. */
  readonly oldestAt: number | null;
}

const CAUGHT_UP: CursorLag = { messages: 0, nextOffset: -1, oldestAt: 0 };

export function cursorLag(tables: Tables, partitionSlot: number, committed: number): CursorLag {
  const { partitions } = tables;
  const last = partitions.lastOffset(partitionSlot);
  const next = Math.max(committed + 1, partitions.logStart(partitionSlot));
  if (next > last) return CAUGHT_UP;
  const oldestAt =
    next === 0
      ? partitions.createdAt(partitionSlot)
      : next === last
        ? partitions.lastAppendAt(partitionSlot)
        : null;
  return { messages: last - next + 1, nextOffset: next, oldestAt };
}

export interface LagPlace {
  readonly queueId: QueueId;
  readonly partitionId: PartitionId;
  readonly offset: number;
}

/** µs when the message at the place was appended, null when its row is gone. */
export async function appendedAt(view: RowView, place: LagPlace): Promise<number | null> {
  const { queueId, partitionId, offset } = place;
  const span = { queueId, partitionId, first: offset, last: offset };
  const found = await appendHolding(view, span, offset);
  return found?.row.createdAt ?? null;
}

/** Whole seconds, rounded; 0 when there is nothing to wait for. */
export function lagSeconds(nowMicros: number, oldestAt: number): number {
  return oldestAt === 0 ? 0 : Math.max(Math.round((nowMicros - oldestAt) / SECOND_MICROS), 0);
}
