/**
 * Rows of traces (keyspaces 40–42, trace-keys.ts). A trace explains itself: it keeps the names its
 * partition had, for it may outlive it.
 *
 *   trace:  u8 version=1 | u32 tenant | 16B traceId | u48 partition (0 none) | str queue | str partition
 *           | str transactionId | 16B its hash | opt messageId | opt consumerGroup | str eventType
 *           | str data (JSON) | opt worker | varint n | n x str name
 *   name:   u8 version=1 | u48 traces | u48 messages | u64 last seen µs
 *   count:  u8 version=1 | u48
 *   entry:  u8 version=1
 */
import type { BinaryReader } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import { beginRow, openRow } from './row-codec.js';

const VERSION = 1;

/** What a client says happened. */
export interface TraceEvent {
  readonly traceId: Uint8Array;
  readonly partitionId: number;
  readonly transactionId: string;
  readonly hash: Uint8Array;
  readonly messageId: string | null;
  readonly consumerGroup: string | null;
  readonly eventType: string;
  /** JSON text. */
  readonly data: string;
  readonly worker: string | null;
  readonly names: readonly string[];
}

export interface TraceRow extends TraceEvent {
  readonly tenant: number;
  readonly queue: string;
  readonly partition: string;
}

export interface TraceNameRow {
  readonly traces: number;
  readonly messages: number;
  readonly lastSeen: number;
}

export function encodeTraceRow(row: TraceRow): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u32(row.tenant);
  writer.string(row.queue);
  writer.string(row.partition);
  writeTraceEvent(writer, row);
  return writer.toBytes();
}

export function decodeTraceRow(value: Uint8Array): TraceRow {
  const reader = openRow(value, VERSION, 'trace row');
  const tenant = reader.u32();
  const queue = reader.string();
  const partition = reader.string();
  return { tenant, queue, partition, ...readTraceEvent(reader) };
}

/** The event as it also stands in the command; nothing may follow it. */
export function writeTraceEvent(writer: BinaryWriter, event: TraceEvent): void {
  writer.rawRange(event.traceId, 0, 16);
  writer.u48(event.partitionId);
  writer.string(event.transactionId);
  writer.rawRange(event.hash, 0, 16);
  for (const text of [event.messageId, event.consumerGroup, event.worker]) {
    writer.boolean(text !== null);
    if (text !== null) writer.string(text);
  }
  writer.string(event.eventType);
  writer.string(event.data);
  writer.varint(event.names.length);
  for (const name of event.names) writer.string(name);
}

export function readTraceEvent(reader: BinaryReader): TraceEvent {
  const optional = (): string | null => (reader.boolean() ? reader.string() : null);
  const traceId = reader.raw(16).slice();
  const partitionId = reader.u48();
  const transactionId = reader.string();
  const hash = reader.raw(16).slice();
  const messageId = optional();
  const consumerGroup = optional();
  const worker = optional();
  const eventType = reader.string();
  const data = reader.string();
  const count = reader.varint();
  const names: string[] = [];
  for (let i = 0; i < count; i++) names.push(reader.string());
  reader.expectEnd();
  const message = { traceId, partitionId, transactionId, hash, messageId };
  return { ...message, consumerGroup, worker, eventType, data, names };
}

export function encodeTraceNameRow(row: TraceNameRow): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u48(row.traces);
  writer.u48(row.messages);
  writer.u64(row.lastSeen);
  return writer.toBytes();
}

export function decodeTraceNameRow(value: Uint8Array): TraceNameRow {
  const reader = openRow(value, VERSION, 'trace name row');
  const row = { traces: reader.u48(), messages: reader.u48(), lastSeen: reader.u64() };
  reader.expectEnd();
  return row;
}

export function encodeTraceCount(count: number): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u48(count);
  return writer.toBytes();
}

export function decodeTraceCount(value: Uint8Array): number {
  const reader = openRow(value, VERSION, 'trace count');
  const count = reader.u48();
  reader.expectEnd();
  return count;
}

/** Its key says everything. */
export function encodeTraceEntry(): Uint8Array {
  return beginRow(VERSION).toBytes();
}
