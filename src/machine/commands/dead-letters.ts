/**
 * Bodies of the commands on dead letters. A letter is named by its row key: queue, time, id.
 *
 *   RemoveDeadLetters: varint n | n x letter
 *   ReplayDeadLetter:  letter | body of a push command (one group, one message)
 *   letter:            u32 queue | u64 failedAt µs | 16B id
 */
import type { BinaryReader } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import { micros, queueId } from '../../common/ids.js';
import { COMMAND_HEADER, CommandKind } from './catalogue.js';
import type {
  DeadLetterName,
  RemoveDeadLettersCommand,
  ReplayDeadLetterCommand,
} from './catalogue.js';
import { readRowCount, writeRowCount } from './consumer-groups.js';
import { readId, writeId } from './fields.js';
import { beginCommand, finishCommand } from './header.js';

const LETTER_BYTES = 28;

export function encodeRemoveDeadLetters(
  tenant: Uint8Array,
  command: RemoveDeadLettersCommand,
): Uint8Array {
  const writer = beginCommand(CommandKind.RemoveDeadLetters, tenant);
  writeRowCount(writer, command.letters.length);
  for (const letter of command.letters) writeLetter(writer, letter);
  return finishCommand(writer);
}

export function decodeRemoveDeadLetters(reader: BinaryReader): RemoveDeadLettersCommand {
  const count = readRowCount(reader, LETTER_BYTES);
  const letters = Array.from({ length: count }, () => readLetter(reader));
  reader.expectEnd();
  return { letters };
}

/** `push` is a whole push command of the same tenant; its body is copied. */
export function encodeReplayDeadLetter(
  tenant: Uint8Array,
  command: ReplayDeadLetterCommand,
  push: Uint8Array,
): Uint8Array {
  const writer = beginCommand(CommandKind.ReplayDeadLetter, tenant);
  writeLetter(writer, command.letter);
  writer.rawRange(push, COMMAND_HEADER.body, push.length);
  return finishCommand(writer);
}

/** Leaves the reader at the push body. */
export function decodeReplayDeadLetter(reader: BinaryReader): ReplayDeadLetterCommand {
  return { letter: readLetter(reader) };
}

function writeLetter(writer: BinaryWriter, letter: DeadLetterName): void {
  writer.u32(letter.queueId);
  writer.u64(letter.failedAt);
  writeId(writer, letter.deadLetterId);
}

function readLetter(reader: BinaryReader): DeadLetterName {
  const queue = queueId(reader.u32());
  const failedAt = micros(reader.u64());
  return { queueId: queue, failedAt, deadLetterId: readId(reader) };
}
