/**
 * Writing and removing timers: the row, its entries in the due index and among the pins of log bytes,
 * and the tenant's count always change together, and everything is folded in the digest.
 */
import type { TimerName } from '../tables/timer-keys.js';
import { timerDueKey, timerKeyOf, timerPinKey } from '../tables/timer-keys.js';
import {
  decodeTimerRow,
  encodeDueEntry,
  encodeTimerPin,
  encodeTimerRow,
  isInline,
  timerDue,
} from '../tables/timer-row.js';
import type { TimerRow } from '../tables/timer-row.js';
import type { ApplyContext } from './context.js';

export function findTimer(context: ApplyContext, name: TimerName): TimerRow | undefined {
  const value = context.rows.get(timerKeyOf(name));
  return value === undefined ? undefined : decodeTimerRow(value);
}

/** Puts a new or changed timer; `before` is the row it replaces. */
export function putTimer(
  context: ApplyContext,
  name: TimerName,
  row: TimerRow,
  before: TimerRow | undefined,
): void {
  const { rows, digest, effects } = context;
  const due = timerDue(row);
  if (before === undefined) context.tables.timers.add(name.tenant, 1);
  else removeIndexRows(context, name, before);
  rows.put(timerKeyOf(name), encodeTimerRow(row));
  rows.put(timerDueKey(due, name), encodeDueEntry());
  if (!isInline(row)) rows.put(timerPinKey(row.place.entryIndex, name), encodeTimerPin(row.place));
  foldName(context, name);
  digest.number(due);
  digest.word(row.attempts);
  digest.word(row.place.crc);
  digest.bytes(row.messageId);
  effects.timerDue(due);
}

export function removeTimer(context: ApplyContext, name: TimerName, row: TimerRow): void {
  const { rows } = context;
  rows.delete(timerKeyOf(name));
  removeIndexRows(context, name, row);
  context.tables.timers.add(name.tenant, -1);
  foldName(context, name);
  context.digest.bytes(row.messageId);
}

function removeIndexRows({ rows }: ApplyContext, name: TimerName, row: TimerRow): void {
  rows.delete(timerDueKey(timerDue(row), name));
  if (!isInline(row)) rows.delete(timerPinKey(row.place.entryIndex, name));
}

function foldName(context: ApplyContext, name: TimerName): void {
  context.digest.word(name.tenant);
  context.digest.text(name.queue);
  context.digest.text(name.timerKey);
}
