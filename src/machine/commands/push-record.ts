/**
 * One stored message as it stands in an entry: the record. Its CRC-32 travels beside it, so one
 * message can be read from a segment and verified alone.
 *
 *   ┌──────────┬─────────────────────────────┬──────────────────────┬────────────┬─────────────┐
 *   │ u8 flags │ varint n + n transactionId  │ [2: varint n + n sub]│ [4: 16B id]│ payload …end│
 *   └──────────┴─────────────────────────────┴──────────────────────┴────────────┴─────────────┘
 */
import { DecodeError } from '../../common/binary-reader.js';

/** Bits of a message's flags, in the record and in its table entry. Never renumber. */
export const MESSAGE_FLAG = {
  /** The transactionId came from the client: dedup applies. */
  clientId: 1,
  producerSub: 2,
  traceId: 4,
  encrypted: 8,
} as const;

export const ALL_MESSAGE_FLAGS = 15;
export const TRACE_ID_BYTES = 16;

/** A piece of somebody else's buffer; never kept. */
export interface ByteRange {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** Positions of a record's pieces in the buffer it was read from; −1 = absent. */
export interface RecordView {
  readonly flags: number;
  readonly transactionIdStart: number;
  readonly transactionIdEnd: number;
  readonly producerSubStart: number;
  readonly producerSubEnd: number;
  readonly traceIdStart: number;
  readonly payloadStart: number;
  readonly payloadEnd: number;
}

export interface RecordPieces {
  readonly transactionId: ByteRange;
  readonly producerSub: ByteRange | null;
  readonly traceId: Uint8Array | null;
  readonly payload: ByteRange;
}

/** Bytes of the record made of these pieces. */
export function recordBytes(pieces: RecordPieces): number {
  const { transactionId, producerSub, payload } = pieces;
  let size = 1 + prefixedBytes(transactionId) + payload.end - payload.start;
  if (producerSub !== null) size += prefixedBytes(producerSub);
  if (pieces.traceId !== null) size += TRACE_ID_BYTES;
  return size;
}

/** Writes the record at `at` and returns the position after it. The one copy of the payload. */
export function writeRecord(
  target: Uint8Array,
  at: number,
  flags: number,
  pieces: RecordPieces,
): number {
  target[at] = flags;
  let p = writePrefixed(target, at + 1, pieces.transactionId);
  if (pieces.producerSub !== null) p = writePrefixed(target, p, pieces.producerSub);
  if (pieces.traceId !== null) {
    target.set(pieces.traceId, p);
    p += TRACE_ID_BYTES;
  }
  return copyRange(target, p, pieces.payload);
}

/** Finds the pieces of the record bytes[start, end). Throws DecodeError on anything malformed. */
export function readRecord(bytes: Uint8Array, start: number, end: number): RecordView {
  if (!(start >= 0 && start < end && end <= bytes.length)) {
    throw new DecodeError('record outside its bytes', start);
  }
  const flags = bytes[start]!;
  if (flags > ALL_MESSAGE_FLAGS) throw new DecodeError('unknown message flag', start);
  const transactionIdEnd = prefixedEnd(bytes, start + 1, end);
  const transactionIdStart = prefixedStart(bytes, start + 1);
  let p = transactionIdEnd;
  let producerSubStart = -1;
  let producerSubEnd = -1;
  if ((flags & MESSAGE_FLAG.producerSub) !== 0) {
    producerSubStart = prefixedStart(bytes, p);
    producerSubEnd = prefixedEnd(bytes, p, end);
    p = producerSubEnd;
  }
  let traceIdStart = -1;
  if ((flags & MESSAGE_FLAG.traceId) !== 0) {
    traceIdStart = p;
    p += TRACE_ID_BYTES;
    if (p > end) throw new DecodeError('record ends inside its trace id', traceIdStart);
  }
  return {
    flags,
    transactionIdStart,
    transactionIdEnd,
    producerSubStart,
    producerSubEnd,
    traceIdStart,
    payloadStart: p,
    payloadEnd: end,
  };
}

/** Bytes a varint takes for a length below 2^28. */
export function varintBytes(value: number): number {
  if (value < 0x80) return 1;
  if (value < 0x4000) return 2;
  return value < 0x20_0000 ? 3 : 4;
}

/** Writes a length below 2^28 and returns the position after it. */
export function putVarint(target: Uint8Array, at: number, value: number): number {
  let p = at;
  let rest = value;
  while (rest >= 0x80) {
    target[p++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  target[p++] = rest;
  return p;
}

/** Copies a range and returns the position after it; short ranges without a view. */
export function copyRange(target: Uint8Array, at: number, range: ByteRange): number {
  const { bytes, start, end } = range;
  const size = end - start;
  if (size > 48) {
    target.set(bytes.subarray(start, end), at);
  } else {
    for (let i = 0; i < size; i++) target[at + i] = bytes[start + i]!;
  }
  return at + size;
}

function prefixedBytes(range: ByteRange): number {
  const size = range.end - range.start;
  return varintBytes(size) + size;
}

function writePrefixed(target: Uint8Array, at: number, range: ByteRange): number {
  return copyRange(target, putVarint(target, at, range.end - range.start), range);
}

/** Position of the first byte after the varint at `at`; prefixedEnd has validated it. */
function prefixedStart(bytes: Uint8Array, at: number): number {
  let p = at;
  while (p < bytes.length && bytes[p]! >= 0x80) p++;
  return p + 1;
}

function prefixedEnd(bytes: Uint8Array, at: number, end: number): number {
  let size = 0;
  let scale = 1;
  for (let p = at; p < end && p < at + 4; p++, scale *= 0x80) {
    const byte = bytes[p]!;
    size += (byte & 0x7f) * scale;
    if (byte >= 0x80) continue;
    if (p + 1 + size > end) break;
    return p + 1 + size;
  }
  throw new DecodeError('record piece outside its record', at);
}
