/**
 * Bodies of the commands on cursors and registrations of one consumer group. Each names exact rows, at
 * most MAX_NAMED_ROWS; larger requests are several commands.
 *
 *   SeekCursors:        str group | varint n | n x { u48 partition | varint committed+1 }
 *   DeleteCursors:      str group | u32 queue | u8 dropRegistration | varint n | n x u48 partition
 *   UpdateSubscription: str group | u64 instant µs | varint n | n x u32 queue
 */
import { DecodeError } from '../../common/binary-reader.js';
import type { BinaryReader } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import { micros, partitionId, queueId } from '../../common/ids.js';
import { invariant } from '../../common/invariant.js';
import { CommandKind, MAX_NAMED_ROWS } from './catalogue.js';
import type {
  CursorMove,
  DeleteCursorsCommand,
  SeekCursorsCommand,
  UpdateSubscriptionCommand,
} from './catalogue.js';
import { readCount, readName, writeName } from './fields.js';
import { beginCommand, finishCommand } from './header.js';

const MOVE_LEAST_BYTES = 7;
const PARTITION_BYTES = 6;
const QUEUE_BYTES = 4;

export function encodeSeekCursors(tenant: Uint8Array, command: SeekCursorsCommand): Uint8Array {
  const writer = beginCommand(CommandKind.SeekCursors, tenant);
  writeName(writer, command.group);
  writeRowCount(writer, command.moves.length);
  for (const { partitionId: partition, committed } of command.moves) {
    writer.u48(partition);
    writer.varint(committed + 1);
  }
  return finishCommand(writer);
}

export function decodeSeekCursors(reader: BinaryReader): SeekCursorsCommand {
  const group = readName(reader);
  const count = readRowCount(reader, MOVE_LEAST_BYTES);
  const moves: CursorMove[] = [];
  for (let i = 0; i < count; i++) {
    const partition = partitionId(reader.u48());
    moves.push({ partitionId: partition, committed: reader.varint() - 1 });
  }
  reader.expectEnd();
  return { group, moves };
}

export function encodeDeleteCursors(tenant: Uint8Array, command: DeleteCursorsCommand): Uint8Array {
  const writer = beginCommand(CommandKind.DeleteCursors, tenant);
  writeName(writer, command.group);
  writer.u32(command.queueId);
  writer.boolean(command.dropRegistration);
  writeRowCount(writer, command.partitions.length);
  for (const partition of command.partitions) writer.u48(partition);
  return finishCommand(writer);
}

export function decodeDeleteCursors(reader: BinaryReader): DeleteCursorsCommand {
  const group = readName(reader);
  const queue = queueId(reader.u32());
  const dropRegistration = reader.boolean();
  const count = readRowCount(reader, PARTITION_BYTES);
  const partitions = Array.from({ length: count }, () => partitionId(reader.u48()));
  reader.expectEnd();
  return { group, queueId: queue, dropRegistration, partitions };
}

export function encodeUpdateSubscription(
  tenant: Uint8Array,
  command: UpdateSubscriptionCommand,
): Uint8Array {
  const writer = beginCommand(CommandKind.UpdateSubscription, tenant);
  writeName(writer, command.group);
  writer.u64(command.instant);
  writeRowCount(writer, command.queues.length);
  for (const queue of command.queues) writer.u32(queue);
  return finishCommand(writer);
}

export function decodeUpdateSubscription(reader: BinaryReader): UpdateSubscriptionCommand {
  const group = readName(reader);
  const instant = micros(reader.u64());
  const count = readRowCount(reader, QUEUE_BYTES);
  const queues = Array.from({ length: count }, () => queueId(reader.u32()));
  reader.expectEnd();
  return { group, instant, queues };
}

export function writeRowCount(writer: BinaryWriter, count: number): void {
  invariant(count <= MAX_NAMED_ROWS, 'a command names too many rows');
  writer.varint(count);
}

export function readRowCount(reader: BinaryReader, leastBytes: number): number {
  const at = reader.position;
  const count = readCount(reader, leastBytes);
  if (count > MAX_NAMED_ROWS) throw new DecodeError('a command names too many rows', at);
  return count;
}
