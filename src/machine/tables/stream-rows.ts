/**
 * Keys and rows of the streams plane. The state of a query lies under its generation: a reset takes a
 * new one, and what lies under the old one is garbage that is removed node-locally in slices.
 *
 *   30 query          u32 tenant | 16B queryId
 *        u8 version=1 | str name | str source | u8 hasSink [str sink] | str configHash
 *        | u32 generation | u64 createdAt | u64 updatedAt
 *   31 state          u32 tenant | 16B queryId | u32 generation | u48 partition | key bytes
 *        u8 version=1 | u64 updatedAt | JSON to the end
 *   32 garbage state  u32 tenant | 16B queryId | u32 generation
 *        u8 version=1
 */
import { KeyWriter, keyU32 } from '../../common/key-writer.js';
import { readUtf8 } from '../../common/utf8.js';
import { readOptionalText, writeOptionalText } from '../commands/fields.js';
import { KEYSPACE } from './keyspaces.js';
import type { KeyRange } from './keyspaces.js';
import { beginRow, openRow } from './row-codec.js';

const VERSION = 1;
const QUERY_ID_AT = 5;
const GENERATION_AT = 21;
const STATE_KEY_AT = 31;
const keys = new KeyWriter();

export interface StreamQuery {
  readonly tenant: number;
  readonly queryId: Uint8Array;
  readonly name: string;
  readonly sourceQueue: string;
  readonly sinkQueue: string | null;
  readonly configHash: string;
  /** Counts resets. */
  readonly generation: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** Whose state, and of which source partition. */
export type StatePlace = Pick<StreamQuery, 'tenant' | 'queryId' | 'generation'> & {
  readonly partitionId: number;
};

export interface StateRow {
  readonly updatedAt: number;
  /** JSON, a slice of the row. */
  readonly value: Uint8Array;
}

export function streamQueryKey(tenant: number, queryId: Uint8Array): Uint8Array {
  return keys.clear().u8(KEYSPACE.streamQueries).u32(tenant).fixed(queryId).toBytes();
}

export function streamStateKey(place: StatePlace, key: string): Uint8Array {
  return startState(place).u48(place.partitionId).tail(key).toBytes();
}

/** State rows of one partition whose key starts with `prefix`, in key order. */
export function streamStateRange(place: StatePlace, prefix: string): KeyRange {
  const gte = streamStateKey(place, prefix);
  return { gte, lt: following(gte) };
}

/** All state of one generation of a query. */
export function streamGenerationRange(query: Omit<StatePlace, 'partitionId'>): KeyRange {
  const gte = startState(query).toBytes();
  return { gte, lt: following(gte) };
}

export function garbageStateKey(query: Omit<StatePlace, 'partitionId'>): Uint8Array {
  return startGeneration(KEYSPACE.garbageState, query).toBytes();
}

export function keyGeneration(key: Uint8Array): Omit<StatePlace, 'partitionId'> {
  return {
    tenant: keyU32(key, 1),
    queryId: key.slice(QUERY_ID_AT, GENERATION_AT),
    generation: keyU32(key, GENERATION_AT),
  };
}

export function keyStateKey(key: Uint8Array): string {
  return readUtf8(key, STATE_KEY_AT, key.length);
}

export function encodeQueryRow(query: StreamQuery): Uint8Array {
  const writer = beginRow(VERSION);
  writer.string(query.name);
  writer.string(query.sourceQueue);
  writeOptionalText(writer, query.sinkQueue);
  writer.string(query.configHash);
  writer.u32(query.generation);
  writer.u64(query.createdAt);
  writer.u64(query.updatedAt);
  return writer.toBytes();
}

export function decodeQueryRow(key: Uint8Array, value: Uint8Array): StreamQuery {
  const reader = openRow(value, VERSION, 'stream query row');
  const query = {
    tenant: keyU32(key, 1),
    queryId: key.slice(QUERY_ID_AT, GENERATION_AT),
    name: reader.string(),
    sourceQueue: reader.string(),
    sinkQueue: readOptionalText(reader),
    configHash: reader.string(),
    generation: reader.u32(),
    createdAt: reader.u64(),
    updatedAt: reader.u64(),
  };
  reader.expectEnd();
  return query;
}

export function encodeStateRow(updatedAt: number, value: Uint8Array): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u64(updatedAt);
  writer.raw(value);
  return writer.toBytes();
}

export function decodeStateRow(row: Uint8Array): StateRow {
  const reader = openRow(row, VERSION, 'stream state row');
  const updatedAt = reader.u64();
  return { updatedAt, value: reader.raw(reader.remaining) };
}

const GARBAGE_ROW = Uint8Array.of(VERSION);

export function encodeGarbageState(): Uint8Array {
  return GARBAGE_ROW;
}

export function checkGarbageState(value: Uint8Array): void {
  openRow(value, VERSION, 'garbage state row').expectEnd();
}

function startState(query: Omit<StatePlace, 'partitionId'>): KeyWriter {
  return startGeneration(KEYSPACE.streamState, query);
}

function startGeneration(keyspace: number, query: Omit<StatePlace, 'partitionId'>): KeyWriter {
  return keys.clear().u8(keyspace).u32(query.tenant).fixed(query.queryId).u32(query.generation);
}

/** First key that does not start with these bytes; the keyspace byte is never 0xff. */
function following(prefix: Uint8Array): Uint8Array {
  let end = prefix.length;
  while (prefix[end - 1] === 0xff) end -= 1;
  const next = prefix.slice(0, end);
  next[end - 1] = (next[end - 1] ?? 0) + 1;
  return next;
}
