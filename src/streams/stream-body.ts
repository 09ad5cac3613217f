/** Bodies of the streams routes (state.md §4), checked; refusals are the engine's `bad_request`. */
import { QueenError } from '../common/errors.js';
import { utf8Length } from '../common/utf8.js';
import { parseUuid } from '../common/uuid-v7.js';
import type { JsonObject } from '../http/json-body.js';
import type { CycleAck, StateOp } from '../machine/commands/index.js';
import { MAX_STATE_KEY_BYTES } from '../machine/commands/index.js';

const MAX_COUNT = 2 ** 31 - 1;
const QUEUE_MODE = '__QUEUE_MODE__';
const COMPLETED = new Set(['', 'completed', 'success', 'acked', 'ok']);
const NULL_JSON = Uint8Array.of(0x6e, 0x75, 0x6c, 0x6c);
const NO_LEASE = new Uint8Array(0);

export interface Addressed {
  readonly queryId: Uint8Array;
  /** As it was sent. */
  readonly queryText: string;
  readonly partition: string;
}

export function requiredString(body: JsonObject, name: string): string {
  const value = body[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new QueenError('bad_request', `${name} must be a non-empty string`);
}

/** Null is absent or empty; `within` places the field in texts. */
export function optionalString(body: JsonObject, name: string, within = ''): string | null {
  const value = body[name] ?? null;
  if (value === null || typeof value === 'string') return value === '' ? null : value;
  throw new QueenError('bad_request', `${within}${name} must be a string`);
}

/** Absent and null are the fallback. */
export function booleanOr(body: JsonObject, name: string, fallback: boolean): boolean {
  const value = body[name] ?? fallback;
  if (typeof value === 'boolean') return value;
  throw new QueenError('bad_request', `${name} must be a boolean`);
}

/** The query and the source partition a call is about. */
export function addressed(body: JsonObject): Addressed {
  const queryText = requiredString(body, 'query_id');
  const queryId = parseUuid(queryText);
  if (queryId === undefined) throw new QueenError('bad_request', 'query_id must be a UUID');
  return { queryId, queryText, partition: requiredString(body, 'partition_id') };
}

export function objects(body: JsonObject, name: string): readonly JsonObject[] {
  const value = body[name] ?? [];
  const isList =
    Array.isArray(value) &&
    value.every((one) => one !== null && typeof one === 'object' && !Array.isArray(one));
  if (!isList) throw new QueenError('bad_request', `${name} must be an array of objects`);
  return value as JsonObject[];
}

/** Null = the cycle fails: an operation of a kind nobody knows. Elements without a key are left out. */
export function stateOps(
  operations: readonly JsonObject[],
  values: readonly (Uint8Array | null)[],
): StateOp[] | null {
  const ops: StateOp[] = [];
  for (const [i, { type = 'upsert', key }] of operations.entries()) {
    if (type !== 'upsert' && type !== 'delete') return null;
    if (typeof key !== 'string') continue;
    if (utf8Length(key) > MAX_STATE_KEY_BYTES) {
      throw new QueenError('name_too_long', `a state key may have ${MAX_STATE_KEY_BYTES} bytes`);
    }
    ops.push({ key, value: type === 'delete' ? null : (values[i] ?? NULL_JSON) });
  }
  return ops;
}

/** Null without an acknowledgement: an idle flush. */
export function cycleAck(body: JsonObject): CycleAck | null {
  const ack = body['ack'] ?? null;
  if (ack === null) return null;
  if (typeof ack !== 'object' || Array.isArray(ack)) {
    throw new QueenError('bad_request', 'ack must be an object');
  }
  const fields = ack as JsonObject;
  const status = fields['status'] ?? '';
  const leaseId = optionalString(fields, 'leaseId', 'ack.') ?? '';
  const count = fields['count'] ?? 0;
  if (typeof count !== 'number') throw new QueenError('bad_request', 'ack.count must be a number');
  return {
    group: optionalString(body, 'consumer_group') ?? QUEUE_MODE,
    leaseId: parseUuid(leaseId) ?? NO_LEASE,
    // Whatever else it is gives the batch back.
    completed: typeof status === 'string' && COMPLETED.has(status.toLowerCase()),
    release: booleanOr(body, 'release_lease', true),
    count: Math.min(Math.max(Math.trunc(count), 0), MAX_COUNT),
  };
}
