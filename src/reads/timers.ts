/**
 * Reads over timers in a view: due ones in firing order, pages of a queue, counts, and the log bytes
 * that pending timers keep alive. Everything is bounded or runs in slices.
 */
import {
  keyPinnedEntry,
  keyTimerDue,
  keyTimerName,
  timerDueRange,
  timerKeyOf,
  timerKeyOfDue,
  timerPinRange,
  timerRange,
} from '../machine/tables/timer-keys.js';
import type { TimerName } from '../machine/tables/timer-keys.js';
import { decodeTimerPin, decodeTimerRow } from '../machine/tables/timer-row.js';
import type { TimerRow } from '../machine/tables/timer-row.js';
import type { RowView } from './append-rows.js';
import { Slices } from './slices.js';

/** A view that also answers exact keys. */
export interface TimerView extends RowView {
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
}

export interface PendingTimer {
  readonly name: TimerName;
  readonly row: TimerRow;
}

export interface DueTimers {
  /** In firing order: by due instant, tenant, queue, key. */
  readonly timers: readonly PendingTimer[];
  /** No timer that was left out is due earlier; the instant given when nothing was left out. */
  readonly nextDue: number;
  /** More may be due: a bound was met. */
  readonly more: boolean;
}

/** Bytes in the log that must stay: a range in the payload of one entry. */
export interface LogReference {
  readonly entryIndex: number;
  readonly start: number;
  readonly length: number;
}

const HIGHEST = Number.MAX_SAFE_INTEGER;

/** Pending timers due in [from, now], at most `limit`; `nextDue` looks one entry beyond. */
export async function dueTimers(
  view: TimerView,
  span: { readonly from: number; readonly now: number; readonly limit: number },
): Promise<DueTimers> {
  const { from, now, limit } = span;
  const keys: Uint8Array[] = [];
  let nextDue = HIGHEST;
  for await (const [key] of view.iterate({ ...timerDueRange(from, HIGHEST), limit: limit + 1 })) {
    const due = keyTimerDue(key);
    if (due > now || keys.length === limit) {
      nextDue = due;
      break;
    }
    keys.push(timerKeyOfDue(key));
  }
  const values = await Promise.all(keys.map((key) => view.get(key)));
  const timers = values.flatMap((value, i): PendingTimer[] => {
    const key = keys[i];
    if (value === undefined || key === undefined) return [];
    return [{ name: keyTimerName(key), row: decodeTimerRow(value) }];
  });
  return { timers, nextDue, more: nextDue <= now };
}

export async function readTimer(view: TimerView, name: TimerName): Promise<TimerRow | undefined> {
  const value = await view.get(timerKeyOf(name));
  return value === undefined ? undefined : decodeTimerRow(value);
}

/** One page of a queue's timers in key order, those after `after`. */
export async function listTimers(
  view: RowView,
  from: { readonly tenant: number; readonly queue: string; readonly after: string },
  limit: number,
): Promise<{ readonly timers: readonly PendingTimer[]; readonly truncated: boolean }> {
  const { tenant, queue, after } = from;
  const range = timerRange(tenant, queue, after === '' ? {} : { after });
  const timers: PendingTimer[] = [];
  for await (const [key, value] of view.iterate({ ...range, limit: limit + 1 })) {
    if (timers.length === limit) return { timers, truncated: true };
    timers.push({ name: keyTimerName(key), row: decodeTimerRow(value.slice()) });
  }
  return { timers, truncated: false };
}

/** Timers of the queue whose key starts with `prefix`; undefined when `isLate` said so meanwhile. */
export async function countTimers(
  view: RowView,
  what: { readonly tenant: number; readonly queue: string; readonly prefix: string },
  isLate: () => boolean,
): Promise<number | undefined> {
  const { tenant, queue, prefix } = what;
  const slices = new Slices();
  let count = 0;
  for await (const _row of view.iterate(timerRange(tenant, queue, { prefix }))) {
    count += 1;
    if (!slices.isSpent()) continue;
    if (isLate()) return undefined;
    await slices.pause();
  }
  return count;
}

/**
 * The one list of log bytes that only timers keep alive, by entry index, entries in [from, until):
 * whoever collects segments asks here, as it asks for dead letters. Timers with small payloads do not
 * show: those stand in their rows.
 */
export async function* timerLogReferences(
  view: RowView,
  entries: { readonly from: number; readonly until: number },
): AsyncGenerator<LogReference> {
  for await (const [key, value] of view.iterate(timerPinRange(entries.from, entries.until))) {
    yield { entryIndex: keyPinnedEntry(key), ...decodeTimerPin(value) };
  }
}
