/**
 * Bodies of OpenSession, RaiseVersion and ForgetNode.
 *
 *   OpenSession:  u32 nodeId | 16B directoryId | u32 bootCount
 *   RaiseVersion: u8 version
 *   ForgetNode:   u32 nodeId | u48 session
 */
import type { BinaryReader } from '../../common/binary-reader.js';
import { CommandKind } from './catalogue.js';
import type { ForgetNodeCommand, OpenSessionCommand, RaiseVersionCommand } from './catalogue.js';
import { readId, writeId } from './fields.js';
import { beginCommand, finishCommand, TENANT_BYTES } from './header.js';

/** Commands of the cluster itself carry the all-zero tenant. */
export const NO_TENANT = new Uint8Array(TENANT_BYTES);

export function encodeOpenSession(command: OpenSessionCommand): Uint8Array {
  const writer = beginCommand(CommandKind.OpenSession, NO_TENANT);
  writer.u32(command.nodeId);
  writeId(writer, command.directoryId);
  writer.u32(command.bootCount);
  return finishCommand(writer);
}

export function decodeOpenSession(reader: BinaryReader): OpenSessionCommand {
  const nodeId = reader.u32();
  const directoryId = readId(reader);
  const bootCount = reader.u32();
  reader.expectEnd();
  return { nodeId, directoryId, bootCount };
}

export function encodeRaiseVersion(command: RaiseVersionCommand): Uint8Array {
  const writer = beginCommand(CommandKind.RaiseVersion, NO_TENANT);
  writer.u8(command.version);
  return finishCommand(writer);
}

export function decodeRaiseVersion(reader: BinaryReader): RaiseVersionCommand {
  const version = reader.u8();
  reader.expectEnd();
  return { version };
}

export function encodeForgetNode(command: ForgetNodeCommand): Uint8Array {
  const writer = beginCommand(CommandKind.ForgetNode, NO_TENANT);
  writer.u32(command.nodeId);
  writer.u48(command.session);
  return finishCommand(writer);
}

export function decodeForgetNode(reader: BinaryReader): ForgetNodeCommand {
  const nodeId = reader.u32();
  const session = reader.u48();
  reader.expectEnd();
  return { nodeId, session };
}
