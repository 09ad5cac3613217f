/**
 * Commands of retention and cleanup (spec §2.9), proposed by the leader's sweeper. Each names exact
 * targets with what the sweeper saw of them; a target that changed meanwhile is left alone and looked
 * at again, so a repeat has no effect.
 *
 *   TrimPartitions: varint n | n x { u32 queue | u48 partition | u32 optionsVersion | u8 rule
 *                   | varint logStart | varint next | varint removedBytes | varint unheldBelow }
 *   DropPartitions: u64 idleSince µs | varint n | n x { u32 queue | u48 partition | varint lastOffset+1 }
 *   SealCursors:    varint n | n x { u48 partition | u32 group | u32 cursorVersion }
 */
import { DecodeError } from '../../common/binary-reader.js';
import type { BinaryReader } from '../../common/binary-reader.js';
import { consumerGroupId, micros, partitionId, queueId } from '../../common/ids.js';
import type { ConsumerGroupId, Micros, PartitionId, QueueId } from '../../common/ids.js';
import { CommandKind } from './catalogue.js';
import { readRowCount, writeRowCount } from './consumer-groups.js';
import { beginCommand, finishCommand } from './header.js';
import { NO_TENANT } from './session.js';

const TRIM_LEAST_BYTES = 19;
const DROP_LEAST_BYTES = 11;
const SEAL_BYTES = 14;

/** Why appends go; never renumber. */
export enum TrimRule {
  /** Older than `retentionSeconds`. */
  Age = 0,
  /** Older than `completedRetentionSeconds` and settled by every cursor. */
  Completed = 1,
  /** Older than `maxWaitTimeSeconds`. */
  MaxWait = 2,
}

/** Moves the start of one partition's log: whole appends from `logStart` to below `next` go. */
export interface PartitionTrim {
  readonly queueId: QueueId;
  readonly partitionId: PartitionId;
  /** Of the queue, as judged: other options void the judgement. */
  readonly optionsVersion: number;
  readonly rule: TrimRule;
  readonly logStart: number;
  readonly next: number;
  /** Record bytes of what goes. */
  readonly removedBytes: number;
  /** Offsets below are too old to be held for the sink of the queue (`retentionSinkHold`). */
  readonly unheldBelow: number;
}

export interface TrimPartitionsCommand {
  readonly trims: readonly PartitionTrim[];
}

/** A partition that was empty and idle; it goes with its cursors. */
export interface PartitionDrop {
  readonly queueId: QueueId;
  readonly partitionId: PartitionId;
  readonly lastOffset: number;
}

export interface DropPartitionsCommand {
  /** Nothing may have been written, leased or begun at or after this instant. */
  readonly idleSince: Micros;
  readonly drops: readonly PartitionDrop[];
}

/** A cursor behind a log that retains nothing: it moves to the tail. */
export interface CursorSeal {
  readonly partitionId: PartitionId;
  readonly groupId: ConsumerGroupId;
  readonly cursorVersion: number;
}

export interface SealCursorsCommand {
  readonly seals: readonly CursorSeal[];
}

export interface TrimPartitionsOutcome {
  readonly kind: CommandKind.TrimPartitions;
  readonly trimmed: number;
  /** Messages that went. */
  readonly messages: number;
}

export interface DropPartitionsOutcome {
  readonly kind: CommandKind.DropPartitions;
  readonly dropped: number;
}

export interface SealCursorsOutcome {
  readonly kind: CommandKind.SealCursors;
  readonly sealed: number;
}

export function encodeTrimPartitions(command: TrimPartitionsCommand): Uint8Array {
  const writer = beginCommand(CommandKind.TrimPartitions, NO_TENANT);
  writeRowCount(writer, command.trims.length);
  for (const trim of command.trims) {
    writer.u32(trim.queueId);
    writer.u48(trim.partitionId);
    writer.u32(trim.optionsVersion);
    writer.u8(trim.rule);
    writer.varint(trim.logStart);
    writer.varint(trim.next);
    writer.varint(trim.removedBytes);
    writer.varint(trim.unheldBelow);
  }
  return finishCommand(writer);
}

export function decodeTrimPartitions(reader: BinaryReader): TrimPartitionsCommand {
  const count = readRowCount(reader, TRIM_LEAST_BYTES);
  const trims = Array.from({ length: count }, () => readTrim(reader));
  reader.expectEnd();
  return { trims };
}

function readTrim(reader: BinaryReader): PartitionTrim {
  const queue = queueId(reader.u32());
  const partition = partitionId(reader.u48());
  const optionsVersion = reader.u32();
  const at = reader.position;
  const rule = reader.u8();
  if (rule > TrimRule.MaxWait) throw new DecodeError('unknown retention rule', at);
  return {
    queueId: queue,
    partitionId: partition,
    optionsVersion,
    rule,
    logStart: reader.varint(),
    next: reader.varint(),
    removedBytes: reader.varint(),
    unheldBelow: reader.varint(),
  };
}

export function encodeDropPartitions(command: DropPartitionsCommand): Uint8Array {
  const writer = beginCommand(CommandKind.DropPartitions, NO_TENANT);
  writer.u64(command.idleSince);
  writeRowCount(writer, command.drops.length);
  for (const drop of command.drops) {
    writer.u32(drop.queueId);
    writer.u48(drop.partitionId);
    writer.varint(drop.lastOffset + 1);
  }
  return finishCommand(writer);
}

export function decodeDropPartitions(reader: BinaryReader): DropPartitionsCommand {
  const idleSince = micros(reader.u64());
  const count = readRowCount(reader, DROP_LEAST_BYTES);
  const drops = Array.from({ length: count }, () => {
    const queue = queueId(reader.u32());
    const partition = partitionId(reader.u48());
    return { queueId: queue, partitionId: partition, lastOffset: reader.varint() - 1 };
  });
  reader.expectEnd();
  return { idleSince, drops };
}

export function encodeSealCursors(command: SealCursorsCommand): Uint8Array {
  const writer = beginCommand(CommandKind.SealCursors, NO_TENANT);
  writeRowCount(writer, command.seals.length);
  for (const seal of command.seals) {
    writer.u48(seal.partitionId);
    writer.u32(seal.groupId);
    writer.u32(seal.cursorVersion);
  }
  return finishCommand(writer);
}

export function decodeSealCursors(reader: BinaryReader): SealCursorsCommand {
  const count = readRowCount(reader, SEAL_BYTES);
  const seals = Array.from({ length: count }, () => {
    const partition = partitionId(reader.u48());
    const group = consumerGroupId(reader.u32());
    return { partitionId: partition, groupId: group, cursorVersion: reader.u32() };
  });
  reader.expectEnd();
  return { seals };
}
