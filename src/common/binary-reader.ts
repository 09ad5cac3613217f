/**
 * Little-endian reader, the mirror of BinaryWriter. What it reads may come from a wire or a damaged
 * disk: anything that does not fit throws DecodeError with the position, and nothing outside
 * [start, end) is ever read. Slices it returns are views of the input.
 */

import { isValidUtf8, readUtf8 } from './utf8.js';

const TWO_32 = 0x1_0000_0000;

/** The bytes are not what the format says. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';

  constructor(
    message: string,
    /** Byte position in the input. */
    readonly at: number,
  ) {
    super(`${message} at byte ${at}`);
  }
}

const EMPTY = new Uint8Array(0);
const floatScratch = new DataView(new ArrayBuffer(8));

export class BinaryReader {
  private bytes: Uint8Array = EMPTY;
  private cursor = 0;
  private limit = 0;

  constructor(bytes: Uint8Array = EMPTY, start = 0, end = bytes.length) {
    this.reset(bytes, start, end);
  }

  /** Starts again on bytes[start, end). */
  reset(bytes: Uint8Array, start = 0, end = bytes.length): void {
    if (!(start >= 0 && start <= end && end <= bytes.length)) {
      throw new DecodeError('range outside the input', start);
    }
    this.bytes = bytes;
    this.cursor = start;
    this.limit = end;
  }

  /** Position of the next byte in the input. */
  get position(): number {
    return this.cursor;
  }

  get remaining(): number {
    return this.limit - this.cursor;
  }

  /** The input, for in-place use together with `position`. */
  get source(): Uint8Array {
    return this.bytes;
  }

  /** Throws unless everything was read. */
  expectEnd(): void {
    if (this.cursor !== this.limit) throw new DecodeError('unexpected bytes follow', this.cursor);
  }

  u8(): number {
    return this.bytes[this.take(1)]!;
  }

  boolean(): boolean {
    const value = this.u8();
    if (value > 1) throw new DecodeError('not a boolean', this.cursor - 1);
    return value === 1;
  }

  u16(): number {
    const at = this.take(2);
    return this.bytes[at]! | (this.bytes[at + 1]! << 8);
  }

  u32(): number {
    return word(this.bytes, this.take(4)) >>> 0;
  }

  i32(): number {
    return word(this.bytes, this.take(4));
  }

  u48(): number {
    const at = this.take(6);
    const high = this.bytes[at + 4]! | (this.bytes[at + 5]! << 8);
    return high * TWO_32 + (word(this.bytes, at) >>> 0);
  }

  /** A non-negative safe integer in 8 bytes. */
  u64(): number {
    const value = this.i64();
    if (value < 0) throw new DecodeError('integer out of range', this.cursor - 8);
    return value;
  }

  /** A safe integer in 8 bytes, two's complement. */
  i64(): number {
    const at = this.take(8);
    const value = word(this.bytes, at + 4) * TWO_32 + (word(this.bytes, at) >>> 0);
    if (!Number.isSafeInteger(value)) throw new DecodeError('integer out of range', at);
    return value;
  }

  f64(): number {
    const at = this.take(8);
    for (let i = 0; i < 8; i++) floatScratch.setUint8(i, this.bytes[at + i]!);
    return floatScratch.getFloat64(0, true);
  }

  varint(): number {
    const first = this.u8();
    return first < 0x80 ? first : this.longVarint(first & 0x7f);
  }

  /** Zigzag form of BinaryWriter.signedVarint. */
  signedVarint(): number {
    const value = this.varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** Moves past `size` bytes and returns where they start in `source`. */
  skip(size: number): number {
    return this.take(size);
  }

  /** The next `size` bytes, as a view. */
  raw(size: number): Uint8Array {
    const at = this.take(size);
    return this.bytes.subarray(at, at + size);
  }

  /** Length and bytes, as a view. */
  lengthPrefixed(): Uint8Array {
    return this.raw(this.varint());
  }

  /** Length and UTF-8 text; invalid UTF-8 throws. */
  string(): string {
    const size = this.varint();
    const at = this.take(size);
    if (!isValidUtf8(this.bytes, at, at + size)) throw new DecodeError('invalid UTF-8', at);
    return readUtf8(this.bytes, at, at + size);
  }

  /** Every format written down starts with a version; one above `newest` is refused. */
  version(newest: number, what: string): number {
    const version = this.u8();
    if (version === 0 || version > newest) {
      throw new DecodeError(
        `${what} has version ${version}, this build reads ${newest}`,
        this.cursor - 1,
      );
    }
    return version;
  }

  private longVarint(low: number): number {
    const start = this.cursor - 1;
    let value = low;
    for (let scale = 0x80, size = 2; size <= 8; size++, scale *= 0x80) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      if (byte >= 0x80) continue;
      if (byte === 0 || value > Number.MAX_SAFE_INTEGER) break;
      return value;
    }
    throw new DecodeError('varint out of range or not minimal', start);
  }

  private take(size: number): number {
    const at = this.cursor;
    if (!(size <= this.limit - at)) throw new DecodeError(`${size} bytes expected`, at);
    this.cursor = at + size;
    return at;
  }
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}
