/**
 * Body of Register.
 *
 *   str queue | str group | u8 flags (bit0 createQueue, bit1 conflation, bit2 contact) | u8 mode
 *   | u64 instant µs | i32 leaseTime | i32 retryLimit | i32 dedupWindowSeconds | str namespace
 *   | str task | [flags&4: str partition]
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
const CONTACT = 4;
const ALL_FLAGS = CREATE_QUEUE | CONFLATION | CONTACT;

export function encodeRegister(tenant: Uint8Array, command: RegisterCommand): Uint8Array {
  const writer = beginCommand(CommandKind.Register, tenant);
  writeName(writer, command.queue);
  writeName(writer, command.group);
  writer.u8(flagsOf(command));
  writer.u8(command.mode);
  writer.u64(command.instant);
  writeDefaults(writer, command.defaults);
  writer.string(command.namespace);
  writer.string(command.task);
  if (command.contact !== null) writeName(writer, command.contact);
  return finishCommand(writer);
}

function flagsOf({ createQueue, conflation, contact }: RegisterCommand): number {
  return (
    (createQueue ? CREATE_QUEUE : 0) |
    (conflation ? CONFLATION : 0) |
    (contact === null ? 0 : CONTACT)
  );
}

export function decodeRegister(reader: BinaryReader): RegisterCommand {
  const queue = readName(reader);
  const group = readName(reader);
  const flags = reader.u8();
  const mode = reader.u8();
  if (flags > ALL_FLAGS || mode > StartMode.Timestamp) {
    throw new DecodeError('register flags or mode out of range', reader.position);
  }
  const instant = micros(reader.u64());
  const defaults = readDefaults(reader);
  const namespace = reader.string();
  const task = reader.string();
  const contact = (flags & CONTACT) === 0 ? null : readName(reader);
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
    contact,
  };
}
