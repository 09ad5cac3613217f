/**
 * Row of a pending timer (keyspace 28) and its due entry (29). The message is a record in the log, as
 * a message's is; the row holds its head (everything before the payload), and small payloads whole, so
 * that a timer of ordinary size needs no log bytes. A large one keeps its log bytes alive: see
 * reads/timers.ts, `timerLogReferences`.
 *
 *   u8 version=1 | str partition | u64 deliverAt | u64 visibleAt (0 none) | u32 attempts
 *   | u8 hasError [str lastError] | 16B messageId | 16B transactionHash | u64 createdAt | u64 updatedAt
 *   | u64 entryIndex | u32 start | u32 length | u32 crc | u8 messageFlags | varint n + n bytes of the record
 *
 *   due entry: u8 version=1       count: u8 version=1 | u48 timers
 *   pin:       u8 version=1 | u32 start | u32 length
 */
import { readOptionalText, writeOptionalText } from '../commands/fields.js';
import { beginRow, openRow } from './row-codec.js';

const VERSION = 1;

/** Payloads up to this size stand in the row; larger ones never enter the store. */
export const MAX_INLINE_PAYLOAD_BYTES = 4096;

/** Where a record lies: `start` counts in the payload of entry `entryIndex`. */
export interface TimerRecordPlace {
  readonly entryIndex: number;
  readonly start: number;
  readonly length: number;
  readonly crc: number;
}

export interface TimerRow {
  readonly partition: string;
  readonly deliverAt: number;
  /** Set by a failed fire; 0 = never failed. */
  readonly visibleAt: number;
  readonly attempts: number;
  readonly lastError: string | null;
  readonly messageId: Uint8Array;
  readonly transactionHash: Uint8Array;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly place: TimerRecordPlace;
  readonly messageFlags: number;
  /** First bytes of the record; all of it when the payload is small. */
  readonly record: Uint8Array;
}

export function timerDue(row: Pick<TimerRow, 'deliverAt' | 'visibleAt'>): number {
  return Math.max(row.deliverAt, row.visibleAt);
}

/** The whole record stands in the row. */
export function isInline(row: TimerRow): boolean {
  return row.record.length === row.place.length;
}

export function encodeTimerRow(row: TimerRow): Uint8Array {
  const writer = beginRow(VERSION);
  const { place } = row;
  writer.string(row.partition);
  writer.u64(row.deliverAt);
  writer.u64(row.visibleAt);
  writer.u32(row.attempts);
  writeOptionalText(writer, row.lastError);
  writer.rawRange(row.messageId, 0, 16);
  writer.rawRange(row.transactionHash, 0, 16);
  writer.u64(row.createdAt);
  writer.u64(row.updatedAt);
  writer.u64(place.entryIndex);
  writer.u32(place.start);
  writer.u32(place.length);
  writer.u32(place.crc);
  writer.u8(row.messageFlags);
  writer.lengthPrefixed(row.record);
  return writer.toBytes();
}

/** Ids are copies, `record` is a slice of the value. Throws DecodeError on anything malformed. */
export function decodeTimerRow(value: Uint8Array): TimerRow {
  const reader = openRow(value, VERSION, 'timer row');
  const row: TimerRow = {
    partition: reader.string(),
    deliverAt: reader.u64(),
    visibleAt: reader.u64(),
    attempts: reader.u32(),
    lastError: readOptionalText(reader),
    messageId: reader.raw(16).slice(),
    transactionHash: reader.raw(16).slice(),
    createdAt: reader.u64(),
    updatedAt: reader.u64(),
    place: {
      entryIndex: reader.u64(),
      start: reader.u32(),
      length: reader.u32(),
      crc: reader.u32(),
    },
    messageFlags: reader.u8(),
    record: reader.lengthPrefixed(),
  };
  reader.expectEnd();
  return row;
}

const DUE_ENTRY = Uint8Array.of(VERSION);

export function encodeDueEntry(): Uint8Array {
  return DUE_ENTRY;
}

/** Range of the record in the payload of the entry that stands in the key. */
export function encodeTimerPin({ start, length }: TimerRecordPlace): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u32(start);
  writer.u32(length);
  return writer.toBytes();
}

export function decodeTimerPin(value: Uint8Array): { start: number; length: number } {
  const reader = openRow(value, VERSION, 'timer pin');
  const start = reader.u32();
  const length = reader.u32();
  reader.expectEnd();
  return { start, length };
}

export function encodeTimerCount(count: number): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u48(count);
  return writer.toBytes();
}

export function decodeTimerCount(value: Uint8Array): number {
  const reader = openRow(value, VERSION, 'timer count');
  const count = reader.u48();
  reader.expectEnd();
  return count;
}
