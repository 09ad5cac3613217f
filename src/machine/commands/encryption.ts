/**
 * BindEncryptionKey: notes the check value of the key payloads are encrypted with, at its first use.
 *
 *   BindEncryptionKey: 16B check value
 */
import type { BinaryReader } from '../../common/binary-reader.js';
import { CommandKind } from './catalogue.js';
import { readId, writeId } from './fields.js';
import { beginCommand, finishCommand } from './header.js';
import { NO_TENANT } from './session.js';

export interface BindEncryptionKeyCommand {
  /** 16 bytes that tell keys apart and nothing else about them. */
  readonly check: Uint8Array;
}

export interface BindEncryptionKeyOutcome {
  readonly kind: CommandKind.BindEncryptionKey;
  /** False: another key was bound before. */
  readonly isBound: boolean;
}

export function encodeBindEncryptionKey({ check }: BindEncryptionKeyCommand): Uint8Array {
  const writer = beginCommand(CommandKind.BindEncryptionKey, NO_TENANT);
  writeId(writer, check);
  return finishCommand(writer);
}

export function decodeBindEncryptionKey(reader: BinaryReader): BindEncryptionKeyCommand {
  const check = readId(reader);
  reader.expectEnd();
  return { check };
}
