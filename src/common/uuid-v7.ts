/**
 * UUIDs as 16 bytes, and the minting of version 7 ones (RFC 9562 §5.7, §6.2 method 1 and 3).
 *
 *   0         5 6     7 8       10 11      15
 *   ┌──────────┬───────┬──────────┬──────────┐   time: 48-bit ms, big-endian
 *   │   time   │7│c12  │10│c20 …  │  random  │   c: 32-bit counter over 12 + 20 bits
 *   └──────────┴───────┴──────────┴──────────┘   random: 42 bits
 *
 * Ids of one mint strictly increase, also when the clock stands still or goes back. Text form:
 * lowercase, hyphenated; parsing accepts both cases.
 */

import type { Clock } from './clock.js';
import { readUtf8 } from './utf8.js';
import type { RandomSource } from './random.js';

export const UUID_BYTES = 16;
export const UUID_TEXT_BYTES = 36;

const TWO_32 = 0x1_0000_0000;
/** Per id: 6 bytes for the random part, 4 to seed the counter when the millisecond is new. */
const RANDOM_PER_ID_BYTES = 10;
const RANDOM_BLOCK_BYTES = 150 * RANDOM_PER_ID_BYTES;

/** Text positions of the two hex digits of each byte. */
const HEX_AT = Uint8Array.of(0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34);
const HEX_DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
const HEX_PAIRS = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
/** Value of a hex digit's character code; 255 for anything else. */
const HEX_VALUE = Uint8Array.from({ length: 256 }, (_, code) => {
  const value = '0123456789abcdef'.indexOf(String.fromCharCode(code).toLowerCase());
  return value >= 0 ? value : 255;
});

/** Mints UUIDv7s. One per process and purpose; not shared between threads. */
export class UuidMint {
  private lastMs = -1;
  private counter = 0;
  private readonly block = new Uint8Array(RANDOM_BLOCK_BYTES);
  private blockAt = RANDOM_BLOCK_BYTES;

  constructor(
    private readonly clock: Pick<Clock, 'nowMs'>,
    private readonly random: RandomSource,
  ) {}

  /** Writes a new id into target at position `at` (16 bytes). */
  mintInto(target: Uint8Array, at: number): void {
    this.write(target, at, this.clock.nowMs());
  }

  /** Writes `count` new ids back to back, of one reading of the clock. */
  mintAll(target: Uint8Array, count: number): void {
    const nowMs = this.clock.nowMs();
    for (let i = 0; i < count; i++) this.write(target, i * UUID_BYTES, nowMs);
  }

  private write(target: Uint8Array, at: number, nowMs: number): void {
    const random = this.takeRandom();
    this.advance(random, nowMs);
    const block = this.block;
    writeTime(target, at, this.lastMs);
    const counter = this.counter;
    target[at + 6] = 0x70 | (counter >>> 28);
    target[at + 7] = counter >>> 20;
    target[at + 8] = 0x80 | ((counter >>> 14) & 0x3f);
    target[at + 9] = counter >>> 6;
    target[at + 10] = ((counter & 0x3f) << 2) | (block[random]! & 0x03);
    for (let i = 1; i < 6; i++) target[at + 10 + i] = block[random + i]!;
  }

  mint(): Uint8Array {
    const bytes = new Uint8Array(UUID_BYTES);
    this.mintInto(bytes, 0);
    return bytes;
  }

  mintText(): string {
    return uuidText(this.mint(), 0);
  }

  /** A later millisecond seeds the counter with 31 random bits; otherwise it counts up. */
  private advance(random: number, nowMs: number): void {
    if (nowMs > this.lastMs) {
      this.lastMs = nowMs;
      this.counter = this.counterSeed(random + 6);
      return;
    }
    this.counter = (this.counter + 1) >>> 0;
    if (this.counter !== 0) return;
    this.lastMs += 1;
    this.counter = this.counterSeed(random + 6);
  }

  private counterSeed(at: number): number {
    const b = this.block;
    return ((b[at]! & 0x7f) << 24) | (b[at + 1]! << 16) | (b[at + 2]! << 8) | b[at + 3]!;
  }

  /** Position of fresh random bytes in the block. */
  private takeRandom(): number {
    if (this.blockAt >= RANDOM_BLOCK_BYTES) {
      this.random.fill(this.block);
      this.blockAt = 0;
    }
    const at = this.blockAt;
    this.blockAt = at + RANDOM_PER_ID_BYTES;
    return at;
  }
}

function writeTime(target: Uint8Array, at: number, ms: number): void {
  const high = Math.floor(ms / TWO_32);
  const low = ms % TWO_32;
  target[at] = high >>> 8;
  target[at + 1] = high;
  target[at + 2] = low >>> 24;
  target[at + 3] = low >>> 16;
  target[at + 4] = low >>> 8;
  target[at + 5] = low;
}

/** The milliseconds inside a UUIDv7. */
export function uuidMs(bytes: Uint8Array, at = 0): number {
  const high = (bytes[at]! << 8) | bytes[at + 1]!;
  const low =
    ((bytes[at + 2]! << 24) | (bytes[at + 3]! << 16) | (bytes[at + 4]! << 8) | bytes[at + 5]!) >>>
    0;
  return high * TWO_32 + low;
}

/** Writes the 36 ASCII bytes of the text form and returns the position after them. */
export function writeUuidText(
  uuid: Uint8Array,
  at: number,
  target: Uint8Array,
  targetAt: number,
): number {
  for (let i = 0; i < UUID_BYTES; i++) {
    const byte = uuid[at + i]!;
    const p = targetAt + HEX_AT[i]!;
    target[p] = HEX_DIGITS[byte >>> 4]!;
    target[p + 1] = HEX_DIGITS[byte & 15]!;
  }
  target[targetAt + 8] = 0x2d;
  target[targetAt + 13] = 0x2d;
  target[targetAt + 18] = 0x2d;
  target[targetAt + 23] = 0x2d;
  return targetAt + UUID_TEXT_BYTES;
}

const textScratch = new Uint8Array(UUID_TEXT_BYTES);

/** The text form of the 16 bytes at `at`. */
export function uuidText(uuid: Uint8Array, at = 0): string {
  writeUuidText(uuid, at, textScratch, 0);
  return readUtf8(textScratch, 0, UUID_TEXT_BYTES);
}

/**
 * Parses the 36 text bytes at `start` into 16 bytes at target[targetAt]; false (target undefined) when
 * they are not a hyphenated UUID. The caller checks that its text is 36 bytes long. Any version and
 * variant is accepted.
 */
export function parseUuidInto(
  bytes: Uint8Array,
  start: number,
  target: Uint8Array,
  targetAt: number,
): boolean {
  if (start + UUID_TEXT_BYTES > bytes.length) return false;
  let seen = 0;
  for (let i = 0; i < UUID_BYTES; i++) {
    const p = start + HEX_AT[i]!;
    const high = HEX_VALUE[bytes[p]!]!;
    const low = HEX_VALUE[bytes[p + 1]!]!;
    seen |= high | low;
    target[targetAt + i] = (high << 4) | low;
  }
  return (
    seen < 16 &&
    bytes[start + 8] === 0x2d &&
    bytes[start + 13] === 0x2d &&
    bytes[start + 18] === 0x2d &&
    bytes[start + 23] === 0x2d
  );
}

/** The 16 bytes of a UUID text, undefined when it is none. */
export function parseUuid(text: string): Uint8Array | undefined {
  if (text.length !== UUID_TEXT_BYTES) return undefined;
  const codes = new Uint8Array(UUID_TEXT_BYTES);
  for (let i = 0; i < UUID_TEXT_BYTES; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7f) return undefined;
    codes[i] = code;
  }
  const uuid = new Uint8Array(UUID_BYTES);
  return parseUuidInto(codes, 0, uuid, 0) ? uuid : undefined;
}

export function isUuid(text: string): boolean {
  return parseUuid(text) !== undefined;
}

/** Lowercase hex of bytes[start, end). */
export function hexText(bytes: Uint8Array, start = 0, end = bytes.length): string {
  let text = '';
  for (let p = start; p < end; p++) text += HEX_PAIRS[bytes[p]!]!;
  return text;
}
