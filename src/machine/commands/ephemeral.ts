/**
 * Bodies of DeclareEphemeral and DropEphemeral.
 *
 *   DeclareEphemeral: str queue | str options (JSON, at most MAX_OPTIONS_BYTES)
 *   DropEphemeral:    str queue
 */
import type { BinaryReader } from '../../common/binary-reader.js';
import { DecodeError } from '../../common/binary-reader.js';
import { invariant } from '../../common/invariant.js';
import { CommandKind } from './catalogue.js';
import type { DeclareEphemeralCommand, DropEphemeralCommand } from './ephemeral-catalogue.js';
import { readName, writeName } from './fields.js';
import { beginCommand, finishCommand } from './header.js';

/** Far above the closed list of options; keeps a row small whatever a peer sends. */
export const MAX_OPTIONS_BYTES = 4096;

export function encodeDeclareEphemeral(
  tenant: Uint8Array,
  command: DeclareEphemeralCommand,
): Uint8Array {
  const writer = beginCommand(CommandKind.DeclareEphemeral, tenant);
  writeName(writer, command.queue);
  const before = writer.length;
  writer.string(command.optionsText);
  invariant(writer.length - before <= MAX_OPTIONS_BYTES, 'options are longer than a row may hold');
  return finishCommand(writer);
}

export function decodeDeclareEphemeral(reader: BinaryReader): DeclareEphemeralCommand {
  const queue = readName(reader);
  const at = reader.position;
  const optionsText = reader.string();
  if (reader.position - at > MAX_OPTIONS_BYTES) throw new DecodeError('options too long', at);
  reader.expectEnd();
  return { queue, optionsText };
}

export function encodeDropEphemeral(tenant: Uint8Array, command: DropEphemeralCommand): Uint8Array {
  const writer = beginCommand(CommandKind.DropEphemeral, tenant);
  writeName(writer, command.queue);
  return finishCommand(writer);
}

export function decodeDropEphemeral(reader: BinaryReader): DropEphemeralCommand {
  const queue = readName(reader);
  reader.expectEnd();
  return { queue };
}
