/**
 * Reads a segment record by record through one bounded window, verifying every checksum. Payloads
 * larger than the window are checked piece by piece, so memory does not depend on entry size.
 * It judges single records only; what a bad one means is decided by recovery and scrub.
 */
import { crc32 } from 'node:zlib';
import type { OpenFile } from './file-port.js';
import {
  decodeRecordHeader,
  RECORD_BODY_START,
  RECORD_HEADER_BYTES,
  recordSeed,
  type RecordHeader,
} from './record.js';

const WINDOW_BYTES = 1024 * 1024;
/** Payloads up to this size are handed out (hard states); larger ones only verified. */
const SMALL_PAYLOAD_BYTES = 64;
/** A later batch further away than this is not a batch number but noise. */
const PLAUSIBLE_BATCHES_AHEAD = 0x1_0000_0000;

export interface ScannedRecord extends RecordHeader {
  readonly position: number;
  /** Byte after the record. */
  readonly end: number;
  /** Only for payloads of at most 64 bytes; valid until the next call. */
  readonly payload: Buffer | undefined;
}

export class RecordScanner {
  private readonly window: Buffer;
  private windowStart = 0;
  private windowEnd = 0;

  constructor(
    private readonly file: OpenFile,
    private readonly salt: number,
    private readonly sizeBytes: number,
  ) {
    this.window = Buffer.allocUnsafeSlow(Math.max(1, Math.min(WINDOW_BYTES, sizeBytes)));
  }

  /** The record at `position`, or why there is none. */
  async read(position: number): Promise<ScannedRecord | string> {
    if (position + RECORD_HEADER_BYTES > this.sizeBytes) return 'the file ends inside a record';
    const header = decodeRecordHeader(await this.bytes(position, RECORD_HEADER_BYTES), 0);
    if (typeof header === 'string') return header;
    const end = position + RECORD_HEADER_BYTES + header.payloadBytes;
    if (end > this.sizeBytes) return 'the file ends inside a record';
    let crc = recordSeed(this.salt, position);
    let at = position + RECORD_BODY_START;
    while (at < end) {
      const piece = await this.bytes(at, Math.min(end - at, this.window.length));
      crc = crc32(piece, crc);
      at += piece.length;
    }
    if (crc !== header.crc) return 'record checksum mismatch';
    const payload =
      header.payloadBytes <= SMALL_PAYLOAD_BYTES
        ? await this.bytes(end - header.payloadBytes, header.payloadBytes)
        : undefined;
    return { ...header, position, end, payload };
  }

  /**
   * Position of the first valid record at or after `from` whose batch is not `tornBatch`, or
   * undefined. Tries every byte; the fields weed out almost all before a checksum is computed.
   */
  async findOtherBatch(from: number, tornBatch: number): Promise<number | undefined> {
    for (let at = from; at + RECORD_HEADER_BYTES <= this.sizeBytes;) {
      const length = Math.min(this.window.length, this.sizeBytes - at);
      const bytes = await this.bytes(at, length);
      const start = at;
      let candidate = -1;
      for (let i = 0; i + RECORD_HEADER_BYTES <= bytes.length; i += 1) {
        if (isOtherBatchHeader(bytes, i, tornBatch)) {
          candidate = i;
          break;
        }
      }
      if (candidate < 0) {
        at = start + bytes.length - RECORD_HEADER_BYTES + 1;
      } else {
        if (typeof (await this.read(start + candidate)) !== 'string') return start + candidate;
        at = start + candidate + 1;
      }
    }
    return undefined;
  }

  /** A view of the window holding [position, position + length). */
  private async bytes(position: number, length: number): Promise<Buffer> {
    if (position < this.windowStart || position + length > this.windowEnd) {
      this.windowStart = position;
      this.windowEnd = position;
      const wanted = Math.min(this.window.length, this.sizeBytes - position);
      while (this.windowEnd - position < wanted) {
        const filled = this.windowEnd - position;
        const got = await this.file.pread(this.window.subarray(filled, wanted), this.windowEnd);
        if (got === 0) throw new Error(`file shrank while it was read, at byte ${this.windowEnd}`);
        this.windowEnd += got;
      }
    }
    const from = position - this.windowStart;
    return this.window.subarray(from, from + length);
  }
}

function isOtherBatchHeader(bytes: Buffer, at: number, tornBatch: number): boolean {
  const flag = bytes[at + RECORD_BODY_START] as number;
  if (flag === 0 || (bytes[at + RECORD_BODY_START + 8] as number) !== 0) return false;
  const header = decodeRecordHeader(bytes, at);
  return (
    typeof header !== 'string' &&
    header.batch !== tornBatch &&
    header.batch <= tornBatch + PLAUSIBLE_BATCHES_AHEAD
  );
}
