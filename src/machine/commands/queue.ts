/**
 * Bodies of Configure and DeleteQueue.
 *
 *   Configure:   str queue | u8 replace | options (complete: the defaults) | options (the named ones)
 *   DeleteQueue: str queue
 */
import type { BinaryReader } from '../../common/binary-reader.js';
import { CommandKind } from './catalogue.js';
import type { ConfigureCommand, DeleteQueueCommand } from './catalogue.js';
import { readName, writeName } from './fields.js';
import { beginCommand, finishCommand } from './header.js';
import { readAllQueueOptions, readQueueOptions, writeQueueOptions } from './queue-options.js';

export function encodeConfigure(tenant: Uint8Array, command: ConfigureCommand): Uint8Array {
  const writer = beginCommand(CommandKind.Configure, tenant);
  writeName(writer, command.queue);
  writer.boolean(command.replace);
  writeQueueOptions(writer, command.defaults);
  writeQueueOptions(writer, command.options);
  return finishCommand(writer);
}

export function decodeConfigure(reader: BinaryReader): ConfigureCommand {
  const queue = readName(reader);
  const replace = reader.boolean();
  const defaults = readAllQueueOptions(reader);
  const options = readQueueOptions(reader);
  reader.expectEnd();
  return { queue, replace, defaults, options };
}

export function encodeDeleteQueue(tenant: Uint8Array, command: DeleteQueueCommand): Uint8Array {
  const writer = beginCommand(CommandKind.DeleteQueue, tenant);
  writeName(writer, command.queue);
  return finishCommand(writer);
}

export function decodeDeleteQueue(reader: BinaryReader): DeleteQueueCommand {
  const queue = readName(reader);
  reader.expectEnd();
  return { queue };
}
