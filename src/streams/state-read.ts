/**
 * Reading the state of a query (state.md §4.2): what a body asks for, and the answer, bounded. Without a
 * `limit` the answer has every row or is refused as too large; with one it is a page that says where
 * the next one starts.
 */
import { QueenError } from '../common/errors.js';
import { fieldName } from '../common/json/body-refusal.js';
import { JsonCursor } from '../common/json/json-cursor.js';
import { KIND_NUMBER } from '../common/json/json-syntax.js';
import { JsonWriter } from '../common/json/json-writer.js';
import { readUtf8 } from '../common/utf8.js';
import type { JsonObject } from '../http/json-body.js';
import type { StatePlace } from '../machine/tables/stream-rows.js';
import type { StateEntry, StateSelection, StateView } from '../reads/stream-state.js';
import { stateRows } from '../reads/stream-state.js';
import { optionalString } from './stream-body.js';

/** Bytes of rows in one answer; a page has at least one row. */
export const MAX_STATE_ANSWER_BYTES = 16 * 1024 * 1024;
export const MAX_STATE_KEYS = 10_000;
export const MAX_STATE_LIMIT = 1_000;
const WINDOW_END = fieldName('windowEnd');

export interface StateRequest extends StateSelection {
  /** Epoch ms; null: any row. */
  readonly ripeAtOrBefore: number | null;
  /** Null: every row at once. */
  readonly limit: number | null;
}

export function stateRequest(body: JsonObject): StateRequest {
  return {
    keys: keysOf(body),
    prefix: optionalString(body, 'key_prefix') ?? '',
    after: optionalString(body, 'after') ?? '',
    ripeAtOrBefore: numberOf(body, 'ripe_at_or_before'),
    limit: limitOf(body),
  };
}

/** An empty list is no filter; what is no text is no key. */
function keysOf(body: JsonObject): readonly string[] | null {
  const list = body['keys'] ?? [];
  if (!Array.isArray(list)) throw new QueenError('bad_request', 'keys must be an array');
  if (list.length > MAX_STATE_KEYS) {
    throw new QueenError('bad_request', `${list.length} keys; a read takes ${MAX_STATE_KEYS}`);
  }
  if (list.length === 0) return null;
  return list.filter((key): key is string => typeof key === 'string');
}

function numberOf(body: JsonObject, name: string): number | null {
  const value = body[name] ?? null;
  if (value === null || typeof value === 'number') return value;
  throw new QueenError('bad_request', `${name} must be a number`);
}

function limitOf(body: JsonObject): number | null {
  const limit = numberOf(body, 'limit');
  if (limit === null) return null;
  if (!Number.isInteger(limit)) throw new QueenError('bad_request', 'limit must be an integer');
  return Math.min(Math.max(limit, 1), MAX_STATE_LIMIT);
}

/** The body of the answer. Throws `payload_too_large` when there is more than one answer may have. */
export async function stateAnswer(
  source: { readonly view: StateView; readonly place: StatePlace },
  request: StateRequest,
  isLate: () => boolean,
): Promise<Uint8Array> {
  const { limit, ripeAtOrBefore } = request;
  const writer = new JsonWriter().ascii('{"success":true,"rows":[');
  let count = 0;
  let last: string | undefined;
  let truncated = false;
  for await (const entry of stateRows(source.view, source.place, request, isLate)) {
    if (ripeAtOrBefore !== null && !(windowEnd(entry.value) <= ripeAtOrBefore)) continue;
    truncated = count === limit || (limit !== null && count > 0 && isOver(writer, entry));
    if (truncated) break;
    if (limit === null && isOver(writer, entry)) throw tooMuch();
    if (count > 0) writer.ascii(',');
    writeRow(writer, entry);
    count += 1;
    last = entry.key;
  }
  writer.ascii(']');
  if (limit !== null) {
    writer.ascii(',"truncated":').boolean(truncated).ascii(',"next_after":');
    writer.stringOrNull(truncated ? last : undefined);
  }
  return writer.ascii('}').view();
}

function isOver(writer: JsonWriter, { value }: StateEntry): boolean {
  return writer.length + value.length > MAX_STATE_ANSWER_BYTES;
}

function tooMuch(): QueenError {
  const text = `the state has more than ${MAX_STATE_ANSWER_BYTES} bytes; read pages with limit and after`;
  return new QueenError('payload_too_large', text);
}

const cursor = new JsonCursor();

/** `windowEnd` of the value, of repeated ones the last; NaN when it has no such number. */
function windowEnd(value: Uint8Array): number {
  let end = Number.NaN;
  cursor.reset(value);
  if (cursor.enterObject()) {
    while (cursor.nextKey()) {
      const isEnd = cursor.keyIs(WINDOW_END);
      const isNumber = cursor.kind() === KIND_NUMBER;
      cursor.skip();
      if (!isEnd) continue;
      end = isNumber ? Number(readUtf8(value, cursor.valueStart, cursor.valueEnd)) : Number.NaN;
    }
  }
  cursor.release();
  return end;
}

function writeRow(writer: JsonWriter, { key, value, updatedAt }: StateEntry): void {
  writer.ascii('{"key":').string(key).ascii(',"value":').splice(value, 0, value.length);
  writer.ascii(',"updated_at":').timestamp(updatedAt).ascii('}');
}
