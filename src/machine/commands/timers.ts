/**
 * Commands of the timer plane (state.md §2). A schedule carries its message as the body of a push
 * command with one group of one message, ready to be appended when it is due; a fire names exact
 * timers with the due instants that were seen, and brings their messages the same way.
 *
 *   Timers:     varint n | n x op
 *     op:       u8 kind | name queue | str timerKey
 *               | [schedule: i64 delay µs | u32 length | push body (one group, one message)]
 *   FireTimers: rules | varint n | n x { str timerKey | u64 due µs | 16B deadLetterId } | push body
 *   FailTimers: rules | defaults | varint n | n x { name queue | str timerKey | 16B messageId | u64 due µs
 *               | 16B deadLetterId | str code | str text }
 *     rules:    u64 transient µs | u64 backoffMin µs | u64 backoffMax µs | u32 maxAttempts
 *
 * The n timers of a fire are the messages of its push body, in order.
 */
import { DecodeError } from '../../common/binary-reader.js';
import type { BinaryReader } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import { invariant } from '../../common/invariant.js';
import { COMMAND_HEADER, CommandKind } from './catalogue.js';
import type { ImplicitDefaults } from './catalogue.js';
import { ID_BYTES, readCount, readDefaults, readId, readName } from './fields.js';
import { writeDefaults, writeId, writeName } from './fields.js';
import { beginCommand, finishCommand } from './header.js';

/** Bound of the format; the edge refuses longer keys (see `MAX_TIMER_KEY_BYTES` there). */
const MAX_KEY_BYTES = 1024;
const OP_LEAST_BYTES = 3;
const FIRED_LEAST_BYTES = 1 + 8 + ID_BYTES;
const FAILED_LEAST_BYTES = 4 + 8 + 2 * ID_BYTES;

const enum OpKind {
  Schedule = 0,
  Cancel = 1,
}

/** `push`: a whole push command of one group with one message; its body is copied. */
export type TimerOpInput =
  | {
      readonly op: 'schedule';
      readonly queue: string;
      readonly timerKey: string;
      /** Integer; zero and negative are due at once. */
      readonly delayMicros: number;
      readonly push: Uint8Array;
    }
  | { readonly op: 'cancel'; readonly queue: string; readonly timerKey: string };

/** An operation as it stands in its command. */
export interface TimerOp {
  readonly op: 'schedule' | 'cancel';
  readonly queue: string;
  readonly timerKey: string;
  readonly delayMicros: number;
  /** Range of the push body in the command's bytes; 0, 0 for a cancel. */
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

/** What a push that is refused does to its timer. */
export interface FailureRules {
  readonly transientMicros: number;
  readonly backoffMinMicros: number;
  readonly backoffMaxMicros: number;
  readonly maxAttempts: number;
}

/** A timer the sweeper saw due, without its queue and message: those stand in the push body. */
export interface FiredTimer {
  readonly timerKey: string;
  readonly due: number;
  readonly deadLetterId: Uint8Array;
}

export interface FireTimersCommand {
  readonly rules: FailureRules;
  readonly timers: readonly FiredTimer[];
}

/** A due timer whose message could not be put into a command. */
export interface FailedTimer extends FiredTimer {
  readonly queue: string;
  readonly messageId: Uint8Array;
  /** A code of the error table; what it stands for decides whether it may pass. */
  readonly code: string;
  readonly text: string;
}

export interface FailTimersCommand {
  readonly rules: FailureRules;
  /** Of a queue that springs into being for a dead letter. */
  readonly defaults: ImplicitDefaults;
  readonly timers: readonly FailedTimer[];
}

export interface TimerResult {
  readonly status: 'scheduled' | 'rescheduled' | 'cancelled' | 'absent';
  /** µs; 0 unless (re)scheduled. */
  readonly deliverAt: number;
  /** UTF-8 of the removed timer's transactionId; null unless cancelled. */
  readonly transactionId: Uint8Array | null;
}

/** 'reprepare': a queue's encryption changed since the command was prepared; nothing was written. */
export interface TimersOutcome {
  readonly kind: CommandKind.Timers;
  readonly verdict: 'applied' | 'reprepare';
  readonly results: readonly TimerResult[];
}

export interface FireTimersOutcome {
  readonly kind: CommandKind.FireTimers;
  readonly fired: number;
  /** Their message was in the destination's dedup window already. */
  readonly duplicates: number;
  /** Gone, moved, or not due yet: untouched. */
  readonly skipped: number;
  readonly failed: number;
  readonly deadLettered: number;
}

export interface FailTimersOutcome {
  readonly kind: CommandKind.FailTimers;
  readonly skipped: number;
  readonly failed: number;
  readonly deadLettered: number;
}

export function encodeTimers(tenant: Uint8Array, ops: readonly TimerOpInput[]): Uint8Array {
  const writer = beginCommand(CommandKind.Timers, tenant);
  writeTimerOps(writer, ops);
  return finishCommand(writer);
}

/** The operations alone, for commands that carry them beside others. */
export function writeTimerOps(writer: BinaryWriter, ops: readonly TimerOpInput[]): void {
  writer.varint(ops.length);
  for (const op of ops) {
    writer.u8(op.op === 'schedule' ? OpKind.Schedule : OpKind.Cancel);
    writeName(writer, op.queue);
    writeKey(writer, op.timerKey);
    if (op.op !== 'schedule') continue;
    writer.i64(op.delayMicros);
    writer.u32(op.push.length - COMMAND_HEADER.body);
    writer.rawRange(op.push, COMMAND_HEADER.body, op.push.length);
  }
}

export function decodeTimers(reader: BinaryReader): TimerOp[] {
  const ops = readTimerOps(reader);
  reader.expectEnd();
  return ops;
}

export function readTimerOps(reader: BinaryReader): TimerOp[] {
  const count = readCount(reader, OP_LEAST_BYTES);
  return Array.from({ length: count }, () => readOp(reader));
}

export function encodeFireTimers(
  tenant: Uint8Array,
  command: FireTimersCommand,
  push: Uint8Array,
): Uint8Array {
  const writer = beginCommand(CommandKind.FireTimers, tenant);
  writeRules(writer, command.rules);
  writer.varint(command.timers.length);
  for (const timer of command.timers) writeFired(writer, timer);
  writer.rawRange(push, COMMAND_HEADER.body, push.length);
  return finishCommand(writer);
}

/** Leaves the reader at the push body. */
export function decodeFireTimers(reader: BinaryReader): FireTimersCommand {
  const rules = readRules(reader);
  const count = readCount(reader, FIRED_LEAST_BYTES);
  return { rules, timers: Array.from({ length: count }, () => readFired(reader)) };
}

export function encodeFailTimers(tenant: Uint8Array, command: FailTimersCommand): Uint8Array {
  const writer = beginCommand(CommandKind.FailTimers, tenant);
  writeRules(writer, command.rules);
  writeDefaults(writer, command.defaults);
  writer.varint(command.timers.length);
  for (const timer of command.timers) {
    writeName(writer, timer.queue);
    writeFired(writer, timer);
    writeId(writer, timer.messageId);
    writer.string(timer.code);
    writer.string(timer.text);
  }
  return finishCommand(writer);
}

export function decodeFailTimers(reader: BinaryReader): FailTimersCommand {
  const rules = readRules(reader);
  const defaults = readDefaults(reader);
  const count = readCount(reader, FAILED_LEAST_BYTES);
  const timers = Array.from({ length: count }, (): FailedTimer => {
    const queue = readName(reader);
    const fired = readFired(reader);
    const messageId = readId(reader);
    const code = reader.string();
    return { queue, ...fired, messageId, code, text: reader.string() };
  });
  reader.expectEnd();
  return { rules, defaults, timers };
}

function readOp(reader: BinaryReader): TimerOp {
  const at = reader.position;
  const kind = reader.u8();
  if (kind > OpKind.Cancel) throw new DecodeError('unknown timer operation', at);
  const queue = readName(reader);
  const timerKey = readKey(reader);
  if (kind === OpKind.Cancel) {
    return { op: 'cancel', queue, timerKey, delayMicros: 0, bodyStart: 0, bodyEnd: 0 };
  }
  const delayMicros = reader.i64();
  const length = reader.u32();
  const bodyStart = reader.skip(length);
  return { op: 'schedule', queue, timerKey, delayMicros, bodyStart, bodyEnd: bodyStart + length };
}

function writeFired(writer: BinaryWriter, timer: FiredTimer): void {
  writeKey(writer, timer.timerKey);
  writer.u64(timer.due);
  writeId(writer, timer.deadLetterId);
}

function readFired(reader: BinaryReader): FiredTimer {
  const timerKey = readKey(reader);
  const due = reader.u64();
  return { timerKey, due, deadLetterId: readId(reader) };
}

function writeRules(writer: BinaryWriter, rules: FailureRules): void {
  writer.u64(rules.transientMicros);
  writer.u64(rules.backoffMinMicros);
  writer.u64(rules.backoffMaxMicros);
  writer.u32(rules.maxAttempts);
}

function readRules(reader: BinaryReader): FailureRules {
  const transientMicros = reader.u64();
  const backoffMinMicros = reader.u64();
  const backoffMaxMicros = reader.u64();
  return { transientMicros, backoffMinMicros, backoffMaxMicros, maxAttempts: reader.u32() };
}

function writeKey(writer: BinaryWriter, timerKey: string): void {
  const before = writer.length;
  writer.string(timerKey);
  invariant(writer.length - before <= MAX_KEY_BYTES + 2, 'a timer key is over the format');
}

function readKey(reader: BinaryReader): string {
  const at = reader.position;
  const timerKey = reader.string();
  if (reader.position - at > MAX_KEY_BYTES + 2) throw new DecodeError('timer key too long', at);
  return timerKey;
}
