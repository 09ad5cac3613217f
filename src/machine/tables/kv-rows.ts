/**
 * Rows of the key-value store. Tenant, namespace and key stand in the key of a row; its value is the
 * JSON as it was sent, without whitespace between its tokens.
 *
 *   20 kv row        u8 version=1 | u64 version | u64 expiresAt (0 never) | u64 createdAt
 *                    | u64 updatedAt | value to the end
 *   21 kv expiry     u8 version=1 | key of the row to the end
 *   22 kv namespace  u8 version=1 | u64 keys | u64 bytes
 *   23 kv totals     u8 version=1 | u64 rows | u64 bytes | u64 expiring
 *   26 kv version    u8 version=1 | u64 last version given
 */
import type { BinaryReader } from '../../common/binary-reader.js';
import { beginRow, openRow } from './row-codec.js';

const VERSION = 1;

export interface KvRow {
  readonly version: number;
  /** µs; 0 = never. */
  readonly expiresAt: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly value: Uint8Array;
}

/** Live iff it has no expiry or the expiry lies ahead (state.md §0.3). */
export function isKvLive(row: KvRow, now: number): boolean {
  return row.expiresAt === 0 || row.expiresAt > now;
}

export function encodeKvRow(row: KvRow): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u64(row.version);
  writer.u64(row.expiresAt);
  writer.u64(row.createdAt);
  writer.u64(row.updatedAt);
  writer.raw(row.value);
  return writer.toBytes();
}

/** The value is a view of the row. */
export function decodeKvRow(bytes: Uint8Array): KvRow {
  const reader = openRow(bytes, VERSION, 'kv row');
  return {
    version: reader.u64(),
    expiresAt: reader.u64(),
    createdAt: reader.u64(),
    updatedAt: reader.u64(),
    value: rest(reader),
  };
}

export function encodeKvExpiryRow(rowKey: Uint8Array): Uint8Array {
  const writer = beginRow(VERSION);
  writer.raw(rowKey);
  return writer.toBytes();
}

/** Key of the row that expires, as a copy. */
export function decodeKvExpiryRow(bytes: Uint8Array): Uint8Array {
  return rest(openRow(bytes, VERSION, 'kv expiry row')).slice();
}

/** What a namespace holds; expired rows count until they are swept. */
export interface KvNamespaceRow {
  readonly keys: number;
  readonly bytes: number;
}

export function encodeKvNamespaceRow(row: KvNamespaceRow): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u64(row.keys);
  writer.u64(row.bytes);
  return writer.toBytes();
}

export function decodeKvNamespaceRow(bytes: Uint8Array): KvNamespaceRow {
  const reader = openRow(bytes, VERSION, 'kv namespace row');
  const row = { keys: reader.u64(), bytes: reader.u64() };
  reader.expectEnd();
  return row;
}

/** What a tenant holds, expired rows included until they are swept. */
export interface KvTotals {
  readonly rows: number;
  /** Of keys and values. */
  readonly bytes: number;
  /** Rows with an expiry. */
  readonly expiring: number;
}

export function encodeKvTotalsRow(totals: KvTotals): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u64(totals.rows);
  writer.u64(totals.bytes);
  writer.u64(totals.expiring);
  return writer.toBytes();
}

export function decodeKvTotalsRow(bytes: Uint8Array): KvTotals {
  const reader = openRow(bytes, VERSION, 'kv totals row');
  const totals = { rows: reader.u64(), bytes: reader.u64(), expiring: reader.u64() };
  reader.expectEnd();
  return totals;
}

export function encodeKvVersionRow(last: number): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u64(last);
  return writer.toBytes();
}

export function decodeKvVersionRow(bytes: Uint8Array): number {
  const reader = openRow(bytes, VERSION, 'kv version row');
  const last = reader.u64();
  reader.expectEnd();
  return last;
}

function rest(reader: BinaryReader): Uint8Array {
  return reader.raw(reader.remaining);
}
