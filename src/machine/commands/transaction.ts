/**
 * Body of Transaction: sections in ascending order, each at most once.
 *
 *   section:   u8 section | u32 length | body
 *   Acks:      varint n | n x { str group | target }          target as in ack.ts
 *   Pushes:    body of a push command
 *   Positions: varint n | n x { str queue | str partition | str group | u8 flags (1 offset, 2 metadata)
 *              | [u48 offset] | [str metadata] | u8 mode | u64 instant µs }
 *   KeyValue:  body of a KvCall, see kv.ts
 *
 * A section keeps its layout as long as the command's body version; a part that changes it raises that.
 */
import { BinaryReader, DecodeError } from '../../common/binary-reader.js';
import { BinaryWriter } from '../../common/binary-writer.js';
import { micros } from '../../common/ids.js';
import { invariant, unreachable } from '../../common/invariant.js';
import { readTarget, writeTarget } from './ack.js';
import { COMMAND_HEADER, CommandKind, StartMode } from './catalogue.js';
import { TransactionSection } from './catalogue-transactions.js';
import type { TransactionAck, TransactionPosition } from './catalogue-transactions.js';
import { readCount, readName, writeName } from './fields.js';
import { commandU32, putU32, writeCommandHeader } from './header.js';
import { decodeKvCall } from './kv.js';
import { checkPushBody } from './push-view.js';
import { checkTimerOps } from './timer-check.js';

const SECTION_HEAD_BYTES = 5;
const ACK_LEAST_BYTES = 11;
const POSITION_LEAST_BYTES = 13;
const HAS_OFFSET = 1;
const HAS_METADATA = 2;

/** A section's body: bytes[start, end). */
export interface SectionBody {
  readonly section: TransactionSection;
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** One exact allocation; every body is copied once. Sections come in ascending order. */
export function encodeTransaction(
  tenant: Uint8Array,
  sections: readonly SectionBody[],
): Uint8Array {
  let size: number = COMMAND_HEADER.body;
  for (const { start, end } of sections) size += SECTION_HEAD_BYTES + end - start;
  const target = new Uint8Array(size);
  writeCommandHeader(target, 0, CommandKind.Transaction, tenant);
  putU32(target, COMMAND_HEADER.length, size - 4);
  let at: number = COMMAND_HEADER.body;
  let last = 0;
  for (const { section, bytes, start, end } of sections) {
    invariant(section > last, 'sections of a transaction ascend');
    last = section;
    target[at] = section;
    putU32(target, at + 1, end - start);
    target.set(bytes.subarray(start, end), at + SECTION_HEAD_BYTES);
    at += SECTION_HEAD_BYTES + end - start;
  }
  return target;
}

/** The whole of some bytes as a section. */
export function sectionOf(section: TransactionSection, bytes: Uint8Array): SectionBody {
  return { section, bytes, start: 0, end: bytes.length };
}

/** A whole push command as a section: its body. */
export function pushSection(push: Uint8Array): SectionBody {
  const { body } = COMMAND_HEADER;
  return { section: TransactionSection.Pushes, bytes: push, start: body, end: push.length };
}

/** The sections of the body bytes[start, end). Throws DecodeError on a broken frame. */
export function readSections(bytes: Uint8Array, start: number, end: number): SectionBody[] {
  const sections: SectionBody[] = [];
  let last = 0;
  for (let at = start; at < end;) {
    if (end - at < SECTION_HEAD_BYTES) throw new DecodeError('section expected', at);
    const section = bytes[at]!;
    if (section <= last) throw new DecodeError('sections do not ascend', at);
    const from = at + SECTION_HEAD_BYTES;
    const to = from + commandU32(bytes, at + 1);
    if (to > end) throw new DecodeError('section crosses its command', at);
    sections.push({ section: section, bytes, start: from, end: to });
    last = section;
    at = to;
  }
  return sections;
}

/** The check before the log: every section decodes. */
export function checkTransactionBody(bytes: Uint8Array, start: number, end: number): void {
  for (const section of readSections(bytes, start, end)) checkSection(section);
}

function checkSection(body: SectionBody): void {
  const { section, bytes, start, end } = body;
  switch (section) {
    case TransactionSection.Acks:
      decodeAcks(new BinaryReader(bytes, start, end));
      return;
    case TransactionSection.Pushes:
      checkPushBody(bytes, start, end);
      return;
    case TransactionSection.Positions:
      decodePositions(new BinaryReader(bytes, start, end));
      return;
    case TransactionSection.KeyValue:
      decodeKvCall(new BinaryReader(bytes, start, end));
      return;
    case TransactionSection.Timers:
      checkTimerOps(bytes, start, end);
      return;
    default:
      unreachable(section, 'transaction section');
  }
}

export function encodeAcks(acks: readonly TransactionAck[]): Uint8Array {
  const writer = new BinaryWriter();
  writer.varint(acks.length);
  for (const { group, target } of acks) {
    writeName(writer, group);
    writeTarget(writer, target);
  }
  return writer.toBytes();
}

export function decodeAcks(reader: BinaryReader): TransactionAck[] {
  const count = readCount(reader, ACK_LEAST_BYTES);
  const acks: TransactionAck[] = [];
  for (let i = 0; i < count; i++) {
    const group = readName(reader);
    acks.push({ group, target: readTarget(reader) });
  }
  reader.expectEnd();
  return acks;
}

export function encodePositions(positions: readonly TransactionPosition[]): Uint8Array {
  const writer = new BinaryWriter();
  writer.varint(positions.length);
  for (const position of positions) {
    const { offset, metadata } = position;
    writeName(writer, position.queue);
    writeName(writer, position.partition);
    writeName(writer, position.group);
    writer.u8((offset === null ? 0 : HAS_OFFSET) | (metadata === null ? 0 : HAS_METADATA));
    if (offset !== null) writer.u48(offset);
    if (metadata !== null) writer.string(metadata);
    writer.u8(position.mode);
    writer.u64(position.instant);
  }
  return writer.toBytes();
}

export function decodePositions(reader: BinaryReader): TransactionPosition[] {
  const count = readCount(reader, POSITION_LEAST_BYTES);
  const positions: TransactionPosition[] = [];
  for (let i = 0; i < count; i++) positions.push(readPosition(reader));
  reader.expectEnd();
  return positions;
}

function readPosition(reader: BinaryReader): TransactionPosition {
  const queue = readName(reader);
  const partition = readName(reader);
  const group = readName(reader);
  const flags = reader.u8();
  if (flags > (HAS_OFFSET | HAS_METADATA)) {
    throw new DecodeError('unknown flag of a position', reader.position - 1);
  }
  const offset = (flags & HAS_OFFSET) === 0 ? null : reader.u48();
  const metadata = (flags & HAS_METADATA) === 0 ? null : reader.string();
  const mode = reader.u8();
  if (mode > StartMode.Timestamp) throw new DecodeError('unknown start mode', reader.position - 1);
  const instant = micros(reader.u64());
  return { queue, partition, group, offset, metadata, mode, instant };
}
