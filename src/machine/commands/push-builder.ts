/**
 * Builds one push command: sizes first, then one exact allocation and one copy of every payload.
 * The edge opens append groups in first-seen order and adds messages to any of them in any order;
 * inside a group input order is kept.
 *
 *   i32 leaseTime | i32 retryLimit | i32 dedupWindowSeconds | u32 windowMinSeconds | varint groups
 *   group: str queue | str partition | u32 optionsVersion | u8 flags (bit0 encrypted) | varint count
 *          | count × { 16B id | 16B txnHash | u32 start | u32 length | u32 crc | u8 flags }
 *          | u32 blockLength | block
 *
 * Machine code may not compute checksums, so the CRC-32 function is handed in.
 */
import { invariant } from '../../common/invariant.js';
import { utf8Length, writeUtf8 } from '../../common/utf8.js';
import { COMMAND_HEADER, CommandKind } from './catalogue.js';
import type { PushCommandLimits } from './catalogue.js';
import { MAX_NAME_BYTES } from './fields.js';
import { putU32, writeCommandHeader } from './header.js';
import { MESSAGE_FLAG, putVarint, recordBytes, varintBytes, writeRecord } from './push-record.js';
import type { RecordPieces } from './push-record.js';

export const PUSH_MESSAGE_BYTES = 45;
export const PUSH_LIMITS_BYTES = 16;
export const PUSH_GROUP_ENCRYPTED = 1;
/** Bound of one group's block: its length field and its positions are u32, lengths are varints. */
const MAX_BLOCK_BYTES = 0x0fff_ffff;

export type Crc32 = (bytes: Uint8Array, start: number, end: number) => number;

export interface PushGroupHead {
  readonly queue: string;
  readonly partition: string;
  /** Options version of the queue the preparer saw, 0 when the queue was missing. */
  readonly optionsVersion: number;
  /** The preparer encrypted this group's payloads. */
  readonly encrypted: boolean;
}

/** Ranges are read when `build` runs; the caller keeps them unchanged until then. */
export interface PushMessage extends RecordPieces {
  /** 16 bytes at `idAt`. */
  readonly id: Uint8Array;
  readonly idAt: number;
  /** 16-byte murmur3-128 of the transactionId at `hashAt`. */
  readonly hash: Uint8Array;
  readonly hashAt: number;
  readonly clientId: boolean;
  readonly encrypted: boolean;
}

interface Group {
  readonly head: PushGroupHead;
  readonly messages: PushMessage[];
  readonly queueBytes: number;
  readonly partitionBytes: number;
  blockBytes: number;
}

export class PushCommandBuilder {
  private readonly groups: Group[] = [];

  constructor(
    private readonly limits: PushCommandLimits,
    private readonly crc: Crc32,
  ) {}

  /** Opens an append group; its number goes to `add`. The caller opens each (queue, partition) once. */
  group(head: PushGroupHead): number {
    const queueBytes = nameBytes(head.queue);
    const partitionBytes = nameBytes(head.partition);
    this.groups.push({ head, messages: [], queueBytes, partitionBytes, blockBytes: 0 });
    return this.groups.length - 1;
  }

  add(groupNumber: number, message: PushMessage): void {
    const group = this.groups[groupNumber];
    invariant(group !== undefined, 'no such push group');
    group.messages.push(message);
    group.blockBytes += recordBytes(message);
  }

  /** Bytes of the command that `build` would return. */
  sizeBytes(): number {
    let size = COMMAND_HEADER.body + PUSH_LIMITS_BYTES + varintBytes(this.groups.length);
    for (const group of this.groups) size += groupBytes(group);
    return size;
  }

  /** Bytes of one group's records, for the edge's refusal of too large groups. */
  blockBytes(groupNumber: number): number {
    return this.groups[groupNumber]?.blockBytes ?? 0;
  }

  build(tenant: Uint8Array): Uint8Array {
    const size = this.sizeBytes();
    const target = new Uint8Array(size);
    writeCommandHeader(target, 0, CommandKind.Push, tenant);
    putU32(target, COMMAND_HEADER.length, size - 4);
    const { defaults, windowMinSeconds } = this.limits;
    const body = COMMAND_HEADER.body;
    putU32(target, body, defaults.leaseTime);
    putU32(target, body + 4, defaults.retryLimit);
    putU32(target, body + 8, defaults.dedupWindowSeconds);
    putU32(target, body + 12, windowMinSeconds);
    let at = putVarint(target, body + PUSH_LIMITS_BYTES, this.groups.length);
    for (const group of this.groups) at = this.writeGroup(target, at, group);
    invariant(at === size, 'push command differs from its computed size');
    return target;
  }

  private writeGroup(target: Uint8Array, start: number, group: Group): number {
    const { head, messages } = group;
    invariant(group.blockBytes <= MAX_BLOCK_BYTES, 'append group is over the bound of the format');
    let at = writeNameBytes(target, start, head.queue, group.queueBytes);
    at = writeNameBytes(target, at, head.partition, group.partitionBytes);
    putU32(target, at, head.optionsVersion);
    target[at + 4] = head.encrypted ? PUSH_GROUP_ENCRYPTED : 0;
    let entry = putVarint(target, at + 5, messages.length);
    const block = entry + messages.length * PUSH_MESSAGE_BYTES + 4;
    putU32(target, block - 4, group.blockBytes);
    let record = block;
    for (let i = 0; i < messages.length; i++) {
      const message = messages[i]!;
      const flags = messageFlags(message);
      const end = writeRecord(target, record, flags, message);
      copy16(target, entry, message.id, message.idAt);
      copy16(target, entry + 16, message.hash, message.hashAt);
      putU32(target, entry + 32, record - block);
      putU32(target, entry + 36, end - record);
      putU32(target, entry + 40, this.crc(target, record, end));
      target[entry + 44] = flags;
      entry += PUSH_MESSAGE_BYTES;
      record = end;
    }
    return record;
  }
}

function messageFlags(message: PushMessage): number {
  return (
    (message.clientId ? MESSAGE_FLAG.clientId : 0) |
    (message.producerSub !== null ? MESSAGE_FLAG.producerSub : 0) |
    (message.traceId !== null ? MESSAGE_FLAG.traceId : 0) |
    (message.encrypted ? MESSAGE_FLAG.encrypted : 0)
  );
}

function groupBytes(group: Group): number {
  const { queueBytes, partitionBytes, messages } = group;
  const names = varintBytes(queueBytes) + queueBytes + varintBytes(partitionBytes) + partitionBytes;
  const table = varintBytes(messages.length) + messages.length * PUSH_MESSAGE_BYTES;
  return names + 5 + table + 4 + group.blockBytes;
}

function nameBytes(name: string): number {
  const size = utf8Length(name);
  invariant(size <= MAX_NAME_BYTES, 'a name is longer than the format allows');
  return size;
}

function writeNameBytes(target: Uint8Array, at: number, name: string, size: number): number {
  // writeUtf8 wants room for the worst case; behind a name there is always a group's fixed part and
  // its table, but a long name in front of a tiny group may lack it, so check before relying on it.
  const p = putVarint(target, at, size);
  if (p + name.length * 3 <= target.length) return writeUtf8(name, target, p);
  const scratch = new Uint8Array(name.length * 3);
  writeUtf8(name, scratch, 0);
  return copy(target, p, scratch, size);
}

function copy(target: Uint8Array, at: number, source: Uint8Array, size: number): number {
  for (let i = 0; i < size; i++) target[at + i] = source[i]!;
  return at + size;
}

function copy16(target: Uint8Array, at: number, source: Uint8Array, sourceAt: number): void {
  for (let i = 0; i < 16; i++) target[at + i] = source[sourceAt + i]!;
}
