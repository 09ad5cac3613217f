/**
 * Walks the body of a push command in place: no object, string or slice per message. Open it on a
 * body, then move group by group; `nextGroup` checks the group's whole frame (table, block, every
 * record inside the block), so the per-message getters may trust their positions.
 * The layout is drawn in push-builder.ts. Getters take the message's index inside its group.
 */
import { BinaryReader, DecodeError } from '../../common/binary-reader.js';
import { isValidUtf8, readUtf8 } from '../../common/utf8.js';
import type { PushCommandLimits } from './catalogue.js';
import { MAX_NAME_BYTES } from './fields.js';
import { commandU32 } from './header.js';
import { PUSH_GROUP_ENCRYPTED, PUSH_MESSAGE_BYTES } from './push-builder.js';
import { ALL_MESSAGE_FLAGS, readRecord } from './push-record.js';

const GROUP_LEAST_BYTES = 12;
const NOTHING = new Uint8Array(0);

export class PushBodyView {
  bytes: Uint8Array = NOTHING;
  leaseTime = 0;
  retryLimit = 0;
  dedupWindowSeconds = 0;
  windowMinSeconds = 0;
  groupCount = 0;

  /** Of the current group. */
  groupIndex = -1;
  optionsVersion = 0;
  encrypted = false;
  /** Messages in the group. */
  count = 0;
  /** Position of the group's block in `bytes`, and its length. */
  blockAt = 0;
  blockLength = 0;

  private readonly reader = new BinaryReader();
  private nameAt = 0;
  private queueAt = 0;
  private queueEnd = 0;
  private partitionAt = 0;
  private partitionEnd = 0;
  private tableAt = 0;

  /** Opens the body bytes[start, end) of a push command. */
  open(bytes: Uint8Array, start: number, end: number): void {
    const reader = this.reader;
    reader.reset(bytes, start, end);
    this.bytes = bytes;
    this.leaseTime = reader.i32();
    this.retryLimit = reader.i32();
    this.dedupWindowSeconds = reader.i32();
    this.windowMinSeconds = reader.u32();
    const countAt = reader.position;
    this.groupCount = reader.varint();
    if (this.groupCount * GROUP_LEAST_BYTES > reader.remaining) {
      throw new DecodeError('count exceeds its bytes', countAt);
    }
    this.groupIndex = -1;
  }

  /** Limits and defaults as the catalogue names them. */
  limits(): PushCommandLimits {
    const { leaseTime, retryLimit, dedupWindowSeconds, windowMinSeconds } = this;
    return { defaults: { leaseTime, retryLimit, dedupWindowSeconds }, windowMinSeconds };
  }

  /** Moves to the next group; false after the last one (nothing may follow it). */
  nextGroup(): boolean {
    const reader = this.reader;
    if (this.groupIndex + 1 === this.groupCount) {
      reader.expectEnd();
      return false;
    }
    this.groupIndex += 1;
    this.queueEnd = this.skipName();
    this.queueAt = this.nameAt;
    this.partitionEnd = this.skipName();
    this.partitionAt = this.nameAt;
    this.optionsVersion = reader.u32();
    const flags = reader.u8();
    if (flags > PUSH_GROUP_ENCRYPTED) {
      throw new DecodeError('unknown flag of a push group', reader.position - 1);
    }
    this.encrypted = flags === PUSH_GROUP_ENCRYPTED;
    this.count = reader.varint();
    this.tableAt = reader.skip(this.count * PUSH_MESSAGE_BYTES);
    this.blockLength = reader.u32();
    this.blockAt = reader.skip(this.blockLength);
    this.checkRecords();
    return true;
  }

  queueName(): string {
    return readUtf8(this.bytes, this.queueAt, this.queueEnd);
  }

  partitionName(): string {
    return readUtf8(this.bytes, this.partitionAt, this.partitionEnd);
  }

  /** Position in `bytes` of the 16-byte id. */
  idAt(index: number): number {
    return this.tableAt + index * PUSH_MESSAGE_BYTES;
  }

  /** Position in `bytes` of the 16-byte transactionId hash. */
  hashAt(index: number): number {
    return this.tableAt + index * PUSH_MESSAGE_BYTES + 16;
  }

  /** Start of the record relative to the block. */
  recordStart(index: number): number {
    return commandU32(this.bytes, this.tableAt + index * PUSH_MESSAGE_BYTES + 32);
  }

  recordLength(index: number): number {
    return commandU32(this.bytes, this.tableAt + index * PUSH_MESSAGE_BYTES + 36);
  }

  recordCrc(index: number): number {
    return commandU32(this.bytes, this.tableAt + index * PUSH_MESSAGE_BYTES + 40);
  }

  messageFlags(index: number): number {
    return this.bytes[this.tableAt + index * PUSH_MESSAGE_BYTES + 44]!;
  }

  /** Parses every record of the group: the check before the log, not needed at apply. */
  checkRecordPieces(): void {
    for (let i = 0; i < this.count; i++) {
      const start = this.blockAt + this.recordStart(i);
      const record = readRecord(this.bytes, start, start + this.recordLength(i));
      if (record.flags !== this.messageFlags(i)) {
        throw new DecodeError('flags of record and table differ', start);
      }
    }
  }

  /** Checks a name, notes its start in `nameAt` and returns its end. */
  private skipName(): number {
    const reader = this.reader;
    const size = reader.varint();
    const at = reader.skip(size);
    if (size > MAX_NAME_BYTES) throw new DecodeError('name too long', at);
    if (!isValidUtf8(this.bytes, at, at + size)) throw new DecodeError('invalid UTF-8', at);
    this.nameAt = at;
    return at + size;
  }

  /** Records must be non-empty and lie inside the block. */
  private checkRecords(): void {
    for (let i = 0; i < this.count; i++) {
      const length = this.recordLength(i);
      if (length === 0 || this.recordStart(i) + length > this.blockLength) {
        throw new DecodeError('record outside its block', this.idAt(i));
      }
      if (this.messageFlags(i) > ALL_MESSAGE_FLAGS) {
        throw new DecodeError('unknown message flag', this.idAt(i) + 44);
      }
    }
  }
}

const checked = new PushBodyView();

/** The check of a push body before the log; throws DecodeError, returns what it holds; `queue` of its last group. */
export function checkPushBody(
  bytes: Uint8Array,
  start: number,
  end: number,
): { readonly groups: number; readonly messages: number; readonly queue: string } {
  let messages = 0;
  checked.open(bytes, start, end);
  while (checked.nextGroup()) {
    checked.checkRecordPieces();
    messages += checked.count;
  }
  const queue = checked.groupCount === 0 ? '' : checked.queueName();
  return { groups: checked.groupCount, messages, queue };
}
