/**
 * The body of `POST /api/v1/traces` (messages.md §13) turned into an event: two spellings of most
 * fields, defaults, and the bounds that keep a trace small (names 511 bytes and 64 of them, data 64 KiB).
 */
import { QueenError } from '../common/errors.js';
import { murmur3x128Into } from '../common/murmur3-128.js';
import { encodeUtf8, utf8Length } from '../common/utf8.js';
import { parseUuid } from '../common/uuid-v7.js';
import type { JsonObject } from '../http/json-body.js';
import { MAX_TRACE_NAME_BYTES, MAX_TRACE_NAMES } from '../machine/commands/index.js';
import type { TraceEvent } from '../machine/tables/trace-row.js';

const MAX_KEY_BYTES = MAX_TRACE_NAME_BYTES;
const MAX_TEXT_BYTES = 1024;
const MAX_DATA_BYTES = 64 * 1024;

/** An event whose partition is not looked up yet. */
export interface ParsedTrace {
  readonly event: TraceEvent;
  /** As sent; null when the trace names none. */
  readonly partition: string | null;
}

/** Null when the transactionId is missing. */
export function parseTrace(body: JsonObject, mintId: () => Uint8Array): ParsedTrace | null {
  const transactionId = text(body, 'transactionId', 'transaction_id');
  if (transactionId === null) return null;
  checkKey('transactionId', transactionId);
  const traceId = text(body, 'traceId', 'trace_id');
  const utf8 = encodeUtf8(transactionId);
  const hash = new Uint8Array(16);
  murmur3x128Into(utf8, 0, utf8.length, hash, 0);
  const event: TraceEvent = {
    traceId: (traceId === null ? undefined : parseUuid(traceId)) ?? mintId(),
    partitionId: 0,
    transactionId,
    hash,
    messageId: short(body, 'messageId', 'message_id'),
    consumerGroup: short(body, 'consumerGroup', 'consumer_group'),
    eventType: short(body, 'eventType', 'type') ?? 'event',
    data: dataOf(body),
    worker: short(body, 'worker', 'worker_id'),
    names: namesOf(body),
  };
  return { event, partition: text(body, 'partitionId', 'partition_id') };
}

function text(body: JsonObject, name: string, alias: string): string | null {
  const value = body[name] ?? body[alias];
  if (value === undefined || value === null || value === '') return null;
  if (typeof value === 'string') return value;
  throw new QueenError('bad_request', `${name} must be a string`);
}

function short(body: JsonObject, name: string, alias: string): string | null {
  const value = text(body, name, alias);
  if (value !== null && utf8Length(value) > MAX_TEXT_BYTES) {
    throw new QueenError('bad_request', `${name} is longer than ${MAX_TEXT_BYTES} bytes`);
  }
  return value;
}

function dataOf(body: JsonObject): string {
  const data = JSON.stringify(body['data'] ?? null);
  if (utf8Length(data) > MAX_DATA_BYTES) {
    throw new QueenError('bad_request', `data is longer than ${MAX_DATA_BYTES} bytes`);
  }
  return data;
}

/** In order, each once; empty ones do not count. */
function namesOf(body: JsonObject): string[] {
  const value = body['traceNames'] ?? body['names'] ?? body['trace_names'] ?? [];
  if (!Array.isArray(value)) throw new QueenError('bad_request', 'traceNames must be an array');
  const names = new Set<string>();
  for (const name of value as unknown[]) {
    if (typeof name !== 'string') {
      throw new QueenError('bad_request', 'traceNames must be an array of strings');
    }
    if (name === '') continue;
    checkKey('trace name', name);
    names.add(name);
  }
  if (names.size > MAX_TRACE_NAMES) {
    throw new QueenError('bad_request', `a trace has at most ${MAX_TRACE_NAMES} names`);
  }
  return [...names];
}

/** 400 here, unlike the names of queues. */
export class TraceKeyTooLong extends Error {
  override readonly name = 'TraceKeyTooLong';
}

function checkKey(what: string, value: string): void {
  const bytes = utf8Length(value);
  if (bytes <= MAX_KEY_BYTES) return;
  throw new TraceKeyTooLong(`${what} is too long: ${bytes} bytes, at most ${MAX_KEY_BYTES}`);
}
