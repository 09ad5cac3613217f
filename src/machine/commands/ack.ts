/**
 * Bodies of Ack and Extend. Completed ranges travel as gaps and lengths, so that an encoded list is
 * ascending and disjoint by construction.
 *
 *   Ack:     str group | varint skewMicros | varint targets | target*
 *   target:  u48 partitionId | optional 16B leaseId | varint ranges | { varint gap | varint length−1 }*
 *            | varint signals | signal* | optional text fallbackError
 *   signal:  varint offset | varint baseOffset | u8 status | optional text error | 16B deadLetterId
 *   Extend:  16B leaseId | u32 seconds
 *
 *   gap of the first range = its first offset; of the others = first − previous last − 1
 */
import { DecodeError } from '../../common/binary-reader.js';
import type { BinaryReader } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import { offset, partitionId } from '../../common/ids.js';
import { AckStatus, CommandKind } from './catalogue.js';
import type { AckCommand, AckSignal, AckTarget, ExtendCommand } from './catalogue.js';
import {
  readCount,
  readId,
  readName,
  readOptionalId,
  readOptionalText,
  writeId,
  writeName,
  writeOptionalId,
  writeOptionalText,
} from './fields.js';
import { beginCommand, finishCommand } from './header.js';

const TARGET_LEAST_BYTES = 10;
const SIGNAL_LEAST_BYTES = 20;
const RANGE_LEAST_BYTES = 2;

export function encodeAck(tenant: Uint8Array, command: AckCommand): Uint8Array {
  const writer = beginCommand(CommandKind.Ack, tenant);
  writeName(writer, command.group);
  writer.varint(command.skewMicros);
  writer.varint(command.targets.length);
  for (const target of command.targets) writeTarget(writer, target);
  return finishCommand(writer);
}

export function decodeAck(reader: BinaryReader): AckCommand {
  const group = readName(reader);
  const skewMicros = reader.varint();
  const count = readCount(reader, TARGET_LEAST_BYTES);
  const targets: AckTarget[] = [];
  for (let i = 0; i < count; i++) targets.push(readTarget(reader));
  reader.expectEnd();
  return { group, skewMicros, targets };
}

export function writeTarget(writer: BinaryWriter, target: AckTarget): void {
  writer.u48(target.partitionId);
  writeOptionalId(writer, target.leaseId);
  writer.varint(target.completed.length / 2);
  let next = 0;
  for (let i = 0; i + 1 < target.completed.length; i += 2) {
    const first = target.completed[i]!;
    const last = target.completed[i + 1]!;
    writer.varint(first - next);
    writer.varint(last - first);
    next = last + 1;
  }
  writer.varint(target.signals.length);
  for (const signal of target.signals) {
    writer.varint(signal.offset);
    writer.varint(signal.baseOffset);
    writer.u8(signal.status);
    writeOptionalText(writer, signal.error);
    writeId(writer, signal.deadLetterId);
  }
  writeOptionalText(writer, target.fallbackError);
}

export function readTarget(reader: BinaryReader): AckTarget {
  const partition = partitionId(reader.u48());
  const leaseId = readOptionalId(reader);
  const completed = readCompleted(reader);
  const count = readCount(reader, SIGNAL_LEAST_BYTES);
  const signals: AckSignal[] = [];
  for (let i = 0; i < count; i++) signals.push(readSignal(reader));
  const fallbackError = readOptionalText(reader);
  return { partitionId: partition, leaseId, completed, signals, fallbackError };
}

function readCompleted(reader: BinaryReader): number[] {
  const count = readCount(reader, RANGE_LEAST_BYTES);
  const completed: number[] = [];
  let next = 0;
  for (let i = 0; i < count; i++) {
    const first = next + reader.varint();
    const last = first + reader.varint();
    if (last >= Number.MAX_SAFE_INTEGER)
      throw new DecodeError('offset out of range', reader.position);
    completed.push(first, last);
    next = last + 1;
  }
  return completed;
}

function readSignal(reader: BinaryReader): AckSignal {
  const at = offset(reader.varint());
  const baseOffset = offset(reader.varint());
  const status = reader.u8();
  if (status !== AckStatus.Failed && status !== AckStatus.Dlq && status !== AckStatus.Retry) {
    throw new DecodeError('unknown signal status', reader.position - 1);
  }
  const error = readOptionalText(reader);
  const deadLetterId = readId(reader);
  return { offset: at, baseOffset, status, error, deadLetterId };
}

export function encodeExtend(tenant: Uint8Array, command: ExtendCommand): Uint8Array {
  const writer = beginCommand(CommandKind.Extend, tenant);
  writeId(writer, command.leaseId);
  writer.u32(command.seconds);
  return finishCommand(writer);
}

export function decodeExtend(reader: BinaryReader): ExtendCommand {
  const leaseId = readId(reader);
  const seconds = reader.u32();
  reader.expectEnd();
  return { leaseId, seconds };
}
