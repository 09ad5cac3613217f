/**
 * Row of a cursor with its lease inside (keyspace 07; queue, partition and group id stand in the key).
 *
 *   u8 version=1 | u8 flags | u64 createdAt | u48 committed+1 | u32 cursorVersion
 *   | u48 attemptOffset+1 | u32 attemptCount | u32 batchRetryCount | u48 totalConsumed
 *   | [flags&1 released: 16B leaseId | u48 first | u48 last]
 *   | [flags&2 lease: 16B leaseId | u48 first | u48 batchEnd | u64 expiresAt | u64 acquiredAt
 *      | u64 term]
 *
 *   flags: 1 released, 2 lease, 4 the lease is conflated, 8 a row of keyspace 43 has metadata,
 *          16 only a start: nothing was taken yet, createdAt is the instant the group starts at
 */
import { beginRow, openRow, readOffset, writeOffset } from './row-codec.js';

const VERSION = 1;
const FLAG_RELEASED = 1;
const FLAG_LEASE = 2;
const FLAG_CONFLATED = 4;
const FLAG_METADATA = 8;
const FLAG_START = 16;

/** Mutable so that one object serves a whole load or flush. */
export interface CursorRow {
  createdAt: number;
  committed: number;
  version: number;
  attemptOffset: number;
  attemptCount: number;
  batchRetryCount: number;
  totalConsumed: number;
  hasMetadata: boolean;
  isStart: boolean;
  hasReleased: boolean;
  releasedId: Uint8Array;
  releasedFirst: number;
  releasedLast: number;
  hasLease: boolean;
  leaseId: Uint8Array;
  firstOffset: number;
  batchEnd: number;
  expiresAt: number;
  acquiredAt: number;
  term: number;
  conflated: boolean;
}

const NO_ID = new Uint8Array(16);

export function emptyCursorRow(): CursorRow {
  return {
    createdAt: 0,
    committed: -1,
    version: 1,
    attemptOffset: -1,
    attemptCount: 0,
    batchRetryCount: 0,
    totalConsumed: 0,
    hasMetadata: false,
    isStart: false,
    hasReleased: false,
    releasedId: NO_ID,
    releasedFirst: -1,
    releasedLast: -1,
    hasLease: false,
    leaseId: NO_ID,
    firstOffset: 0,
    batchEnd: 0,
    expiresAt: 0,
    acquiredAt: 0,
    term: 0,
    conflated: false,
  };
}

function flagsOf(row: CursorRow): number {
  return (
    (row.hasReleased ? FLAG_RELEASED : 0) |
    (row.hasLease ? FLAG_LEASE : 0) |
    (row.hasLease && row.conflated ? FLAG_CONFLATED : 0) |
    (row.hasMetadata ? FLAG_METADATA : 0) |
    (row.isStart ? FLAG_START : 0)
  );
}

export function encodeCursorRow(row: CursorRow): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u8(flagsOf(row));
  writer.u64(row.createdAt);
  writeOffset(writer, row.committed);
  writer.u32(row.version);
  writeOffset(writer, row.attemptOffset);
  writer.u32(row.attemptCount);
  writer.u32(row.batchRetryCount);
  writer.u48(row.totalConsumed);
  if (row.hasReleased) {
    writer.raw(row.releasedId);
    writer.u48(row.releasedFirst);
    writer.u48(row.releasedLast);
  }
  if (row.hasLease) {
    writer.raw(row.leaseId);
    writer.u48(row.firstOffset);
    writer.u48(row.batchEnd);
    writer.u64(row.expiresAt);
    writer.u64(row.acquiredAt);
    writer.u64(row.term);
  }
  return writer.toBytes();
}

/** Fields of an absent part keep what `into` held; look at `hasReleased` and `hasLease`. */
export function decodeCursorRow(value: Uint8Array, into: CursorRow): void {
  const reader = openRow(value, VERSION, 'cursor row');
  const flags = reader.u8();
  into.createdAt = reader.u64();
  into.committed = readOffset(reader);
  into.version = reader.u32();
  into.attemptOffset = readOffset(reader);
  into.attemptCount = reader.u32();
  into.batchRetryCount = reader.u32();
  into.totalConsumed = reader.u48();
  into.hasReleased = (flags & FLAG_RELEASED) !== 0;
  into.hasLease = (flags & FLAG_LEASE) !== 0;
  into.hasMetadata = (flags & FLAG_METADATA) !== 0;
  into.isStart = (flags & FLAG_START) !== 0;
  into.conflated = (flags & FLAG_CONFLATED) !== 0;
  if (into.hasReleased) {
    into.releasedId = reader.raw(16);
    into.releasedFirst = reader.u48();
    into.releasedLast = reader.u48();
  }
  if (into.hasLease) {
    into.leaseId = reader.raw(16);
    into.firstOffset = reader.u48();
    into.batchEnd = reader.u48();
    into.expiresAt = reader.u64();
    into.acquiredAt = reader.u64();
    into.term = reader.u64();
  }
  reader.expectEnd();
}
