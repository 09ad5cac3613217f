/**
 * The check before the log: a command that passes here decodes at apply on every node of this
 * version. Run it on anything that comes from a peer before it is appended; a command that does not
 * decode inside a committed entry would stop every node.
 */
import { BinaryReader } from '../../common/binary-reader.js';
import { unreachable } from '../../common/invariant.js';
import { COMMAND_HEADER, CommandKind } from './catalogue.js';
import type { CommandHeader } from './catalogue.js';
import { decodeAck, decodeExtend } from './ack.js';
import { decodeClaim, decodeUnclaim } from './claim.js';
import { readCommandHeader } from './header.js';
import { PushBodyView } from './push-view.js';
import { decodeConfigure, decodeDeleteQueue } from './queue.js';
import { decodeRegister } from './register.js';
import { decodeOpenSession, decodeRaiseVersion } from './session.js';

const view = new PushBodyView();

/** Decodes the whole command in bytes[start, end); throws DecodeError, returns its header. */
export function checkCommand(
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
): CommandHeader {
  const header = readCommandHeader(bytes, start, end);
  const bodyAt = start + COMMAND_HEADER.body;
  if (header.kind === CommandKind.Push) {
    view.open(bytes, bodyAt, end);
    while (view.nextGroup()) view.checkRecordPieces();
  } else {
    decodeBody(header.kind, new BinaryReader(bytes, bodyAt, end));
  }
  return header;
}

function decodeBody(kind: Exclude<CommandKind, CommandKind.Push>, reader: BinaryReader): unknown {
  switch (kind) {
    case CommandKind.OpenSession:
      return decodeOpenSession(reader);
    case CommandKind.Register:
      return decodeRegister(reader);
    case CommandKind.Claim:
      return decodeClaim(reader);
    case CommandKind.Unclaim:
      return decodeUnclaim(reader);
    case CommandKind.Ack:
      return decodeAck(reader);
    case CommandKind.Extend:
      return decodeExtend(reader);
    case CommandKind.Configure:
      return decodeConfigure(reader);
    case CommandKind.DeleteQueue:
      return decodeDeleteQueue(reader);
    case CommandKind.RaiseVersion:
      return decodeRaiseVersion(reader);
    default:
      return unreachable(kind, 'command kind');
  }
}
