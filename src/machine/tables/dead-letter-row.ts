/**
 * Rows of a dead letter (keyspace 0a; queue id, failedAt and dead-letter id stand in the key and are
 * repeated here so that a row explains itself). It stores no payload: the reference pins the record in
 * its WAL segment, and the text is read, checked and decrypted when shown.
 *
 *   u8 version=1 | u32 queue | u48 partition | u32 group | u48 offset
 *   | u64 entryIndex | u32 blockOffset | u32 start | u32 length | u32 crc | u8 messageFlags
 *   | 16B messageId | 16B transactionHash | u32 retryCount | u64 failedAt | 16B deadLetterId | str error
 */
import { beginRow, openRow } from './row-codec.js';

const VERSION = 1;
/** Offset of a letter that is no message of its partition (a timer that never could be fired). */
export const NO_OFFSET = -1;
/** How it is written down; no message ever has this offset. */
const NO_OFFSET_FIELD = 0xffff_ffff_ffff;

export interface DeadLetterRow {
  readonly queueId: number;
  readonly partitionId: number;
  readonly groupId: number;
  readonly offset: number;
  readonly entryIndex: number;
  readonly blockOffset: number;
  /** Relative to the block, as in the append index row. */
  readonly start: number;
  readonly length: number;
  readonly crc: number;
  readonly messageFlags: number;
  readonly messageId: Uint8Array;
  /** Of the transactionId, as in the append index row. */
  readonly transactionHash: Uint8Array;
  readonly retryCount: number;
  readonly failedAt: number;
  readonly deadLetterId: Uint8Array;
  readonly error: string;
}

export function encodeDeadLetterRow(row: DeadLetterRow): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u32(row.queueId);
  writer.u48(row.partitionId);
  writer.u32(row.groupId);
  writer.u48(letterOffsetField(row.offset));
  writer.u64(row.entryIndex);
  writer.u32(row.blockOffset);
  writer.u32(row.start);
  writer.u32(row.length);
  writer.u32(row.crc);
  writer.u8(row.messageFlags);
  writer.rawRange(row.messageId, 0, 16);
  writer.rawRange(row.transactionHash, 0, 16);
  writer.u32(row.retryCount);
  writer.u64(row.failedAt);
  writer.rawRange(row.deadLetterId, 0, 16);
  writer.string(row.error);
  return writer.toBytes();
}

/** The ids are copies. Throws DecodeError on anything malformed. */
export function decodeDeadLetterRow(value: Uint8Array): DeadLetterRow {
  const reader = openRow(value, VERSION, 'dead letter row');
  const row: DeadLetterRow = {
    queueId: reader.u32(),
    partitionId: reader.u48(),
    groupId: reader.u32(),
    offset: readLetterOffset(reader.u48()),
    entryIndex: reader.u64(),
    blockOffset: reader.u32(),
    start: reader.u32(),
    length: reader.u32(),
    crc: reader.u32(),
    messageFlags: reader.u8(),
    messageId: reader.raw(16).slice(),
    transactionHash: reader.raw(16).slice(),
    retryCount: reader.u32(),
    failedAt: reader.u64(),
    deadLetterId: reader.raw(16).slice(),
    error: reader.string(),
  };
  reader.expectEnd();
  return row;
}

/** An offset as it stands in rows and keys of dead letters. */
export function letterOffsetField(offset: number): number {
  return offset === NO_OFFSET ? NO_OFFSET_FIELD : offset;
}

export function readLetterOffset(field: number): number {
  return field === NO_OFFSET_FIELD ? NO_OFFSET : field;
}

/** Value of the two rows that lead to a dead letter (keyspaces 0d, 0e): u8 version=1 | u64 failedAt. */
export function encodeLetterPointer(failedAt: number): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u64(failedAt);
  return writer.toBytes();
}

export function decodeLetterPointer(value: Uint8Array): number {
  const reader = openRow(value, VERSION, 'dead letter pointer');
  const failedAt = reader.u64();
  reader.expectEnd();
  return failedAt;
}

/** Dead letters of one group on one queue (keyspace 0f): u8 version=1 | u48 count. */
export function encodeLetterCount(count: number): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u48(count);
  return writer.toBytes();
}

export function decodeLetterCount(value: Uint8Array): number {
  const reader = openRow(value, VERSION, 'dead letter count');
  const count = reader.u48();
  reader.expectEnd();
  return count;
}
