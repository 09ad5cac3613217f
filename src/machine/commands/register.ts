/**
 * Body of Register.
 *
 *   str queue | str group | u8 flags (bit0 createQueue, bit1 conflation) | u8 mode | u64 instant µs
 *   | i32 leaseTime | i32 retryLimit | i32 dedupWindowSeconds | str namespace | str task
 */
import { DecodeError } from '../../common/binary-reader.js';
import type { BinaryReader } from '../../common/binary-reader.js';
import { micros } from '../../common/ids.js';
import { CommandKind, StartMode } from './catalogue.js';
import type { RegisterCommand } from './catalogue.js';
import { readDefaults, readName, writeDefaults, writeName } from './fields.js';
import { beginCommand, finishCommand } from './header.js';

const CREATE_QUEUE = 1;
const CONFLATION = 2;

export function encodeRegister(tenant: Uint8Array, command: RegisterCommand): Uint8Array {
  const writer = beginCommand(CommandKind.Register, tenant);
  writeName(writer, command.queue);
  writeName(writer, command.group);
  writer.u8((command.createQueue ? CREATE_QUEUE : 0) | (command.conflation ? CONFLATION : 0));
  writer.u8(command.mode);
  writer.u64(command.instant);
  writeDefaults(writer, command.defaults);
  writer.string(command.namespace);
  writer.string(command.task);
  return finishCommand(writer);
}

export function decodeRegister(reader: BinaryReader): RegisterCommand {
  const queue = readName(reader);
  const group = readName(reader);
  const flags = reader.u8();
  const mode = reader.u8();
  if (flags > (CREATE_QUEUE | CONFLATION) || mode > StartMode.Timestamp) {
    throw new DecodeError('register flags or mode out of range', reader.position);
  }
  const instant = micros(reader.u64());
  const defaults = readDefaults(reader);
  const namespace = reader.string();
  const task = reader.string();
  reader.expectEnd();
  return {
    queue,
    group,
    createQueue: (flags & CREATE_QUEUE) !== 0,
    defaults,
    mode,
    instant,
    conflation: (flags & CONFLATION) !== 0,
    namespace,
    task,
  };
}
