/**
 * Keys of key-value rows and of what stands beside them. Keys of one namespace stand together in byte
 * order, so that a prefix is a range. A namespace is ASCII without NUL: it ends at its NUL.
 *
 *   20 kv row        u32 tenant | namespace 00 | key         23 kv totals      u32 tenant
 *   21 kv expiry     u64 expiresAt | u64 version             24 quota          u8 kind | 16B tenant uuid
 *   22 kv namespace  u32 tenant | namespace                  25 switches  26 kv version
 *                                                            27 garbage tenant u32 tenant
 */
import { DecodeError } from '../../common/binary-reader.js';
import { keyU32, keyU64, KeyWriter } from '../../common/key-writer.js';
import { MAX_KV_KEY_BYTES } from '../../common/kv-names.js';
import { readUtf8, utf8Length } from '../../common/utf8.js';
import { KEYSPACE, tenantRange } from './keyspaces.js';
import type { KeyRange } from './keyspaces.js';

const KEY_AT = 5;
const QUOTA_TENANT_AT = 2;
const keys = new KeyWriter();

function start(keyspace: number): KeyWriter {
  return keys.clear().u8(keyspace);
}

/** The row a caller means, inside its tenant. */
export interface KvPlace {
  readonly namespace: string;
  readonly key: string;
}

export function kvRowKey(tenant: number, { namespace, key }: KvPlace): Uint8Array {
  return startNamespace(tenant, namespace).tail(key).toBytes();
}

function startNamespace(tenant: number, namespace: string): KeyWriter {
  return start(KEYSPACE.kvRows).u32(tenant).tail(namespace).u8(0);
}

export interface KvSpan {
  readonly namespace: string;
  /** '' = every key. */
  readonly prefix: string;
  /** Only keys behind this one; '' = from the first. */
  readonly after: string;
}

/** Rows whose key starts with the prefix and is greater than `after`; undefined when there are none. */
export function kvSpanRange(tenant: number, span: KvSpan): KeyRange | undefined {
  const first = startNamespace(tenant, span.namespace).tail(span.prefix).toBytes();
  const lt = successor(first);
  let gte = first;
  if (span.after !== '') {
    // The first key behind `after` is `after` and a NUL; keys hold no NUL.
    const next = startNamespace(tenant, span.namespace).tail(cut(span.after)).u8(0).toBytes();
    if (compare(next, first) > 0) gte = next;
  }
  return compare(gte, lt) < 0 ? { gte, lt } : undefined;
}

/** At most a few bytes more than a key can have, which tells the same keys apart. */
function cut(after: string): string {
  if (after.length <= MAX_KV_KEY_BYTES && utf8Length(after) <= 2 * MAX_KV_KEY_BYTES) return after;
  return after.slice(0, MAX_KV_KEY_BYTES + 1);
}

export function kvRowNamespace(rowKey: Uint8Array): string {
  return readUtf8(rowKey, KEY_AT, namespaceEnd(rowKey));
}

export function kvRowName(rowKey: Uint8Array): string {
  return readUtf8(rowKey, namespaceEnd(rowKey) + 1, rowKey.length);
}

/** Bytes of the key in a row key. */
export function kvKeyBytes(rowKey: Uint8Array): number {
  return rowKey.length - namespaceEnd(rowKey) - 1;
}

function namespaceEnd(rowKey: Uint8Array): number {
  const end = rowKey.indexOf(0, KEY_AT);
  if (rowKey[0] !== KEYSPACE.kvRows || end < 0) throw new DecodeError('not a kv row key', 0);
  return end;
}

/** Tenant number of a kv row, namespace or totals key. */
export function kvTenant(key: Uint8Array): number {
  return keyU32(key, 1);
}

export function kvExpiryKey(expiresAt: number, version: number): Uint8Array {
  return start(KEYSPACE.kvExpiry).u64(expiresAt).u64(version).toBytes();
}

/** Expiry index rows of instants up to `now`. */
export function kvDueRange(now: number): KeyRange {
  return { gte: start(KEYSPACE.kvExpiry).toBytes(), lt: kvExpiryKey(now + 1, 0) };
}

export function kvExpiresAt(expiryKey: Uint8Array): number {
  return keyU64(expiryKey, 1);
}

export function kvExpiryVersion(expiryKey: Uint8Array): number {
  return keyU64(expiryKey, 9);
}

export function kvNamespaceKey(tenant: number, namespace: string): Uint8Array {
  return start(KEYSPACE.kvNamespaces).u32(tenant).tail(namespace).toBytes();
}

export function kvNamespacesRange(tenant: number): KeyRange {
  return tenantRange(KEYSPACE.kvNamespaces, tenant);
}

export function kvNamespaceName(key: Uint8Array): string {
  return readUtf8(key, KEY_AT, key.length);
}

export function kvTotalsKey(tenant: number): Uint8Array {
  return start(KEYSPACE.kvTotals).u32(tenant).toBytes();
}

export function quotaKey(kind: number, tenant: Uint8Array): Uint8Array {
  return start(KEYSPACE.quotas).u8(kind).fixed(tenant, 0, 16).toBytes();
}

export function quotaKeyKind(key: Uint8Array): number {
  const kind = key[1];
  if (kind === undefined) throw new DecodeError('key too short', 0);
  return kind;
}

export function quotaKeyTenant(key: Uint8Array): Uint8Array {
  return key.slice(QUOTA_TENANT_AT, QUOTA_TENANT_AT + 16);
}

export function switchesKey(): Uint8Array {
  return start(KEYSPACE.switches).toBytes();
}

export function kvVersionKey(): Uint8Array {
  return start(KEYSPACE.kvVersion).toBytes();
}

export function garbageTenantKey(tenant: number): Uint8Array {
  return start(KEYSPACE.garbageTenants).u32(tenant).toBytes();
}

/** First key behind everything that starts with `prefix`, whose first byte is below 255. */
function successor(prefix: Uint8Array): Uint8Array {
  let end = prefix.length;
  while (prefix[end - 1] === 0xff) end -= 1;
  const next = prefix.slice(0, end);
  next[end - 1]! += 1;
  return next;
}

function compare(a: Uint8Array, b: Uint8Array): number {
  const size = Math.min(a.length, b.length);
  for (let i = 0; i < size; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}
