/**
 * Forwarded pops, their cancellation and their replies on the wire. Real numbers (time left) are f64
 * and must be finite; texts are UTF-8 with their length as varint.
 *
 *   ticket: varint session | varint sequence
 *   pop:    u8 version = 1 | ticket | f64 remainingMs | bytes tenant | u8 scope | text queue |
 *           text partition | text namespace | text task | text group | varint maxMessages |
 *           varint maxPartitions | f64 leaseSeconds | u8 flags (1 commitOnDelivery, 2 wait) |
 *           u8 start mode | i64 instantMicros | u8 conflation (0 null, 1 false, 2 true) |
 *           u8 autopilot (0 null, else 1 | 2 partitions | 4 batch)
 *   cancel: u8 version = 1 | ticket
 *   reply:  u8 version = 1 | ticket | u8 kind (0 answer, 1 retry, 2 overloaded) |
 *           answer: u8 flags (1 granted, 2 conflation, 4 conflict, 8 autopilot) |
 *                   f64 partitions | f64 batch, both with autopilot only
 */
import { BinaryReader, DecodeError } from '../../common/binary-reader.js';
import type { BinaryWriter } from '../../common/binary-writer.js';
import type { ForwardedPop, PopReply } from '../group/cluster/peer-port.js';

export type PopTicket = ForwardedPop['ticket'];
type PopRequest = ForwardedPop['request'];
type Autopilot = PopRequest['autopilot'];
type DispatchAnswer = Extract<PopReply, { readonly kind: 'answer' }>['answer'];

const VERSION = 1;
const SCOPES: readonly PopRequest['scope'][] = ['queue', 'partition', 'discovery'];
const MODES: readonly PopRequest['intent']['mode'][] = ['all', 'new', 'timestamp'];
const CONFLATION: readonly PopRequest['conflation'][] = [null, false, true];
const REFUSALS: readonly ('retry' | 'overloaded')[] = ['retry', 'overloaded'];

const flag = (bit: number, isSet: boolean): number => (isSet ? bit : 0);

export function writePop(out: BinaryWriter, { ticket, request, remainingMs }: ForwardedPop): void {
  out.u8(VERSION);
  writeTicketFields(out, ticket);
  out.f64(remainingMs);
  out.lengthPrefixed(request.tenant);
  out.u8(SCOPES.indexOf(request.scope));
  out.string(request.queue);
  out.string(request.partition);
  out.string(request.namespace);
  out.string(request.task);
  out.string(request.group);
  out.varint(request.maxMessages);
  out.varint(request.maxPartitions);
  out.f64(request.leaseSeconds);
  out.u8(flag(1, request.commitOnDelivery) | flag(2, request.wait));
  out.u8(MODES.indexOf(request.intent.mode));
  out.i64(request.intent.instantMicros);
  out.u8(CONFLATION.indexOf(request.conflation));
  const { autopilot } = request;
  out.u8(autopilot === null ? 0 : 1 | flag(2, autopilot.partitions) | flag(4, autopilot.batch));
}

export function readPop(body: Uint8Array): ForwardedPop {
  const reader = new BinaryReader(body);
  reader.version(VERSION, 'a pop');
  const ticket = readTicketFields(reader);
  const remainingMs = finite(reader);
  const request = readRequest(reader);
  reader.expectEnd();
  return { ticket, request, remainingMs };
}

function readRequest(reader: BinaryReader): PopRequest {
  const place = {
    tenant: reader.lengthPrefixed(),
    scope: oneOf(SCOPES, reader),
    queue: reader.string(),
    partition: reader.string(),
    namespace: reader.string(),
    task: reader.string(),
    group: reader.string(),
  };
  const bounds = {
    maxMessages: reader.varint(),
    maxPartitions: reader.varint(),
    leaseSeconds: finite(reader),
  };
  const flags = flagsUpTo(3, reader);
  return {
    ...place,
    ...bounds,
    commitOnDelivery: (flags & 1) !== 0,
    wait: (flags & 2) !== 0,
    intent: { mode: oneOf(MODES, reader), instantMicros: reader.i64() },
    conflation: oneOf(CONFLATION, reader),
    autopilot: readAutopilot(reader),
  };
}

function readAutopilot(reader: BinaryReader): Autopilot {
  const flags = flagsUpTo(7, reader);
  if (flags === 0) return null;
  return { partitions: (flags & 2) !== 0, batch: (flags & 4) !== 0 };
}

export function writeTicket(out: BinaryWriter, ticket: PopTicket): void {
  out.u8(VERSION);
  writeTicketFields(out, ticket);
}

export function readTicket(body: Uint8Array): PopTicket {
  const reader = new BinaryReader(body);
  reader.version(VERSION, 'a cancelled pop');
  const ticket = readTicketFields(reader);
  reader.expectEnd();
  return ticket;
}

export function writePopReply(out: BinaryWriter, ticket: PopTicket, reply: PopReply): void {
  writeTicket(out, ticket);
  if (reply.kind === 'refused') return out.u8(1 + REFUSALS.indexOf(reply.code));
  out.u8(0);
  const { granted, conflation, conflationConflict, autopilot } = reply.answer;
  const answer = flag(1, granted) | flag(2, conflation) | flag(4, conflationConflict);
  if (autopilot === null) return out.u8(answer);
  out.u8(answer | 8);
  out.f64(autopilot.partitions);
  out.f64(autopilot.batch);
}

export function readPopReply(body: Uint8Array): { ticket: PopTicket; reply: PopReply } {
  const reader = new BinaryReader(body);
  reader.version(VERSION, 'a reply to a pop');
  const ticket = readTicketFields(reader);
  const kind = reader.u8();
  const code = REFUSALS[kind - 1];
  if (kind > REFUSALS.length) throw new DecodeError('unknown reply', reader.position - 1);
  const reply: PopReply =
    code === undefined ? { kind: 'answer', answer: readAnswer(reader) } : { kind: 'refused', code };
  reader.expectEnd();
  return { ticket, reply };
}

function readAnswer(reader: BinaryReader): DispatchAnswer {
  const flags = flagsUpTo(15, reader);
  const hasAutopilot = (flags & 8) !== 0;
  return {
    granted: (flags & 1) !== 0,
    conflation: (flags & 2) !== 0,
    conflationConflict: (flags & 4) !== 0,
    autopilot: hasAutopilot ? { partitions: finite(reader), batch: finite(reader) } : null,
  };
}

function writeTicketFields(out: BinaryWriter, ticket: PopTicket): void {
  out.varint(ticket.session);
  out.varint(ticket.sequence);
}

function readTicketFields(reader: BinaryReader): PopTicket {
  return { session: reader.varint(), sequence: reader.varint() };
}

function finite(reader: BinaryReader): number {
  const value = reader.f64();
  if (!Number.isFinite(value)) throw new DecodeError('not a finite number', reader.position - 8);
  return value;
}

function flagsUpTo(highest: number, reader: BinaryReader): number {
  const flags = reader.u8();
  if (flags > highest) throw new DecodeError('unknown flags', reader.position - 1);
  return flags;
}

function oneOf<T>(values: readonly T[], reader: BinaryReader): T {
  const code = reader.u8();
  if (code >= values.length) throw new DecodeError('unknown code', reader.position - 1);
  return values[code] as T;
}
