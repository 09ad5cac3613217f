/**
 * One record of a segment file. The checksum starts from a seed made of the segment's salt and the
 * record's own position, so bytes copied from elsewhere (a client may push a log file as payload)
 * never look like a record here. Batches are atomic: a batch whose end flag is missing never was.
 *
 *   0       4       8    9          17        25         33
 *   +-------+-------+----+----------+---------+----------+---------------+
 *   | u32   | u32   | u8 | u64      | u64     | u64      | payload       |
 *   | length| crc32 |flag| batch    | term    | index    | length-25 B   |
 *   +-------+-------+----+----------+---------+----------+---------------+
 *   length and crc32 cover everything from byte 8; all numbers little-endian
 *   flag: bits 0-3 kind, bit 4 last record of its batch, bits 5-7 format version
 */
import { crc32 } from 'node:zlib';
import { getU64 } from './bytes.js';
import type { EntryKind } from './types.js';

export const RECORD_HEADER_BYTES = 33;
/** Where the checksummed part begins; `length` counts from here. */
export const RECORD_BODY_START = 8;
/** The part of `length` that is not payload. */
export const RECORD_FIXED_BODY_BYTES = RECORD_HEADER_BYTES - RECORD_BODY_START;
export const RECORD_VERSION = 1;
/** Largest payload of one record; the largest command is 96 MiB. */
export const MAX_PAYLOAD_BYTES = 512 * 1024 * 1024;

export const RecordKind = {
  normal: 1,
  membership: 2,
  empty: 3,
  /** payload: u64 vote, u64 commit; the term is the record's term */
  hardState: 4,
  /** everything above `index` is void */
  truncation: 5,
  /** seals the segment, see footer.ts */
  footer: 6,
} as const;

const LAST_ENTRY_KIND = RecordKind.empty;
const LAST_KIND = RecordKind.footer;
const KIND_MASK = 0x0f;
const BATCH_END = 0x10;
const VERSION_SHIFT = 5;

export const HARD_STATE_PAYLOAD_BYTES = 16;

/** A record's header as found on disk; checked against the checksum by the caller. */
export interface RecordHeader {
  readonly kind: number;
  readonly batchEnd: boolean;
  readonly batch: number;
  readonly term: number;
  readonly index: number;
  readonly payloadBytes: number;
  readonly crc: number;
}

export function recordSeed(salt: number, position: number): number {
  return (salt ^ position) >>> 0;
}

export function recordFlag(kind: number, batchEnd: boolean): number {
  return kind | (batchEnd ? BATCH_END : 0) | (RECORD_VERSION << VERSION_SHIFT);
}

export function isEntryRecord(kind: number): boolean {
  return kind <= LAST_ENTRY_KIND;
}

export function entryKindOf(kind: number): EntryKind {
  if (kind === RecordKind.membership) return 'membership';
  return kind === RecordKind.empty ? 'empty' : 'normal';
}

export function recordFlagVersion(flag: number): number {
  return flag >>> VERSION_SHIFT;
}

/** Checksum over a record's body held in one piece (`bytes` starts at the record's first byte). */
export function bodyChecksum(bytes: Buffer, seed: number): number {
  return crc32(bytes.subarray(RECORD_BODY_START), seed);
}

/**
 * Decodes the 33 header bytes at `at`, or says why they cannot be a header. Cheap enough to try at
 * every byte of a damaged tail.
 */
export function decodeRecordHeader(bytes: Buffer, at: number): RecordHeader | string {
  const length = bytes.readUInt32LE(at);
  if (length < RECORD_FIXED_BODY_BYTES) return `record length ${length} is too small`;
  const payloadBytes = length - RECORD_FIXED_BODY_BYTES;
  if (payloadBytes > MAX_PAYLOAD_BYTES) return `record length ${length} is too large`;
  const flag = bytes[at + RECORD_BODY_START] as number;
  const version = recordFlagVersion(flag);
  if (version !== RECORD_VERSION) return `unknown record version ${version}`;
  const kind = flag & KIND_MASK;
  if (kind === 0 || kind > LAST_KIND) return `unknown record kind ${kind}`;
  const batch = getU64(bytes, at + 9);
  const term = getU64(bytes, at + 17);
  const index = getU64(bytes, at + 25);
  if (Number.isNaN(batch + term + index)) return 'record number out of range';
  const batchEnd = (flag & BATCH_END) !== 0;
  return { kind, batchEnd, batch, term, index, payloadBytes, crc: bytes.readUInt32LE(at + 4) };
}
