/**
 * Append index row (keyspace 08): where one push put its messages of one partition. Never changed
 * after it was written; the message metadata is the push command's own, copied.
 *
 *   u8 version=1 | u8 flags=0 | varint count | u64 createdAt | u64 entryIndex
 *   | u32 blockOffsetInEntry | u32 blockLength
 *   | count x { 16B id | 16B txnHash | u32 start | u32 length | u32 crc | u8 flags }   (45 B each)
 *
 * Record i of the append is entry[blockOffset + start_i … + length_i); messages left out as duplicates
 * leave a gap in the block, so `start` never changes. Message i has offset base + i.
 */

import { DecodeError } from '../../common/binary-reader.js';
import { invariant } from '../../common/invariant.js';
import { beginRow, openRow } from './row-codec.js';

const VERSION = 1;

/** Width of one message's metadata, in the row as in the push command. */
export const MESSAGE_META_BYTES = 45;
const HASH_AT = 16;
const START_AT = 32;
const LENGTH_AT = 36;
const CRC_AT = 40;
const FLAGS_AT = 44;

export interface AppendFields {
  readonly createdAt: number;
  readonly entryIndex: number;
  /** Where the block starts in the entry's payload. */
  readonly blockOffset: number;
  readonly blockLength: number;
}

/** The metadata region of an append group in a push command. */
export interface MessageRegion {
  readonly bytes: Uint8Array;
  /** Position of the first message's metadata. */
  readonly at: number;
  readonly count: number;
}

/**
 * Row of the messages whose indexes `kept` lists in ascending order; null keeps all. A view of shared
 * memory, valid until the next row is encoded: whoever keeps it copies it.
 */
export function encodeAppendRow(
  fields: AppendFields,
  region: MessageRegion,
  kept: ArrayLike<number> | null = null,
): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u8(0);
  writer.varint(kept === null ? region.count : kept.length);
  writer.u64(fields.createdAt);
  writer.u64(fields.entryIndex);
  writer.u32(fields.blockOffset);
  writer.u32(fields.blockLength);
  if (kept === null) {
    writer.rawRange(region.bytes, region.at, region.at + region.count * MESSAGE_META_BYTES);
    return writer.view();
  }
  for (let i = 0; i < kept.length; i++) {
    const index = kept[i]!;
    invariant(index >= 0 && index < region.count, 'kept message outside the append group');
    const from = region.at + index * MESSAGE_META_BYTES;
    writer.rawRange(region.bytes, from, from + MESSAGE_META_BYTES);
  }
  return writer.view();
}

const NOTHING = new Uint8Array(0);

/** Reads a row in place, without allocation. Message indexes are not checked: 0 … count − 1. */
export class AppendRowView {
  bytes: Uint8Array = NOTHING;
  count = 0;
  createdAt = 0;
  entryIndex = 0;
  blockOffset = 0;
  blockLength = 0;
  private messagesAt = 0;

  /** Throws DecodeError when the value is not an append row of a version this build reads. */
  open(value: Uint8Array): this {
    const reader = openRow(value, VERSION, 'append index row');
    reader.u8();
    const count = reader.varint();
    this.createdAt = reader.u64();
    this.entryIndex = reader.u64();
    this.blockOffset = reader.u32();
    this.blockLength = reader.u32();
    if (reader.remaining !== count * MESSAGE_META_BYTES) {
      throw new DecodeError('append index row has another length', reader.position);
    }
    this.bytes = value;
    this.count = count;
    this.messagesAt = reader.position;
    return this;
  }

  /** Position of message i's 16-byte id in `bytes`. */
  idAt(i: number): number {
    return this.messagesAt + i * MESSAGE_META_BYTES;
  }

  /** Position of message i's 16-byte transactionId hash in `bytes`. */
  hashAt(i: number): number {
    return this.messagesAt + i * MESSAGE_META_BYTES + HASH_AT;
  }

  /** Start of the record, relative to the block. */
  start(i: number): number {
    return this.word(this.messagesAt + i * MESSAGE_META_BYTES + START_AT);
  }

  length(i: number): number {
    return this.word(this.messagesAt + i * MESSAGE_META_BYTES + LENGTH_AT);
  }

  crc(i: number): number {
    return this.word(this.messagesAt + i * MESSAGE_META_BYTES + CRC_AT);
  }

  /** Bits: 1 client-supplied transactionId, 2 producerSub, 4 traceId, 8 encrypted. */
  flags(i: number): number {
    return this.bytes[this.messagesAt + i * MESSAGE_META_BYTES + FLAGS_AT]!;
  }

  /** A copy of message i's id. */
  copyId(i: number): Uint8Array {
    const at = this.idAt(i);
    return this.bytes.slice(at, at + 16);
  }

  /** Index of the message whose transactionId hash equals bytes[at … at+16), -1 when none. */
  findHash(bytes: Uint8Array, at: number): number {
    return this.find(HASH_AT, bytes, at);
  }

  /** Index of the message whose id equals bytes[at … at+16), -1 when none. */
  findId(bytes: Uint8Array, at: number): number {
    return this.find(0, bytes, at);
  }

  private find(field: number, wanted: Uint8Array, at: number): number {
    const { bytes, count } = this;
    let p = this.messagesAt + field;
    for (let i = 0; i < count; i++, p += MESSAGE_META_BYTES) {
      // Time-ordered ids differ at their end first.
      let k = 15;
      while (k >= 0 && bytes[p + k] === wanted[at + k]) k--;
      if (k < 0) return i;
    }
    return -1;
  }

  private word(at: number): number {
    const { bytes } = this;
    return (
      (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
    );
  }
}
