/**
 * A permit as a row of the namespace `queen-locks` (state.md §3.1): key `<name>#<slot>`, value
 * `{"owner": …}`, plus `since` after the first renewal. A row written by hand holds its slot too; its
 * owner reads as none unless it is a text.
 */
import { encodeUtf8, readUtf8 } from '../common/utf8.js';
import { KvOpKind, NO_EXPECT } from '../machine/commands/index.js';
import type { KvRow } from '../machine/tables/kv-rows.js';
import type { KvGet, KvPlanned, PlannedOpName } from '../preparation/kv/kv-operation.js';
import { kvTimeText } from '../preparation/kv/kv-render.js';

export const LOCK_NAMESPACE = 'queen-locks';
const MICROS_PER_SECOND = 1_000_000;
const NOTHING = new Uint8Array(0);

export function slotKey(name: string, slot: number): string {
  return `${name}#${slot}`;
}

/** The slot of a key of the lock, -1 when the key is not exactly a slot's. */
export function slotOfKey(name: string, key: string): number {
  const text = key.slice(name.length + 1);
  const slot = /^(0|[1-9]\d{0,3})$/.test(text) ? Number(text) : -1;
  return slot < 1024 && key === slotKey(name, slot) ? slot : -1;
}

/** What the value of a permit says. */
export interface PermitValue {
  readonly owner: string | null;
  readonly since: string | null;
}

export function permitOf(value: Uint8Array | null): PermitValue {
  const fields = value === null ? null : objectOf(value);
  const text = (name: string): string | null => {
    const field = fields?.[name];
    return typeof field === 'string' ? field : null;
  };
  return { owner: text('owner'), since: text('since') };
}

function objectOf(value: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    const parsed: unknown = JSON.parse(readUtf8(value, 0, value.length));
    const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
    return isObject ? (parsed as Readonly<Record<string, unknown>>) : null;
  } catch (error) {
    // A number no parser of this language takes does not happen; anything else is no permit of ours.
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

export function acquireWrite(
  slot: { readonly name: string; readonly slot: number },
  permit: { readonly owner: string | null; readonly ttlSeconds: number },
): KvPlanned {
  const value = encodeUtf8(JSON.stringify({ owner: permit.owner }));
  return write('putIfAbsent', slotKey(slot.name, slot.slot), {
    ...{ kind: KvOpKind.Put, expect: 0, value, ttlSeconds: permit.ttlSeconds },
  });
}

/** The row with its own value, and with the instant of the acquire once it is renewed. */
export function renewWrite(key: string, row: KvRow, ttlSeconds: number): KvPlanned {
  const value = withSince(row);
  return write('put', key, { kind: KvOpKind.Put, expect: row.version, value, ttlSeconds });
}

/** A row written by hand keeps what else stands in it, and what is no object stays as it is. */
function withSince({ value, updatedAt }: KvRow): Uint8Array {
  const fields = objectOf(value);
  if (fields === null || 'since' in fields) return value;
  const text = readUtf8(value, 0, value.length).slice(0, -1);
  const comma = Object.keys(fields).length > 0 ? ',' : '';
  return encodeUtf8(`${text}${comma}"since":"${kvTimeText(updatedAt)}"}`);
}

export function releaseWrite(key: string, token: number): KvPlanned {
  return write('delete', key, {
    ...{ kind: KvOpKind.Delete, expect: token, value: NOTHING, ttlSeconds: 0 },
  });
}

export function slotRead(key: string): KvGet {
  return { kind: 'get', op: 'get', namespace: LOCK_NAMESPACE, key };
}

interface Write {
  readonly kind: KvOpKind;
  readonly expect: number;
  readonly value: Uint8Array;
  readonly ttlSeconds: number;
}

function write(op: PlannedOpName, key: string, fields: Write): KvPlanned {
  const { kind, value, ttlSeconds } = fields;
  const expect = Math.max(fields.expect, NO_EXPECT + 1);
  const ttlMicros = Math.min(ttlSeconds * MICROS_PER_SECOND, Number.MAX_SAFE_INTEGER);
  return {
    ...{ kind: 'planned', op },
    planned: {
      ...{ kind, namespace: LOCK_NAMESPACE, key, required: false, expect, ttlMicros },
      ...{ value, min: null, max: null },
    },
  };
}
