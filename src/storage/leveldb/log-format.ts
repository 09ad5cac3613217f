/**
 * LevelDB's log format, used by `*.log` and `MANIFEST-*`: records cut into fragments that never
 * cross a 32 KiB block. LevelDB's own reader skips what does not check; this one stops there.
 *
 *   fragment = masked crc32c(type, data) u32 LE | length u16 LE | type u8 | data
 *   type     = 1 FULL   2 FIRST   3 MIDDLE   4 LAST
 *   fewer than 7 bytes left in a block are filler
 */
import { crc32c, unmaskCrc } from '../crc32c.js';

const BLOCK_BYTES = 32 * 1024;
const HEADER_BYTES = 7;
const FULL = 1;
const FIRST = 2;

const LAST = 4;

export interface LogRecord {
  /** Byte range of the record in the file, headers included. */
  start: number;
  end: number;
  payload: Buffer;
}

export interface LogFailure {
  byteOffset: number;
  reason: string;
}

interface Fragment {
  type: number;
  end: number;
  data: Buffer;
}

/** Reads records from the start; after the last whole one `failure` says why it stopped. */
export class LogReader {
  /** End of the last whole record. */
  position = 0;
  /** Undefined while all is whole and at a clean end of the file. */
  failure: LogFailure | undefined;

  constructor(private readonly bytes: Buffer) {}

  /** The next whole record, or undefined at the end or at a failure. */
  next(): LogRecord | undefined {
    if (this.failure !== undefined || this.position >= this.bytes.length) return undefined;
    const parts: Buffer[] = [];
    let at = this.position;
    let start = -1;
    for (;;) {
      const header = skipFiller(at);
      if (header >= this.bytes.length && parts.length === 0) {
        return this.fail(at, 'filler with nothing behind it');
      }
      const fragment = readFragment(this.bytes, header);
      if (typeof fragment === 'string') return this.fail(header, fragment);
      if (start < 0) start = header;
      const begins = fragment.type === FULL || fragment.type === FIRST;
      if (begins !== (parts.length === 0)) {
        return this.fail(header, 'a fragment does not continue the one before it');
      }
      parts.push(fragment.data);
      at = fragment.end;
      if (fragment.type === FULL || fragment.type === LAST) break;
    }
    this.position = at;
    return { start, end: at, payload: parts.length === 1 ? parts[0]! : Buffer.concat(parts) };
  }

  private fail(byteOffset: number, reason: string): undefined {
    this.failure = { byteOffset, reason };
    return undefined;
  }
}

/** Whether any whole fragment lies after a place: then what is broken there is no torn tail. */
export function holdsFragmentAfter(bytes: Buffer, start: number): boolean {
  for (let at = start + 1; at + HEADER_BYTES <= bytes.length; at++) {
    const type = bytes[at + 6]!;
    if (type < FULL || type > LAST || skipFiller(at) !== at) continue;
    if (typeof readFragment(bytes, at) !== 'string') return true;
  }
  return false;
}

function skipFiller(at: number): number {
  const left = BLOCK_BYTES - (at % BLOCK_BYTES);
  return left < HEADER_BYTES ? at + left : at;
}

/** The fragment at a place, or why there is none. */
function readFragment(bytes: Buffer, at: number): Fragment | string {
  if (at + HEADER_BYTES > bytes.length) return 'the file ends inside a record';
  const length = bytes.readUInt16LE(at + 4);
  const type = bytes[at + 6]!;
  const end = at + HEADER_BYTES + length;
  if (type < FULL || type > LAST) return `unknown fragment type ${type}`;
  if (end > at - (at % BLOCK_BYTES) + BLOCK_BYTES) return 'a fragment runs over its block';
  if (end > bytes.length) return 'the file ends inside a record';
  if (crc32c(bytes, at + 6, end) !== unmaskCrc(bytes.readUInt32LE(at))) {
    return 'checksum mismatch';
  }
  return { type, end, data: bytes.subarray(at + HEADER_BYTES, end) };
}
