/**
 * The footer that seals a segment: one record (record.ts) whose payload is the entry table, the runs
 * of terms and a fixed trailer at the very end of the file. The trailer has its own checksum, so a
 * start reads 136 bytes per retired segment; the rest is verified by the record's checksum when loaded.
 *
 *   payload: count x u32 position | count x u32 payload size | sparse only: count x u32 distance
 *            runs x { u64 start index, u64 term } | trailer
 *   trailer: 0 u32 version, 4 u32 flags (bit 0 sparse), 8 u32 count, 12 u32 runs,
 *            16 u32 chain of record checksums, 20 u32 0, 24 u64 footer record position,
 *            32 u64 first, 40 u64 last, 48 u64 base index, 56 u64 base term, 64 u64 last term,
 *            72 u64 batch, 80 u64 term, 88 u64 vote, 96 u64 commit, 104 u64 sequence,
 *            112 "QWALFOOT", 120 u32 0, 124 u32 crc of the 124 bytes before
 */
import { crc32 } from 'node:zlib';
import { logIndex, nodeId, term } from '../../common/ids.js';
import { getU64, putU64 } from './bytes.js';
import { EntryTable } from './entry-table.js';
import { newerFormat, REPLACE_NODE_CURE, WalDamageError } from './errors.js';
import { readUpTo, type OpenFile } from './file-port.js';
import { bodyChecksum, decodeRecordHeader, RECORD_HEADER_BYTES, recordSeed } from './record.js';
import { RecordKind } from './record.js';
import type { HardState, LogPosition } from './types.js';

const VERSION = 1;
const FLAG_SPARSE = 1;
const MAGIC = Buffer.from('QWALFOOT', 'latin1');
export const TRAILER_BYTES = 128;
const RUN_BYTES = 16;

export interface TermRun {
  readonly start: number;
  readonly term: number;
}

/** What the trailer says. */
export interface SegmentSummary {
  readonly sequence: number;
  readonly footerPosition: number;
  readonly count: number;
  readonly runCount: number;
  readonly sparse: boolean;
  readonly first: number;
  readonly last: number;
  readonly base: LogPosition;
  readonly lastTerm: number;
  readonly batch: number;
  readonly hardState: HardState;
  /** Order-dependent mix of the checksums of all records before the footer. */
  readonly chain: number;
}

/** Payload of the footer record; `checksum` is what the manifest keeps. */
export function encodeFooter(
  summary: SegmentSummary,
  table: EntryTable,
  runs: readonly TermRun[],
): { payload: Buffer; checksum: number } {
  const { count, sparse } = summary;
  const tableBytes = count * (sparse ? 12 : 8);
  const payload = Buffer.alloc(tableBytes + runs.length * RUN_BYTES + TRAILER_BYTES);
  for (let slot = 0; slot < count; slot += 1) {
    payload.writeUInt32LE(table.positionAt(slot), slot * 4);
    payload.writeUInt32LE(table.payloadBytesAt(slot), (count + slot) * 4);
    if (sparse) {
      payload.writeUInt32LE(table.indexAt(slot) - table.first, (2 * count + slot) * 4);
    }
  }
  runs.forEach((run, i) => {
    putU64(payload, tableBytes + i * RUN_BYTES, run.start);
    putU64(payload, tableBytes + i * RUN_BYTES + 8, run.term);
  });
  const trailer = payload.subarray(payload.length - TRAILER_BYTES);
  fillTrailer(trailer, summary);
  return { payload, checksum: trailer.readUInt32LE(124) };
}

function fillTrailer(trailer: Buffer, summary: SegmentSummary): void {
  trailer.writeUInt32LE(VERSION, 0);
  trailer.writeUInt32LE(summary.sparse ? FLAG_SPARSE : 0, 4);
  trailer.writeUInt32LE(summary.count, 8);
  trailer.writeUInt32LE(summary.runCount, 12);
  trailer.writeUInt32LE(summary.chain, 16);
  putU64(trailer, 24, summary.footerPosition);
  putU64(trailer, 32, summary.first);
  putU64(trailer, 40, summary.last);
  putU64(trailer, 48, summary.base.index);
  putU64(trailer, 56, summary.base.term);
  putU64(trailer, 64, summary.lastTerm);
  putU64(trailer, 72, summary.batch);
  putU64(trailer, 80, summary.hardState.term);
  putU64(trailer, 88, summary.hardState.vote);
  putU64(trailer, 96, summary.hardState.commit);
  putU64(trailer, 104, summary.sequence);
  MAGIC.copy(trailer, 112);
  trailer.writeUInt32LE(crc32(trailer.subarray(0, 124)), 124);
}

/** Reads and verifies the trailer of a sealed file. */
export async function readTrailer(
  file: OpenFile,
  path: string,
  sizeBytes: number,
): Promise<{ summary: SegmentSummary; checksum: number }> {
  const at = Math.max(0, sizeBytes - TRAILER_BYTES);
  const trailer = await readUpTo(file, at, TRAILER_BYTES);
  if (trailer.length < TRAILER_BYTES || !trailer.subarray(112, 120).equals(MAGIC)) {
    throw damaged(path, at, 'the footer of this sealed segment is missing');
  }
  const checksum = trailer.readUInt32LE(124);
  if (crc32(trailer.subarray(0, 124)) !== checksum) {
    throw damaged(path, at, 'footer checksum mismatch');
  }
  const version = trailer.readUInt32LE(0);
  if (version > VERSION) throw newerFormat(path, version, VERSION);
  const summary: SegmentSummary = {
    sequence: getU64(trailer, 104),
    footerPosition: getU64(trailer, 24),
    count: trailer.readUInt32LE(8),
    runCount: trailer.readUInt32LE(12),
    sparse: (trailer.readUInt32LE(4) & FLAG_SPARSE) !== 0,
    first: getU64(trailer, 32),
    last: getU64(trailer, 40),
    base: { index: logIndex(getU64(trailer, 48)), term: term(getU64(trailer, 56)) },
    lastTerm: getU64(trailer, 64),
    batch: getU64(trailer, 72),
    hardState: {
      term: term(getU64(trailer, 80)),
      vote: nodeId(getU64(trailer, 88)),
      commit: logIndex(getU64(trailer, 96)),
    },
    chain: trailer.readUInt32LE(16),
  };
  return { summary, checksum };
}

/** Reads and verifies the whole footer record of a sealed file. */
export async function readFooter(
  file: OpenFile,
  path: string,
  sealed: { sizeBytes: number; salt: number },
): Promise<{ summary: SegmentSummary; table: EntryTable; runs: TermRun[] }> {
  const { summary } = await readTrailer(file, path, sealed.sizeBytes);
  const at = summary.footerPosition;
  const record = await readUpTo(file, at, sealed.sizeBytes - at);
  const header = decodeRecordHeader(record, 0);
  const sound =
    typeof header !== 'string' &&
    header.kind === RecordKind.footer &&
    header.payloadBytes + RECORD_HEADER_BYTES === record.length &&
    header.crc === bodyChecksum(record, recordSeed(sealed.salt, at));
  if (!sound) throw damaged(path, at, 'the footer record does not verify');
  const { count, runCount, sparse } = summary;
  const column = (number: number): Uint32Array => {
    const from = RECORD_HEADER_BYTES + number * count * 4;
    return readU32Column(record, from, count);
  };
  const columns = { positions: column(0), sizes: column(1) };
  const table = new EntryTable(
    summary.first,
    sparse ? { ...columns, distances: column(2) } : columns,
  );
  const runsAt = RECORD_HEADER_BYTES + count * (sparse ? 12 : 8);
  const runs: TermRun[] = [];
  for (let i = 0; i < runCount; i += 1) {
    const from = runsAt + i * RUN_BYTES;
    runs.push({ start: getU64(record, from), term: getU64(record, from + 8) });
  }
  return { summary, table, runs };
}

function readU32Column(source: Buffer, from: number, count: number): Uint32Array {
  const column = new Uint32Array(count);
  for (let i = 0; i < count; i += 1) column[i] = source.readUInt32LE(from + i * 4);
  return column;
}

/** One step of the chain over all records of a segment. */
export function chainRecord(chain: number, crc: number, payloadBytes: number): number {
  return (Math.imul(chain ^ crc, 0x01000193) + payloadBytes) >>> 0;
}

function damaged(file: string, byteOffset: number, reason: string): WalDamageError {
  return new WalDamageError({ file, byteOffset, reason, cure: REPLACE_NODE_CURE });
}
