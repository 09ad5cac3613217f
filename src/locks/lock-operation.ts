/**
 * What a lock call may say (state.md §3.2). Parsing precedes the gate; one bad operation refuses the
 * call, the operations that pass are independent of each other.
 */
import { KIND_NULL, KIND_NUMBER, KIND_STRING } from '../common/json/json-syntax.js';
import { StateRefusal } from '../common/state-refusal.js';
import { isKvText } from '../common/kv-names.js';
import { readUtf8, utf8Length } from '../common/utf8.js';
import { textOf } from '../preparation/kv/kv-scan.js';
import type { RawOperation, RawOperations, RawValue } from '../preparation/kv/kv-scan.js';

export const MAX_LOCK_OPS = 64;
const MAX_LOCK_KEYS = 4096;
const MAX_NAME_BYTES = 256;
const MAX_LIMIT = 1024;
/** Slots a `get` counts for. */
const GET_KEYS = 1000;
const CONTROL = /\p{Cc}/u;
const TENANT_FIELDS = ['tenant', 'tenantId', '_tenant'];

export interface LockAcquire {
  readonly op: 'acquire';
  readonly name: string;
  readonly ttlSeconds: number;
  readonly owner: string | null;
  readonly limit: number;
}

export interface LockRenew {
  readonly op: 'renew';
  readonly name: string;
  readonly ttlSeconds: number;
  readonly owner: string | null;
  readonly token: number;
  readonly slot: number;
}

export interface LockRelease {
  readonly op: 'release';
  readonly name: string;
  readonly token: number;
  readonly slot: number;
}

export interface LockGet {
  readonly op: 'get';
  readonly name: string;
}

export type LockOperation = LockAcquire | LockRenew | LockRelease | LockGet;

export function badLock(reason: string, detail?: string): StateRefusal {
  return new StateRefusal('locks_bad_request', {
    reason,
    ...(detail === undefined ? {} : { detail }),
  });
}

export function parseLocks({ operations, count }: RawOperations): LockOperation[] {
  if (count > MAX_LOCK_OPS) {
    throw badLock('locks_too_many_ops', `${count} operations; a call may have ${MAX_LOCK_OPS}`);
  }
  const parsed = operations.map(parseLock);
  const names = new Set<string>();
  for (const { name } of parsed) {
    if (names.has(name)) throw badLock('locks_duplicate_in_call', `"${name}" is named twice`);
    names.add(name);
  }
  const keys = parsed.reduce((sum, operation) => sum + keysOf(operation), 0);
  if (keys > MAX_LOCK_KEYS) {
    throw badLock('locks_too_many_keys', `${keys} slots; a call may name ${MAX_LOCK_KEYS}`);
  }
  return parsed;
}

function keysOf(operation: LockOperation): number {
  if (operation.op === 'acquire') return operation.limit;
  return operation.op === 'get' ? GET_KEYS : 1;
}

function parseLock(raw: RawOperation): LockOperation {
  if (raw === null) throw badLock('locks_bad_body', 'an operation is a JSON object');
  const op = textOf(raw.get('op'));
  if (op !== 'acquire' && op !== 'renew' && op !== 'release' && op !== 'get') {
    throw badLock('locks_unknown_op', op === undefined ? 'op is missing' : `unknown op "${op}"`);
  }
  if (TENANT_FIELDS.some((field) => raw.has(field))) {
    throw badLock('locks_tenant_not_an_input', 'the tenant comes from the request');
  }
  const name = nameOf(raw.get('name'));
  switch (op) {
    case 'get':
      return { op, name };
    case 'release':
      return { op, name, token: tokenOf(raw), slot: slotOf(raw) };
    case 'renew':
      return {
        ...{ op, name, ttlSeconds: ttlOf(raw), owner: ownerOf(raw) },
        ...{ token: tokenOf(raw), slot: slotOf(raw) },
      };
    case 'acquire':
      return { op, name, ttlSeconds: ttlOf(raw), owner: ownerOf(raw), limit: limitOf(raw) };
  }
}

function nameOf(value: RawValue | undefined): string {
  const name = stringOf(value);
  if (name === undefined || !isLabel(name) || name.includes('#')) {
    throw badLock('locks_bad_name', 'a name is a text of 1…256 bytes without control chars and #');
  }
  return name;
}

function ttlOf(raw: ReadonlyMap<string, RawValue>): number {
  const ttl = raw.get('ttlSeconds');
  if (ttl === undefined || raw.has('forever')) {
    throw badLock('locks_ttl_required', 'a lock has a lifetime: name ttlSeconds, not forever');
  }
  const seconds = integerOf(ttl);
  if (seconds === undefined || seconds <= 0) {
    throw badLock('locks_bad_ttl', 'ttlSeconds is an integer above 0');
  }
  return seconds;
}

function ownerOf(raw: ReadonlyMap<string, RawValue>): string | null {
  const value = raw.get('owner');
  if (value === undefined || value.kind === KIND_NULL) return null;
  const owner = stringOf(value);
  if (owner === undefined || !isLabel(owner)) {
    throw badLock('locks_bad_owner', 'an owner is a text of 1…256 bytes without control chars');
  }
  return owner;
}

function limitOf(raw: ReadonlyMap<string, RawValue>): number {
  const value = raw.get('limit');
  if (value === undefined) return 1;
  const limit = integerOf(value);
  if (limit === undefined || limit < 1 || limit > MAX_LIMIT) {
    throw badLock('locks_bad_limit', `limit is an integer of 1…${MAX_LIMIT}`);
  }
  return limit;
}

function tokenOf(raw: ReadonlyMap<string, RawValue>): number {
  const value = raw.get('token');
  if (value === undefined) throw badLock('locks_token_required', 'token is missing');
  const token = integerOf(value);
  if (token === undefined || token <= 0) {
    throw badLock('locks_bad_token', 'token is an integer above 0');
  }
  return token;
}

function slotOf(raw: ReadonlyMap<string, RawValue>): number {
  const value = raw.get('slot');
  if (value === undefined) return 0;
  const slot = integerOf(value);
  if (slot === undefined || slot < 0 || slot >= MAX_LIMIT) {
    throw badLock('locks_bad_slot', `slot is an integer of 0…${MAX_LIMIT - 1}`);
  }
  return slot;
}

function isLabel(text: string): boolean {
  const bytes = utf8Length(text);
  return bytes > 0 && bytes <= MAX_NAME_BYTES && isKvText(text) && !CONTROL.test(text);
}

function stringOf(value: RawValue | undefined): string | undefined {
  return value?.kind === KIND_STRING ? textOf(value) : undefined;
}

/** JSON integers only: `5.0` and `5e0` are none. */
function integerOf(value: RawValue): number | undefined {
  if (value.kind !== KIND_NUMBER) return undefined;
  const text = readUtf8(value.bytes, value.start, value.end);
  if (!/^-?\d+$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : undefined;
}
