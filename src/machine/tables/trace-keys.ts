/**
 * Keys of traces (spec messages.md §13). A trace stands once, by time, so that the oldest are swept
 * first; entries by name and by message lead to it, newest last. Counts stand beside them, so that
 * nothing is counted by walking.
 *
 *   40 trace            u64 createdAt | 16B row id
 *   41 00 traced name   u32 tenant | name (to the end)             → traces, messages, last seen
 *   41 01 entry         u32 tenant | text name | u64 createdAt | 16B row id
 *   41 02 name, message u32 tenant | text name | u48 partition | 16B hash   → traces
 *   41 03 names         u32 tenant                                 → names
 *   42 00 message       u32 tenant | u48 partition | 16B hash      → traces
 *   42 01 entry         u32 tenant | u48 partition | 16B hash | u64 createdAt | 16B row id
 */
import { KeyWriter, keyU64 } from '../../common/key-writer.js';
import { readUtf8 } from '../../common/utf8.js';
import { KEYSPACE } from './keyspaces.js';
import type { KeyRange } from './keyspaces.js';

const NAME = 0;
const NAME_ENTRY = 1;
const NAME_MESSAGE = 2;
const NAMES = 3;
const MESSAGE = 0;
const MESSAGE_ENTRY = 1;
const ID_BYTES = 16;
const PLACE_BYTES = 8 + ID_BYTES;
const NAME_AT = 6;

const keys = new KeyWriter();

/** Where a trace stands. */
export interface TracePlace {
  readonly createdAt: number;
  readonly rowId: Uint8Array;
}

/** A message that is traced: partition 0 when the trace names none. */
export interface TracedMessage {
  readonly tenant: number;
  readonly partitionId: number;
  /** Of the transactionId. */
  readonly hash: Uint8Array;
}

export function traceKey(place: TracePlace): Uint8Array {
  return keys.clear().u8(KEYSPACE.traces).u64(place.createdAt).fixed(place.rowId, 0, 16).toBytes();
}

/** Traces made before `createdAt`. */
export function tracesBefore(createdAt: number): KeyRange {
  return {
    gte: keys.clear().u8(KEYSPACE.traces).toBytes(),
    lt: keys.clear().u8(KEYSPACE.traces).u64(createdAt).toBytes(),
  };
}

/** Traces made at `createdAt` or later, oldest first. */
export function tracesFrom(createdAt: number): KeyRange {
  return {
    gte: keys.clear().u8(KEYSPACE.traces).u64(createdAt).toBytes(),
    lt: keys
      .clear()
      .u8(KEYSPACE.traces + 1)
      .toBytes(),
  };
}

/** Where the trace of such a key stands. */
export function placeOfTraceKey(key: Uint8Array): TracePlace {
  return { createdAt: keyU64(key, 1), rowId: key.slice(1 + 8) };
}

export function traceNameKey(tenant: number, name: string): Uint8Array {
  return names(NAME, tenant).tail(name).toBytes();
}

/** Names of a tenant in byte order. */
export function traceNameRange(tenant: number): KeyRange {
  return { gte: names(NAME, tenant).toBytes(), lt: names(NAME, tenant + 1).toBytes() };
}

export function nameOfTraceKey(key: Uint8Array): string {
  return readUtf8(key, NAME_AT, key.length);
}

export function nameEntryKey(tenant: number, name: string, place: TracePlace): Uint8Array {
  return names(NAME_ENTRY, tenant)
    .string(name)
    .u64(place.createdAt)
    .fixed(place.rowId, 0, 16)
    .toBytes();
}

/** Entries of one name, oldest first. */
export function nameEntryRange(tenant: number, name: string): KeyRange {
  return behind(names(NAME_ENTRY, tenant).string(name).toBytes());
}

export function nameMessageKey(name: string, message: TracedMessage): Uint8Array {
  const { tenant, partitionId, hash } = message;
  return names(NAME_MESSAGE, tenant).string(name).u48(partitionId).fixed(hash, 0, 16).toBytes();
}

export function traceNamesKey(tenant: number): Uint8Array {
  return names(NAMES, tenant).toBytes();
}

export function tracedMessageKey(message: TracedMessage): Uint8Array {
  return messages(MESSAGE, message).toBytes();
}

export function messageEntryKey(message: TracedMessage, place: TracePlace): Uint8Array {
  return messages(MESSAGE_ENTRY, message).u64(place.createdAt).fixed(place.rowId, 0, 16).toBytes();
}

export function messageEntryRange(message: TracedMessage): KeyRange {
  return behind(messages(MESSAGE_ENTRY, message).toBytes());
}

/** Key of the trace that an entry leads to: the entry's last fields. */
export function traceKeyOfEntry(entry: Uint8Array): Uint8Array {
  const key = new Uint8Array(1 + PLACE_BYTES);
  key[0] = KEYSPACE.traces;
  key.set(entry.subarray(entry.length - PLACE_BYTES), 1);
  return key;
}

function names(kind: number, tenant: number): KeyWriter {
  return keys.clear().u8(KEYSPACE.traceNames).u8(kind).u32(tenant);
}

function messages(kind: number, message: TracedMessage): KeyWriter {
  const { tenant, partitionId, hash } = message;
  keys.clear().u8(KEYSPACE.tracedMessages).u8(kind).u32(tenant);
  return keys.u48(partitionId).fixed(hash, 0, 16);
}

/** Keys that go on behind a prefix with a place. */
function behind(prefix: Uint8Array): KeyRange {
  const lt = new Uint8Array(prefix.length + PLACE_BYTES).fill(0xff);
  lt.set(prefix);
  return { gte: prefix, lt };
}
