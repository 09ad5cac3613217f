/**
 * Commands of the streams plane (state.md §4). A cycle is one entry: messages to sinks, the positional
 * acknowledgement of a source batch and state rows, all or none.
 *
 *   RegisterStream: 16B queryId | name name | str source | u8 hasSink [str sink] | str configHash
 *                   | u8 flags (1 reset, 2 needs a grant)
 *   StreamCycle:    16B queryId | u48 partition | u8 hasAck [name group | u8 hasLease [16B leaseId]
 *                   | u8 flags (1 completed, 2 release) | u32 count]
 *                   | varint n | n x { u8 kind (0 upsert, 1 delete) | str key | [upsert: bytes value] }
 *                   | push body
 */
import { DecodeError } from '../../common/binary-reader.js';
import type { BinaryReader } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import { invariant } from '../../common/invariant.js';
import { partitionId } from '../../common/ids.js';
import type { PartitionId } from '../../common/ids.js';
import { COMMAND_HEADER, CommandKind } from './catalogue.js';
import type { PushGroupOutcome } from './catalogue.js';
import { readCount, readId, readName, readOptionalId, readOptionalText } from './fields.js';
import { writeId, writeName, writeOptionalId, writeOptionalText } from './fields.js';
import { beginCommand, finishCommand } from './header.js';

/** Bound of the format. The edge refuses longer keys. */
export const MAX_STATE_KEY_BYTES = 1024;
const OP_LEAST_BYTES = 2;
const REGISTER_RESET = 1;
const REGISTER_NEEDS_GRANT = 2;
const ACK_COMPLETED = 1;
const ACK_RELEASE = 2;

const enum OpKind {
  Upsert = 0,
  Delete = 1,
}

export interface RegisterStreamCommand {
  /** Minted; the id of a query that is new. */
  readonly queryId: Uint8Array;
  readonly name: string;
  readonly sourceQueue: string;
  readonly sinkQueue: string | null;
  readonly configHash: string;
  readonly reset: boolean;
  /** The tenant is not the default one: a new query needs an enabled grant. */
  readonly needsGrant: boolean;
}

/** `value` null = delete; else compact JSON. */
export interface StateOp {
  readonly key: string;
  readonly value: Uint8Array | null;
}

/** Acknowledges by position what a lease holds. */
export interface CycleAck {
  readonly group: string;
  /** Empty matches no lease. */
  readonly leaseId: Uint8Array;
  readonly completed: boolean;
  readonly release: boolean;
  readonly count: number;
}

export interface StreamCycleCommand {
  readonly queryId: Uint8Array;
  readonly partitionId: PartitionId;
  /** Null: an idle flush. */
  readonly ack: CycleAck | null;
  readonly stateOps: readonly StateOp[];
}

/** 'denied': no grant; 'full': as many queries as the tenant may have; 'mismatch': another hash. */
export interface RegisterStreamOutcome {
  readonly kind: CommandKind.RegisterStream;
  readonly verdict: 'fresh' | 'known' | 'reset' | 'mismatch' | 'denied' | 'full';
  /** Of the stored query; null when it was refused as a new one. */
  readonly queryId: Uint8Array | null;
}

export interface CycleAckOutcome {
  readonly count: number;
  readonly leaseReleased: boolean;
}

/** Only 'applied' changed anything. */
export interface StreamCycleOutcome {
  readonly kind: CommandKind.StreamCycle;
  readonly verdict:
    'applied' | 'no_query' | 'no_partition' | 'rejected_ack' | 'duplicate' | 'reprepare';
  /** Why, for people. */
  readonly text: string;
  readonly pushes: readonly PushGroupOutcome[];
  readonly ack: CycleAckOutcome | null;
}

export function encodeRegisterStream(
  tenant: Uint8Array,
  command: RegisterStreamCommand,
): Uint8Array {
  const writer = beginCommand(CommandKind.RegisterStream, tenant);
  writeId(writer, command.queryId);
  writeName(writer, command.name);
  writeName(writer, command.sourceQueue);
  writeOptionalText(writer, command.sinkQueue);
  writer.string(command.configHash);
  const grant = command.needsGrant ? REGISTER_NEEDS_GRANT : 0;
  writer.u8((command.reset ? REGISTER_RESET : 0) | grant);
  return finishCommand(writer);
}

export function decodeRegisterStream(reader: BinaryReader): RegisterStreamCommand {
  const queryId = readId(reader);
  const name = readName(reader);
  const sourceQueue = readName(reader);
  const sinkQueue = readOptionalText(reader);
  const configHash = reader.string();
  const flags = reader.u8();
  reader.expectEnd();
  const reset = (flags & REGISTER_RESET) !== 0;
  const needsGrant = (flags & REGISTER_NEEDS_GRANT) !== 0;
  return { queryId, name, sourceQueue, sinkQueue, configHash, reset, needsGrant };
}

/** `push`: a whole push command of the sinks' messages; its body is copied. */
export function encodeStreamCycle(
  tenant: Uint8Array,
  command: StreamCycleCommand,
  push: Uint8Array,
): Uint8Array {
  const writer = beginCommand(CommandKind.StreamCycle, tenant);
  writeId(writer, command.queryId);
  writer.u48(command.partitionId);
  writer.boolean(command.ack !== null);
  if (command.ack !== null) writeAck(writer, command.ack);
  writer.varint(command.stateOps.length);
  for (const op of command.stateOps) {
    writer.u8(op.value === null ? OpKind.Delete : OpKind.Upsert);
    writeStateKey(writer, op.key);
    if (op.value !== null) writer.lengthPrefixed(op.value);
  }
  writer.rawRange(push, COMMAND_HEADER.body, push.length);
  return finishCommand(writer);
}

/** Leaves the reader at the push body. Values are slices of the command. */
export function decodeStreamCycle(reader: BinaryReader): StreamCycleCommand {
  const queryId = readId(reader);
  const partition = partitionId(reader.u48());
  const ack = reader.boolean() ? readAck(reader) : null;
  const count = readCount(reader, OP_LEAST_BYTES);
  const stateOps = Array.from({ length: count }, () => readStateOp(reader));
  return { queryId, partitionId: partition, ack, stateOps };
}

function writeAck(writer: BinaryWriter, ack: CycleAck): void {
  writeName(writer, ack.group);
  writeOptionalId(writer, ack.leaseId);
  writer.u8((ack.completed ? ACK_COMPLETED : 0) | (ack.release ? ACK_RELEASE : 0));
  writer.u32(ack.count);
}

function readAck(reader: BinaryReader): CycleAck {
  const group = readName(reader);
  const leaseId = readOptionalId(reader);
  const flags = reader.u8();
  const completed = (flags & ACK_COMPLETED) !== 0;
  return { group, leaseId, completed, release: (flags & ACK_RELEASE) !== 0, count: reader.u32() };
}

function readStateOp(reader: BinaryReader): StateOp {
  const at = reader.position;
  const kind = reader.u8();
  if (kind > OpKind.Delete) throw new DecodeError('unknown state operation', at);
  const key = readStateKey(reader);
  return { key, value: kind === OpKind.Delete ? null : reader.lengthPrefixed() };
}

function writeStateKey(writer: BinaryWriter, key: string): void {
  const before = writer.length;
  writer.string(key);
  invariant(writer.length - before <= MAX_STATE_KEY_BYTES + 2, 'a state key is over the format');
}

function readStateKey(reader: BinaryReader): string {
  const at = reader.position;
  const key = reader.string();
  if (reader.position - at > MAX_STATE_KEY_BYTES + 2) {
    throw new DecodeError('state key too long', at);
  }
  return key;
}
