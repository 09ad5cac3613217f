/**
 * Rings on their way to another node, in pieces: a stretch of messages with what every group thinks of
 * them. Pieces of one ring compose when they are taken over in order. Times travel as ages, so clocks need
 * not agree; a lease ends with the move and its message comes back with the attempts it had.
 *
 *   batch  u8 version=1 | u32 pieces | piece*
 *   piece  u48 number | str queue | str partition | u8 isFirst | u32 messages | { u32 ageMs | u32 length | payload }*
 *          | u32 groups | { str group | u32 skipped | u32 marks
 *                           | { u32 message | u8 state | u16 attempts }* }*
 *
 * A group's marks say which messages of the piece it has passed or gets again; the others are unread.
 */
import { BinaryReader, DecodeError } from '../../common/binary-reader.js';
import { BinaryWriter } from '../../common/binary-writer.js';
import { BACK, DONE, LEASED, UNREAD, type GroupCursor } from '../rings/group-cursor.js';
import type { Ring } from '../rings/ring.js';

const VERSION = 1;
const MAX_AGE_MS = 0xffff_ffff;

export interface PieceMark {
  readonly message: number;
  readonly state: typeof BACK | typeof DONE;
  readonly attempts: number;
}

export interface PieceGroup {
  readonly group: string;
  readonly skipped: number;
  /** Marked messages, ascending; the others are unread. */
  readonly marks: readonly PieceMark[];
}

export interface RingPiece {
  /** Unique for its sender: a piece sent twice is taken once. */
  readonly number: number;
  readonly queue: string;
  readonly partition: string;
  /** Carries the groups' counts; later pieces of the ring do not. */
  readonly isFirst: boolean;
  readonly agesMs: readonly number[];
  readonly payloads: readonly Uint8Array[];
  readonly payloadBytes: number;
  readonly groups: readonly PieceGroup[];
}

export interface Cut {
  /** Sequences [from, to). */
  readonly from: number;
  readonly to: number;
  readonly number: number;
  readonly nowMs: number;
}

export function cutPiece(ring: Ring, { from, to, number, nowMs }: Cut): RingPiece {
  const agesMs: number[] = [];
  const payloads: Uint8Array[] = [];
  let payloadBytes = 0;
  for (let sequence = from; sequence < to; sequence += 1) {
    agesMs.push(Math.min(MAX_AGE_MS, Math.max(0, Math.round(nowMs - ring.timeOf(sequence)))));
    const payload = ring.payloadOf(sequence);
    payloads.push(payload);
    payloadBytes += payload.length;
  }
  const isFirst = from === ring.first;
  return {
    number,
    ...{ queue: ring.queue.name, partition: ring.partition, isFirst, agesMs, payloads },
    payloadBytes,
    groups: [...ring.cursors.values()].map((cursor) => cutGroup(cursor, from, to)),
  };
}

function cutGroup(cursor: GroupCursor, from: number, to: number): PieceGroup {
  const marks: PieceMark[] = [];
  for (let sequence = from; sequence < to; sequence += 1) {
    const state = cursor.stateOf(sequence);
    if (state === UNREAD) continue;
    const comesBack = state === LEASED || state === BACK;
    marks.push({
      message: sequence - from,
      state: comesBack ? BACK : DONE,
      attempts: comesBack ? cursor.attemptsOf(sequence) : 0,
    });
  }
  const isFirst = from === cursor.ring.first;
  return { group: cursor.group, skipped: isFirst ? cursor.skipped : 0, marks };
}

/** Bytes of one piece; `joinPieces` makes a batch of them. */
export function encodePiece(piece: RingPiece): Uint8Array {
  const writer = new BinaryWriter(piece.payloadBytes + 8 * piece.payloads.length + 512);
  writePiece(writer, piece);
  return writer.toBytes();
}

export function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  const writer = new BinaryWriter(pieces.reduce((sum, piece) => sum + piece.length, 16));
  writer.u8(VERSION);
  writer.u32(pieces.length);
  for (const piece of pieces) writer.raw(piece);
  return writer.toBytes();
}

function writePiece(writer: BinaryWriter, piece: RingPiece): void {
  writer.u48(piece.number);
  writer.string(piece.queue);
  writer.string(piece.partition);
  writer.boolean(piece.isFirst);
  writer.u32(piece.payloads.length);
  piece.payloads.forEach((payload, i) => {
    writer.u32(piece.agesMs[i] ?? 0);
    writer.u32(payload.length);
    writer.raw(payload);
  });
  writer.u32(piece.groups.length);
  for (const { group, skipped, marks } of piece.groups) {
    writer.string(group);
    writer.u32(Math.min(0xffff_ffff, skipped));
    writer.u32(marks.length);
    for (const mark of marks) {
      writer.u32(mark.message);
      writer.u8(mark.state);
      writer.u16(mark.attempts);
    }
  }
}

/** Throws DecodeError. Payloads are slices of `bytes`. */
export function decodePieces(bytes: Uint8Array): RingPiece[] {
  const reader = new BinaryReader(bytes);
  reader.version(VERSION, 'rings of another node');
  const count = reader.u32();
  const pieces: RingPiece[] = [];
  for (let i = 0; i < count; i += 1) pieces.push(readPiece(reader));
  reader.expectEnd();
  return pieces;
}

function readPiece(reader: BinaryReader): RingPiece {
  const number = reader.u48();
  const queue = reader.string();
  const partition = reader.string();
  const isFirst = reader.boolean();
  const count = reader.u32();
  const agesMs: number[] = [];
  const payloads: Uint8Array[] = [];
  let payloadBytes = 0;
  for (let i = 0; i < count; i += 1) {
    agesMs.push(reader.u32());
    const payload = reader.raw(reader.u32());
    payloads.push(payload);
    payloadBytes += payload.length;
  }
  const groups: PieceGroup[] = [];
  const known = reader.u32();
  for (let i = 0; i < known; i += 1) groups.push(readGroup(reader, count));
  return { number, queue, partition, isFirst, agesMs, payloads, payloadBytes, groups };
}

function readGroup(reader: BinaryReader, messages: number): PieceGroup {
  const group = reader.string();
  const skipped = reader.u32();
  const count = reader.u32();
  const marks: PieceMark[] = [];
  for (let i = 0; i < count; i += 1) {
    const at = reader.position;
    const message = reader.u32();
    const state = reader.u8();
    const attempts = reader.u16();
    const isNext = message < messages && message > (marks[i - 1]?.message ?? -1);
    if (!isNext || (state !== BACK && state !== DONE)) throw new DecodeError('no such mark', at);
    marks.push({ message, state, attempts });
  }
  return { group, skipped, marks };
}
