/**
 * Row of a partition (keyspace 06; queue and partition id stand in the key).
 *
 *   u8 version=1 | u64 createdAt | u48 logStart | u48 lastOffset+1 | u64 lastAppendAt
 *   | u48 retainedBytes | u32 maxRecordBytes | u32 deadLetters | name, UTF-8 to the end
 */
import { beginRow, openRow, readOffset, writeOffset } from './row-codec.js';

const VERSION = 1;

/** Mutable so that one object serves a whole load or flush. */
export interface PartitionRow {
  createdAt: number;
  logStart: number;
  lastOffset: number;
  lastAppendAt: number;
  retainedBytes: number;
  maxRecordBytes: number;
  deadLetters: number;
  /** UTF-8, a view of whoever filled the row. */
  name: Uint8Array;
}

export function emptyPartitionRow(): PartitionRow {
  return {
    createdAt: 0,
    logStart: 0,
    lastOffset: -1,
    lastAppendAt: 0,
    retainedBytes: 0,
    maxRecordBytes: 0,
    deadLetters: 0,
    name: new Uint8Array(0),
  };
}

export function encodePartitionRow(row: PartitionRow): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u64(row.createdAt);
  writer.u48(row.logStart);
  writeOffset(writer, row.lastOffset);
  writer.u64(row.lastAppendAt);
  writer.u48(row.retainedBytes);
  writer.u32(row.maxRecordBytes);
  writer.u32(row.deadLetters);
  writer.raw(row.name);
  return writer.toBytes();
}

export function decodePartitionRow(value: Uint8Array, into: PartitionRow): void {
  const reader = openRow(value, VERSION, 'partition row');
  into.createdAt = reader.u64();
  into.logStart = reader.u48();
  into.lastOffset = readOffset(reader);
  into.lastAppendAt = reader.u64();
  into.retainedBytes = reader.u48();
  into.maxRecordBytes = reader.u32();
  into.deadLetters = reader.u32();
  into.name = reader.raw(reader.remaining);
}
