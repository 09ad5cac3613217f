/**
 * Reads entries back by (index, offset in the payload). Addresses never name files, so a segment may
 * be sealed, retired or rewritten meanwhile. Whole entries are verified; ranges only by their bounds,
 * because message bytes carry their own checksum. Damage met here is thrown, never served.
 */
import { logIndex, term, type LogIndex } from '../../common/ids.js';
import { EntryNotFoundError, REPLACE_NODE_CURE, WalDamageError } from './errors.js';
import type { LogState } from './log-state.js';
import {
  bodyChecksum,
  decodeRecordHeader,
  entryKindOf,
  isEntryRecord,
  RECORD_HEADER_BYTES,
  recordSeed,
} from './record.js';
import type { Reader } from './segment-readers.js';
import type { Segment } from './segment-set.js';
import type { EntryLocation, StoredEntry } from './types.js';

/** A run read at once may hold this many times the bytes asked for in voided records. */
const MAX_RUN_WASTE = 2;

export class EntryReader {
  constructor(private readonly state: LogState) {}

  locate(index: LogIndex): Promise<EntryLocation> {
    return this.at(index, (segment, reader, slot) =>
      Promise.resolve({
        segment: segment.row.sequence,
        payloadPosition: reader.table.positionAt(slot) + RECORD_HEADER_BYTES,
        payloadBytes: reader.table.payloadBytesAt(slot),
      }),
    );
  }

  readRange(index: LogIndex, offset: number, lengthBytes: number): Promise<Buffer> {
    return this.at(index, (_segment, reader, slot) => {
      const payloadBytes = reader.table.payloadBytesAt(slot);
      if (!(offset >= 0 && lengthBytes >= 0 && offset + lengthBytes <= payloadBytes)) {
        throw new RangeError(
          `range ${offset}+${lengthBytes} outside entry ${index} of ${payloadBytes} bytes`,
        );
      }
      const position = reader.table.positionAt(slot) + RECORD_HEADER_BYTES + offset;
      return readExactly(reader, position, lengthBytes);
    });
  }

  readEntry(index: LogIndex): Promise<StoredEntry> {
    return this.at(index, async (_segment, reader, slot) => {
      const position = reader.table.positionAt(slot);
      const lengthBytes = RECORD_HEADER_BYTES + reader.table.payloadBytesAt(slot);
      const bytes = await readExactly(reader, position, lengthBytes);
      return decodeEntry(reader, { bytes, position, index });
    });
  }

  /** Entries from `from` on, together at most `maxBytes` of payload but at least one entry. */
  async readEntries(from: LogIndex, maxBytes: number): Promise<StoredEntry[]> {
    const out: StoredEntry[] = [];
    let next: number = from;
    let left = maxBytes;
    while (next <= this.state.lastIndex && (left > 0 || out.length === 0)) {
      const index = next;
      const run = await this.at(logIndex(index), (segment, reader, slot) =>
        this.readRun(reader, { index, slot, lastOfSegment: this.lastOf(segment), maxBytes: left }),
      );
      if (out.length > 0 && (run[0] as StoredEntry).payload.length > left) break;
      for (const entry of run) {
        out.push(entry);
        left -= entry.payload.length;
      }
      next = index + run.length;
    }
    return out;
  }

  private lastOf(segment: Segment): number {
    return segment.row.state === 'active' ? this.state.lastIndex : segment.row.last;
  }

  /** Entries lying one behind the other in one segment, read with one call. */
  private async readRun(
    reader: Reader,
    run: { index: number; slot: number; lastOfSegment: number; maxBytes: number },
  ): Promise<StoredEntry[]> {
    const { table } = reader;
    const start = table.positionAt(run.slot);
    const positions: number[] = [];
    let payloadBytes = 0;
    let end = start;
    for (let slot = run.slot; slot < table.count; slot += 1) {
      const index = table.indexAt(slot);
      if (index !== run.index + positions.length || index > run.lastOfSegment) break;
      const size = table.payloadBytesAt(slot);
      const position = table.positionAt(slot);
      const recordEnd = position + RECORD_HEADER_BYTES + size;
      const fits = payloadBytes + size <= run.maxBytes;
      const spread = recordEnd - start > MAX_RUN_WASTE * run.maxBytes + RECORD_HEADER_BYTES;
      if (positions.length > 0 && (!fits || (spread && position !== end))) break;
      payloadBytes += size;
      end = recordEnd;
      positions.push(position);
    }
    const bytes = await readExactly(reader, start, end - start);
    return positions.map((position, i) => {
      const record = bytes.subarray(position - start);
      return decodeEntry(reader, { bytes: record, position, index: run.index + i });
    });
  }

  private async at<T>(
    index: LogIndex,
    read: (segment: Segment, reader: Reader, slot: number) => Promise<T>,
  ): Promise<T> {
    const { segments, readers } = this.state;
    for (;;) {
      const segment = segments.find(index);
      if (!segment) throw new EntryNotFoundError(index);
      const readable = this.state.readable(segment);
      try {
        return await readers.use(readable, (reader) => {
          const slot = reader.table.slotOf(index);
          if (slot < 0) throw new EntryNotFoundError(index);
          return read(segment, reader, slot);
        });
      } catch (error) {
        // A file rewritten or removed between the look-up and the open is not damage.
        const now = segments.find(index);
        const isSame = now !== undefined && segments.path(now) === readable.path;
        if (!(error instanceof WalDamageError) || isSame) throw error;
      }
    }
  }
}

async function readExactly(reader: Reader, position: number, lengthBytes: number): Promise<Buffer> {
  const target = Buffer.allocUnsafe(lengthBytes);
  let done = 0;
  while (done < lengthBytes) {
    const rest = done === 0 ? target : target.subarray(done);
    const got = await reader.file.pread(rest, position + done);
    if (got === 0) throw damage(reader.path, position + done, 'the file is shorter than its index');
    done += got;
  }
  return target;
}

/** `bytes` begins at the record and may go on beyond it. */
export function decodeEntry(
  reader: Reader,
  at: { bytes: Buffer; position: number; index: number },
): StoredEntry {
  const { bytes, position, index } = at;
  const header = decodeRecordHeader(bytes, 0);
  if (typeof header === 'string') throw damage(reader.path, position, header);
  const end = RECORD_HEADER_BYTES + header.payloadBytes;
  const record = bytes.subarray(0, end);
  const sound =
    end <= bytes.length && header.crc === bodyChecksum(record, recordSeed(reader.salt, position));
  if (!sound) throw damage(reader.path, position, 'record checksum mismatch');
  if (header.index !== index || !isEntryRecord(header.kind)) {
    throw damage(reader.path, position, `holds entry ${header.index} instead of ${index}`);
  }
  const payload = record.subarray(RECORD_HEADER_BYTES);
  const kind = entryKindOf(header.kind);
  return { index: logIndex(index), term: term(header.term), kind, payload, parts: [payload] };
}

function damage(file: string, byteOffset: number, reason: string): WalDamageError {
  return new WalDamageError({ file, byteOffset, reason, cure: REPLACE_NODE_CURE });
}
