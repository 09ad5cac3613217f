/**
 * Keys of the timer plane. The row and the due entry of a timer end in the same bytes, so the one leads
 * to the other; the store returns due entries in the order in which timers fire.
 *
 *   28 timer      u32 tenant | text queue | timerKey bytes
 *   29 due entry  u64 due µs | u32 tenant | text queue | timerKey bytes
 *   2a count      u32 tenant
 *   2b pin        u64 entryIndex | u32 tenant | text queue | timerKey bytes
 */
import { readUtf8 } from '../../common/utf8.js';
import { keyText, keyU32, keyU64, KeyWriter } from '../../common/key-writer.js';
import { KEYSPACE } from './keyspaces.js';
import type { KeyRange } from './keyspaces.js';

/** Who a timer is: (tenant, queue, timerKey). */
export interface TimerName {
  readonly tenant: number;
  readonly queue: string;
  readonly timerKey: string;
}

const DUE_NAME_AT = 9;
const keys = new KeyWriter();

export function timerKeyOf(name: TimerName): Uint8Array {
  return keys
    .clear()
    .u8(KEYSPACE.timers)
    .u32(name.tenant)
    .string(name.queue)
    .tail(name.timerKey)
    .toBytes();
}

export function timerDueKey(due: number, name: TimerName): Uint8Array {
  return indexKey(KEYSPACE.timersDue, due, name);
}

/** Of a timer whose payload stays in the log, in entry `entryIndex`. */
export function timerPinKey(entryIndex: number, name: TimerName): Uint8Array {
  return indexKey(KEYSPACE.timerPins, entryIndex, name);
}

function indexKey(keyspace: number, order: number, { tenant, queue, timerKey }: TimerName) {
  return keys.clear().u8(keyspace).u64(order).u32(tenant).string(queue).tail(timerKey).toBytes();
}

export function timerCountKey(tenant: number): Uint8Array {
  return keys.clear().u8(KEYSPACE.timerCounts).u32(tenant).toBytes();
}

/** Due entries with from <= due < until; `until` must be below 2^53. */
export function timerDueRange(from: number, until: number): KeyRange {
  return { gte: dueStart(from), lt: dueStart(until) };
}

/**
 * Timers of a queue in timerKey order: those that start with `prefix`, and only those after `after`
 * when one is given.
 */
export function timerRange(
  tenant: number,
  queue: string,
  { prefix = '', after }: { readonly prefix?: string; readonly after?: string } = {},
): KeyRange {
  const gte = startTimers(tenant, queue).tail(after ?? prefix);
  if (after !== undefined) gte.u8(0);
  const from = gte.toBytes();
  return { gte: from, lt: afterPrefix(startTimers(tenant, queue).tail(prefix).toBytes()) };
}

/** Log entries in which timers' payloads lie, entries from <= index < until. */
export function timerPinRange(from: number, until: number): KeyRange {
  return {
    gte: keys.clear().u8(KEYSPACE.timerPins).u64(from).toBytes(),
    lt: keys.clear().u8(KEYSPACE.timerPins).u64(until).toBytes(),
  };
}

export function keyPinnedEntry(pinKey: Uint8Array): number {
  return keyU64(pinKey, 1);
}

export function keyTimerDue(dueKey: Uint8Array): number {
  return keyU64(dueKey, 1);
}

/** The row's key of a due entry. */
export function timerKeyOfDue(dueKey: Uint8Array): Uint8Array {
  const key = new Uint8Array(dueKey.length - DUE_NAME_AT + 1);
  key[0] = KEYSPACE.timers;
  key.set(dueKey.subarray(DUE_NAME_AT), 1);
  return key;
}

/** Takes a row's key apart. */
export function keyTimerName(key: Uint8Array): TimerName {
  const tenant = keyU32(key, 1);
  const { bytes, next } = keyText(key, 5);
  return {
    tenant,
    queue: readUtf8(bytes, 0, bytes.length),
    timerKey: readUtf8(key, next, key.length),
  };
}

function dueStart(due: number): Uint8Array {
  return keys.clear().u8(KEYSPACE.timersDue).u64(due).toBytes();
}

function startTimers(tenant: number, queue: string): KeyWriter {
  return keys.clear().u8(KEYSPACE.timers).u32(tenant).string(queue);
}

/** First key that does not start with these bytes. They never are all 0xff: the keyspace is not. */
function afterPrefix(prefix: Uint8Array): Uint8Array {
  let end = prefix.length;
  while (end > 0 && prefix[end - 1] === 0xff) end -= 1;
  const next = prefix.slice(0, end);
  next[end - 1] = (next[end - 1] ?? 0) + 1;
  return next;
}
