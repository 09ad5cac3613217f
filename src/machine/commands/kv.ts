/**
 * Key-value calls: the planned operations of one call, in the order they are judged (state.md §1.3).
 * Reads are no part of it: the node that was asked renders them from its state at the call's place.
 *
 *   KvCall:    u8 flags(1 the caller reads) | varint n | n x operation
 *   operation: u8 kind | u8 flags(1 required, 2 min, 4 max) | str namespace | str key
 *              | varint expect+1 (0 none) | u64 ttl µs (0 for ever) | bytes value or delta
 *              | [str min] | [str max]
 *   KvSweep:   varint n | n x { u64 expiresAt | u64 version | bytes row key }
 */
import { DecodeError } from '../../common/binary-reader.js';
import type { BinaryReader } from '../../common/binary-reader.js';
import { BinaryWriter } from '../../common/binary-writer.js';
import { isJsonNumber } from '../../common/decimal.js';
import type { Micros } from '../../common/ids.js';
import { readUtf8 } from '../../common/utf8.js';
import { invariant } from '../../common/invariant.js';
import { isKvKey, isKvNamespace } from '../../common/kv-names.js';
import type { KvRow } from '../tables/kv-rows.js';
import { CommandKind } from './catalogue.js';
import { readRowCount, writeRowCount } from './consumer-groups.js';
import { readName, writeName } from './fields.js';
import { beginCommand, finishCommand } from './header.js';
import { NO_TENANT } from './session.js';

/** Never renumber. `putIfAbsent` is a put that expects version 0. */
export enum KvOpKind {
  Put = 1,
  Delete = 2,
  Incr = 3,
  Check = 4,
}

/** An operation without expectation. */
export const NO_EXPECT = -1;
/** Most operations of one call; the edge allows fewer. */
export const MAX_KV_OPERATIONS = 256;

export interface KvPlannedOp {
  readonly kind: KvOpKind;
  readonly namespace: string;
  readonly key: string;
  readonly required: boolean;
  readonly expect: number;
  /** Of puts and increments; 0 = for ever. */
  readonly ttlMicros: number;
  /** Compact JSON of a put, number text of an increment, else empty. */
  readonly value: Uint8Array;
  readonly min: string | null;
  readonly max: string | null;
}

export interface KvCallCommand {
  /** The caller reads at this place: what later commands of the entry change is kept for it. */
  readonly reads: boolean;
  /** In apply order, at most one per key. */
  readonly operations: readonly KvPlannedOp[];
}

export interface KvSweepCommand {
  readonly candidates: readonly KvSweepCandidate[];
}

/** A row of the expiry index. */
export interface KvSweepCandidate {
  readonly expiresAt: number;
  readonly version: number;
  readonly rowKey: Uint8Array;
}

export type KvReason = 'exists' | 'absent' | 'version' | 'limit' | 'type';

export interface KvOpOutcome {
  readonly applied: boolean;
  readonly reason: KvReason | null;
  readonly version: number;
  /** JSON text; null = none. */
  readonly value: Uint8Array | null;
  /** The live row before the call, for reads placed before the operation. */
  readonly before: KvRow | null;
}

/** What a later command of the same entry changed: row key and value before, in order. */
export interface KvChange {
  readonly rowKey: Uint8Array;
  readonly before: Uint8Array | undefined;
}

export interface KvCallOutcome {
  readonly kind: CommandKind.KvCall;
  /** First operation that was required and lost; then nothing was written. -1: none. */
  readonly failed: number;
  readonly results: readonly KvOpOutcome[];
  /** Time of the entry: the instant of the call's reads. */
  readonly now: Micros;
  /** Changes from `laterFrom` on came after the call; empty unless it reads. */
  readonly later: readonly KvChange[];
  readonly laterFrom: number;
}

/** What a rollback of a transaction tells about the operation that lost. */
export interface KvLostOperation {
  /** In apply order. */
  readonly operation: number;
  readonly reason: KvReason;
  readonly version: number;
  readonly value: Uint8Array | null;
}

export interface KvSweepOutcome {
  readonly kind: CommandKind.KvSweep;
  readonly removed: number;
}

const REQUIRED = 1;
const HAS_MIN = 2;
const HAS_MAX = 4;
const OPERATION_LEAST_BYTES = 14;
const CANDIDATE_LEAST_BYTES = 17;
/** Longest number text of a bound; the edge refuses longer ones. */
export const MAX_NUMBER_BYTES = 1024;

export function encodeKvCall(tenant: Uint8Array, command: KvCallCommand): Uint8Array {
  const writer = beginCommand(CommandKind.KvCall, tenant);
  writeKvCall(writer, command);
  return finishCommand(writer);
}

export function decodeKvCall(reader: BinaryReader): KvCallCommand {
  const command = readKvCall(reader);
  reader.expectEnd();
  return command;
}

/** The body alone: a section of a transaction. */
export function encodeKvSection(command: KvCallCommand): Uint8Array {
  const writer = new BinaryWriter();
  writeKvCall(writer, command);
  return writer.toBytes();
}

/** The body of a call, also inside other commands. */
export function writeKvCall(writer: BinaryWriter, { reads, operations }: KvCallCommand): void {
  invariant(operations.length <= MAX_KV_OPERATIONS, 'a call has too many operations');
  writer.boolean(reads);
  writer.varint(operations.length);
  for (const operation of operations) writeOperation(writer, operation);
}

export function readKvCall(reader: BinaryReader): KvCallCommand {
  const reads = reader.boolean();
  const at = reader.position;
  const count = readRowCount(reader, OPERATION_LEAST_BYTES);
  if (count > MAX_KV_OPERATIONS) throw new DecodeError('a call has too many operations', at);
  const operations = Array.from({ length: count }, () => readOperation(reader));
  return { reads, operations };
}

export function encodeKvSweep(command: KvSweepCommand): Uint8Array {
  const writer = beginCommand(CommandKind.KvSweep, NO_TENANT);
  writeRowCount(writer, command.candidates.length);
  for (const { expiresAt, version, rowKey } of command.candidates) {
    writer.u64(expiresAt);
    writer.u64(version);
    writer.lengthPrefixed(rowKey);
  }
  return finishCommand(writer);
}

export function decodeKvSweep(reader: BinaryReader): KvSweepCommand {
  const count = readRowCount(reader, CANDIDATE_LEAST_BYTES);
  const candidates = Array.from({ length: count }, () => ({
    expiresAt: reader.u64(),
    version: reader.u64(),
    rowKey: reader.lengthPrefixed(),
  }));
  reader.expectEnd();
  return { candidates };
}

function writeOperation(writer: BinaryWriter, operation: KvPlannedOp): void {
  const { required, min, max } = operation;
  writer.u8(operation.kind);
  writer.u8(
    (required ? REQUIRED : 0) | (min === null ? 0 : HAS_MIN) | (max === null ? 0 : HAS_MAX),
  );
  writeName(writer, operation.namespace);
  writeName(writer, operation.key);
  writer.varint(operation.expect + 1);
  writer.u64(operation.ttlMicros);
  writer.lengthPrefixed(operation.value);
  if (min !== null) writer.string(min);
  if (max !== null) writer.string(max);
}

function readOperation(reader: BinaryReader): KvPlannedOp {
  const kind = opKind(reader);
  const flags = reader.u8();
  const nameAt = reader.position;
  const namespace = readName(reader);
  const key = readName(reader);
  if (!isKvNamespace(namespace) || !isKvKey(key)) throw new DecodeError('bad kv name', nameAt);
  const expect = reader.varint() - 1;
  const ttlMicros = reader.u64();
  const at = reader.position;
  const value = reader.lengthPrefixed();
  if (kind === KvOpKind.Incr) checkNumber(readUtf8(value, 0, value.length), at);
  const min = (flags & HAS_MIN) === 0 ? null : readNumber(reader);
  const max = (flags & HAS_MAX) === 0 ? null : readNumber(reader);
  const required = (flags & REQUIRED) !== 0;
  return { kind, namespace, key, required, expect, ttlMicros, value, min, max };
}

function opKind(reader: BinaryReader): KvOpKind {
  const at = reader.position;
  const kind = reader.u8();
  if (kind < KvOpKind.Put || kind > KvOpKind.Check) throw new DecodeError('unknown operation', at);
  return kind;
}

function readNumber(reader: BinaryReader): string {
  const at = reader.position;
  const text = reader.string();
  checkNumber(text, at);
  return text;
}

function checkNumber(text: string, at: number): void {
  if (text.length > MAX_NUMBER_BYTES || !isJsonNumber(text)) {
    throw new DecodeError('not a number', at);
  }
}
