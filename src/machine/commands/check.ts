/**
 * The check before the log: a command that passes here decodes at apply on every node of this
 * version. Run it on anything that comes from a peer before it is appended; a command that does not
 * decode inside a committed entry would stop every node.
 */
import { BinaryReader, DecodeError } from '../../common/binary-reader.js';
import { unreachable } from '../../common/invariant.js';
import { COMMAND_HEADER, CommandKind } from './catalogue.js';
import type { CommandHeader } from './catalogue.js';
import { decodeAck, decodeExtend } from './ack.js';
import { decodeClaim, decodeUnclaim } from './claim.js';
import {
  decodeDeleteCursors,
  decodeSeekCursors,
  decodeUpdateSubscription,
} from './consumer-groups.js';
import { decodePurgeTenant, decodeSetQuota, decodeSetSwitches } from './controls.js';
import { decodeRemoveDeadLetters, decodeReplayDeadLetter } from './dead-letters.js';
import { decodeDeclareEphemeral, decodeDropEphemeral } from './ephemeral.js';
import { decodeBindEncryptionKey } from './encryption.js';
import { readCommandHeader } from './header.js';
import { decodeKvCall, decodeKvSweep } from './kv.js';
import { checkPushBody } from './push-view.js';
import { decodeConfigure, decodeDeleteQueue } from './queue.js';
import { decodeRegister } from './register.js';
import { decodeDropPartitions, decodeSealCursors, decodeTrimPartitions } from './retention.js';
import { decodeForgetNode, decodeOpenSession, decodeRaiseVersion } from './session.js';
import { decodeRegisterStream, decodeStreamCycle } from './streams.js';
import { checkTimerOps } from './timer-check.js';
import { decodeFailTimers, decodeFireTimers } from './timers.js';
import { decodeAppendTrace, decodeSweepTraces } from './traces.js';
import { checkTransactionBody } from './transaction.js';

/** Decodes the whole command in bytes[start, end); throws DecodeError, returns its header. */
export function checkCommand(
  bytes: Uint8Array,
  start = 0,
  end: number = bytes.length,
): CommandHeader {
  const header = readCommandHeader(bytes, start, end);
  const bodyAt = start + COMMAND_HEADER.body;
  if (header.kind === CommandKind.Push) {
    checkPushBody(bytes, bodyAt, end);
  } else if (header.kind === CommandKind.ReplayDeadLetter) {
    const reader = new BinaryReader(bytes, bodyAt, end);
    decodeReplayDeadLetter(reader);
    const { groups, messages } = checkPushBody(bytes, reader.position, end);
    if (groups !== 1 || messages !== 1) {
      throw new DecodeError('a replay pushes one message', bodyAt);
    }
  } else if (header.kind === CommandKind.FireTimers) {
    checkFire(bytes, bodyAt, end);
  } else if (header.kind === CommandKind.StreamCycle) {
    const reader = new BinaryReader(bytes, bodyAt, end);
    decodeStreamCycle(reader);
    checkPushBody(bytes, reader.position, end);
  } else if (header.kind === CommandKind.Timers) {
    checkTimerOps(bytes, bodyAt, end);
  } else if (header.kind === CommandKind.Transaction) {
    checkTransactionBody(bytes, bodyAt, end);
  } else {
    decodeBody(header.kind, new BinaryReader(bytes, bodyAt, end));
  }
  return header;
}

function checkFire(bytes: Uint8Array, start: number, end: number): void {
  const reader = new BinaryReader(bytes, start, end);
  const { timers } = decodeFireTimers(reader);
  const { messages } = checkPushBody(bytes, reader.position, end);
  if (messages !== timers.length) throw new DecodeError('a fire brings one message a timer', start);
}

type DecodedKind = Exclude<
  CommandKind,
  | CommandKind.Push
  | CommandKind.ReplayDeadLetter
  | CommandKind.Timers
  | CommandKind.FireTimers
  | CommandKind.StreamCycle
  | CommandKind.Transaction
>;

function decodeBody(kind: DecodedKind, reader: BinaryReader): unknown {
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
    case CommandKind.ForgetNode:
      return decodeForgetNode(reader);
    case CommandKind.SeekCursors:
      return decodeSeekCursors(reader);
    case CommandKind.DeleteCursors:
      return decodeDeleteCursors(reader);
    case CommandKind.UpdateSubscription:
      return decodeUpdateSubscription(reader);
    case CommandKind.RemoveDeadLetters:
      return decodeRemoveDeadLetters(reader);
    case CommandKind.DeclareEphemeral:
      return decodeDeclareEphemeral(reader);
    case CommandKind.DropEphemeral:
      return decodeDropEphemeral(reader);
    case CommandKind.RegisterStream:
      return decodeRegisterStream(reader);
    case CommandKind.FailTimers:
      return decodeFailTimers(reader);
    case CommandKind.TrimPartitions:
      return decodeTrimPartitions(reader);
    case CommandKind.DropPartitions:
      return decodeDropPartitions(reader);
    case CommandKind.SealCursors:
      return decodeSealCursors(reader);
    case CommandKind.AppendTrace:
      return decodeAppendTrace(reader);
    case CommandKind.SweepTraces:
      return decodeSweepTraces(reader);
    case CommandKind.BindEncryptionKey:
      return decodeBindEncryptionKey(reader);
    case CommandKind.KvCall:
      return decodeKvCall(reader);
    case CommandKind.KvSweep:
      return decodeKvSweep(reader);
    case CommandKind.SetSwitches:
      return decodeSetSwitches(reader);
    case CommandKind.SetQuota:
      return decodeSetQuota(reader);
    case CommandKind.PurgeTenant:
      return decodePurgeTenant(reader);
    default:
      return unreachable(kind, 'command kind');
  }
}
