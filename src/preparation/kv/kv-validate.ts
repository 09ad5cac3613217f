/**
 * What a key-value call may say (state.md §1.3): the bounds that are checked before the gate, then one
 * operation after the other in input order, first failure wins, and one bad operation refuses the call.
 */
import {
  fitsKvStoreKey,
  isKvNamespace,
  isKvText,
  MAX_KV_KEY_BYTES,
} from '../../common/kv-names.js';
import { KIND_BOOLEAN, KIND_NUMBER } from '../../common/json/json-syntax.js';
import { StateRefusal } from '../../common/state-refusal.js';
import { readUtf8, utf8Length } from '../../common/utf8.js';
import { KvOpKind, MAX_NUMBER_BYTES, NO_EXPECT } from '../../machine/commands/index.js';
import type { OccupancyCharge } from '../state-gate.js';
import { PLANNED_OPS } from './kv-operation.js';
import type { KvOperation, KvPlanned, PlannedOpName } from './kv-operation.js';
import { compactOf, elementsOf, textOf } from './kv-scan.js';
import type { RawOperation, RawOperations, RawValue } from './kv-scan.js';

export interface KvLimits {
  readonly maxOps: number;
  readonly maxKeys: number;
  readonly maxValueBytes: number;
  /** getPrefix is no part of a transaction. */
  readonly prefixes: boolean;
}

/** A call that passed the checks before the gate. */
export interface KvRequest {
  readonly operations: readonly RawOperation[];
  /** Compact JSON of each operation's value, null where it has none. */
  readonly values: readonly (Uint8Array | null)[];
  readonly isWrite: boolean;
  readonly charge: OccupancyCharge;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
const MICROS_PER_SECOND = 1_000_000;
const TENANT_FIELDS = ['tenant', 'tenantId', '_tenant'];
const NAMES = new Set<string>([...PLANNED_OPS, 'get', 'getMany', 'getPrefix']);
const PLANNED = new Set<string>(PLANNED_OPS);
const ADDING = new Set(['put', 'putIfAbsent', 'incr']);
const NOTHING = new Uint8Array(0);

export function badKv(reason: string, detail?: string): StateRefusal {
  return new StateRefusal('kv_bad_request', {
    reason,
    ...(detail === undefined ? {} : { detail }),
  });
}

function tooLarge(reason: 'kv_value_too_large' | 'kv_key_too_large', detail: string): StateRefusal {
  return new StateRefusal('payload_too_large', { reason, detail });
}

/** Bounds of the call as a whole, checked before the gate. */
export function checkKvBounds(raw: RawOperations, limits: KvLimits): KvRequest {
  const { operations, count } = raw;
  if (count > limits.maxOps) {
    throw badKv('kv_too_many_ops', `${count} operations; a call may have ${limits.maxOps}`);
  }
  const keys = operations.reduce((sum, operation) => sum + keysOf(operation), 0);
  if (keys > limits.maxKeys) {
    throw badKv('kv_too_many_keys', `${keys} keys; a call may name ${limits.maxKeys}`);
  }
  const values = operations.map((operation) => valueOf(operation, limits.maxValueBytes));
  const names = operations.map((operation) => textOf(operation?.get('op')) ?? '');
  const adds = names.map((name) => ADDING.has(name));
  const rows = adds.filter(Boolean).length;
  const bytes = values.reduce((sum, value, i) => sum + (adds[i] ? (value?.length ?? 0) : 0), 0);
  const isWrite = names.some((name) => PLANNED.has(name));
  return { operations, values, isWrite, charge: { rows, bytes, timers: 0 } };
}

function keysOf(operation: RawOperation): number {
  const name = textOf(operation?.get('op'));
  if (name === 'getMany') {
    const keys = operation?.get('keys');
    return keys === undefined ? 0 : (elementsOf(keys)?.length ?? 0);
  }
  return name === 'getPrefix' ? (limitOf(operation?.get('limit')) ?? DEFAULT_LIMIT) : 1;
}

/** Undefined when it is no integer. */
function limitOf(value: RawValue | undefined): number | undefined {
  if (value === undefined) return DEFAULT_LIMIT;
  const limit = numberOf(value);
  if (limit === undefined || !(Number.isInteger(limit) || Math.abs(limit) === Infinity)) {
    return undefined;
  }
  return Math.min(MAX_LIMIT, Math.max(1, limit));
}

function valueOf(operation: RawOperation, maxBytes: number): Uint8Array | null {
  const value = operation?.get('value');
  if (value === undefined) return null;
  const compact = compactOf(value);
  if (compact.length <= maxBytes) return compact;
  throw tooLarge('kv_value_too_large', `${compact.length} bytes; a value may have ${maxBytes}`);
}

/** The operations of a call behind the gate. */
export function validateKv(request: KvRequest, limits: KvLimits): KvOperation[] {
  const operations = request.operations.map((operation, i) =>
    validateOperation(operation, request.values[i] ?? null, limits),
  );
  const named = new Set<string>();
  for (const operation of operations) {
    if (operation.kind !== 'planned') continue;
    const { namespace, key } = operation.planned;
    const name = `${namespace}\0${key}`;
    if (named.has(name)) {
      throw badKv('kv_duplicate_key_in_call', `${namespace}/${key} is written or checked twice`);
    }
    named.add(name);
  }
  return operations;
}

function validateOperation(
  operation: RawOperation,
  value: Uint8Array | null,
  limits: KvLimits,
): KvOperation {
  if (operation === null) throw badKv('kv_bad_request', 'an operation is a JSON object');
  const name = textOf(operation.get('op'));
  if (name === undefined || !NAMES.has(name)) {
    throw badKv('kv_unknown_op', name === undefined ? 'op is missing' : `unknown op "${name}"`);
  }
  if (name === 'getPrefix' && !limits.prefixes) {
    throw badKv('kv_get_prefix_not_allowed_in_transaction');
  }
  if (TENANT_FIELDS.some((field) => operation.has(field))) {
    throw badKv('kv_tenant_not_an_input', 'the tenant comes from the request');
  }
  if (name === 'getMany') return validateGetMany(operation);
  if (name === 'getPrefix') return validateGetPrefix(operation);
  const namespace = namespaceOf(operation);
  const key = checkKey(namespace, textOf(operation.get('key')));
  if (name !== 'get') return validatePlanned(operation, { name, value, namespace, key });
  requiredOf(operation);
  return { kind: 'get', op: 'get', namespace, key };
}

function validatePlanned(
  operation: ReadonlyMap<string, RawValue>,
  fields: {
    readonly name: string;
    readonly value: Uint8Array | null;
    readonly namespace: string;
    readonly key: string;
  },
): KvPlanned {
  const { value, namespace, key } = fields;
  const op = fields.name as PlannedOpName;
  const isPut = op === 'put' || op === 'putIfAbsent';
  const ttlMicros = isPut || op === 'incr' ? ttlOf(operation) : 0;
  if (isPut && value === null) throw badKv('kv_bad_request', `${op} needs a value`);
  const expect = expectOf(operation, op);
  const isIncr = op === 'incr';
  const delta = isIncr ? numberField(operation, 'delta') : null;
  if (isIncr && delta === null) throw badKv('kv_bad_request', 'incr needs a delta');
  const min = isIncr ? numberField(operation, 'min') : null;
  const max = isIncr ? numberField(operation, 'max') : null;
  const required = requiredOf(operation);
  const written = isPut ? value : delta;
  const planned = {
    ...{ kind: KINDS[op], namespace, key, required, expect, ttlMicros },
    ...{ value: written ?? NOTHING, min: asciiOf(min), max: asciiOf(max) },
  };
  return { kind: 'planned', op, planned };
}

const KINDS: Readonly<Record<PlannedOpName, KvOpKind>> = {
  put: KvOpKind.Put,
  putIfAbsent: KvOpKind.Put,
  delete: KvOpKind.Delete,
  incr: KvOpKind.Incr,
  check: KvOpKind.Check,
};

function validateGetMany(operation: ReadonlyMap<string, RawValue>): KvOperation {
  const namespace = namespaceOf(operation);
  const field = operation.get('keys');
  const elements = field === undefined ? [] : elementsOf(field);
  if (elements === undefined) throw badKv('kv_bad_request', 'keys must be an array');
  const keys = elements.map((element) => checkKey(namespace, textOf(element)));
  requiredOf(operation);
  return { kind: 'getMany', op: 'getMany', namespace, keys };
}

function validateGetPrefix(operation: ReadonlyMap<string, RawValue>): KvOperation {
  const namespace = namespaceOf(operation);
  const prefix = textOf(operation.get('prefix')) ?? '';
  if (prefix === '') throw badKv('kv_prefix_required', 'prefix is missing or empty');
  checkKey(namespace, prefix);
  requiredOf(operation);
  const limit = limitOf(operation.get('limit'));
  if (limit === undefined) throw badKv('kv_bad_request', 'limit must be an integer');
  const keysOnly = booleanField(operation, 'keysOnly');
  const after = textOf(operation.get('after')) ?? '';
  return { kind: 'getPrefix', op: 'getPrefix', namespace, prefix, after, limit, keysOnly };
}

function namespaceOf(operation: ReadonlyMap<string, RawValue>): string {
  return checkKvNamespace(textOf(operation.get('ns')));
}

export function checkKvNamespace(namespace: string | undefined): string {
  if (namespace !== undefined && isKvNamespace(namespace)) return namespace;
  throw badKv('kv_bad_namespace', 'a namespace matches ^[a-z0-9][a-z0-9._-]{0,63}$');
}

function checkKey(namespace: string, key: string | undefined): string {
  if (key === undefined || key === '' || !isKvText(key)) {
    throw badKv('kv_bad_key', 'a key is a non-empty text without NUL');
  }
  if (fitsKvStoreKey(namespace, key)) return key;
  const bytes = utf8Length(key);
  const most = Math.min(MAX_KV_KEY_BYTES, maxKeyBytes(namespace));
  throw tooLarge('kv_key_too_large', `${bytes} bytes; a key of this namespace may have ${most}`);
}

function maxKeyBytes(namespace: string): number {
  let most = MAX_KV_KEY_BYTES;
  while (most > 0 && !fitsKvStoreKey(namespace, 'k'.repeat(most))) most -= 1;
  return most;
}

/** Exactly one of `ttlSeconds`, present counts, and `forever: true`; µs, 0 for ever. */
function ttlOf(operation: ReadonlyMap<string, RawValue>): number {
  const ttl = operation.get('ttlSeconds');
  const forever = isTrue(operation.get('forever'));
  if ((ttl !== undefined) === forever) {
    throw badKv('kv_expiry_not_specified', 'name one of ttlSeconds and forever: true');
  }
  if (ttl === undefined) return 0;
  const seconds = numberOf(ttl);
  if (seconds === undefined || !Number.isInteger(seconds) || seconds <= 0) {
    throw badKv('kv_bad_ttl', 'ttlSeconds is an integer above 0');
  }
  return Math.min(seconds * MICROS_PER_SECOND, Number.MAX_SAFE_INTEGER);
}

function expectOf(operation: ReadonlyMap<string, RawValue>, op: PlannedOpName): number {
  const field = operation.get('expect');
  if (field === undefined) {
    if (op === 'check') throw badKv('kv_bad_expect', 'check needs an expect');
    return op === 'putIfAbsent' ? 0 : NO_EXPECT;
  }
  if (op === 'incr') throw badKv('kv_bad_request', 'incr takes no expect');
  const expect = numberOf(field);
  if (expect === undefined || !Number.isInteger(expect) || expect < 0) {
    throw badKv('kv_bad_expect', 'expect is an integer of 0 or more');
  }
  if (op === 'putIfAbsent' && expect !== 0) throw badKv('kv_bad_expect', 'putIfAbsent expects 0');
  // No version ever gets there, so a larger number misses all the same.
  return Math.min(Math.abs(expect), Number.MAX_SAFE_INTEGER - 1);
}

/** Number text of an optional field; null when absent. */
function numberField(operation: ReadonlyMap<string, RawValue>, name: string): Uint8Array | null {
  const value = operation.get(name);
  if (value === undefined) return null;
  const isFine = value.kind === KIND_NUMBER && value.end - value.start <= MAX_NUMBER_BYTES;
  if (!isFine) throw badKv('kv_bad_request', `${name} must be a number`);
  return compactOf(value);
}

function booleanField(operation: ReadonlyMap<string, RawValue>, name: string): boolean {
  const value = operation.get(name);
  if (value === undefined) return false;
  if (value.kind !== KIND_BOOLEAN) throw badKv('kv_bad_request', `${name} must be a boolean`);
  return isTrue(value);
}

function requiredOf(operation: ReadonlyMap<string, RawValue>): boolean {
  return booleanField(operation, 'required');
}

function isTrue(value: RawValue | undefined): boolean {
  return value?.kind === KIND_BOOLEAN && value.end - value.start === 4;
}

/** Undefined when the value is no number. */
function numberOf(value: RawValue): number | undefined {
  if (value.kind !== KIND_NUMBER) return undefined;
  return Number(readUtf8(value.bytes, value.start, value.end));
}

function asciiOf(text: Uint8Array | null): string | null {
  return text === null ? null : readUtf8(text, 0, text.length);
}
