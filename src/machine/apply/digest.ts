/**
 * The running digest of everything entries changed: two 32-bit lanes, multiplication and rotation
 * only, so it costs a few nanoseconds a number. Not cryptographic: it finds divergence, not forgery.
 * Members compare it at equal indexes, so fold only replicated values, in log order, and never a slot
 * number. The function must never change without a machine version.
 */
import { invariant } from '../../common/invariant.js';

export const DIGEST_BYTES = 8;

const TWO_32 = 0x1_0000_0000;

export class Digest {
  private a = 0x51ed270b | 0;
  private b = 0x2f6b3c95 | 0;

  /** Folds the low 32 bits. */
  word(value: number): void {
    let a = Math.imul(this.a ^ value, 0x9e3779b1);
    a = (a << 13) | (a >>> 19);
    let b = Math.imul(this.b + value, 0x85ebca6b);
    b ^= b >>> 15;
    this.a = (a + b) | 0;
    this.b = b ^ ((a << 7) | (a >>> 25));
  }

  /** Folds a safe integer of either sign. */
  number(value: number): void {
    this.word(value | 0);
    this.word(Math.floor(value / TWO_32) | 0);
  }

  /** Folds bytes[start, end) with their length, four at a time. */
  bytes(bytes: Uint8Array, start = 0, end: number = bytes.length): void {
    this.word(end - start);
    let p = start;
    for (; p + 4 <= end; p += 4) {
      this.word(bytes[p]! | (bytes[p + 1]! << 8) | (bytes[p + 2]! << 16) | (bytes[p + 3]! << 24));
    }
    let rest = 0;
    for (; p < end; p++) rest = (rest << 8) | bytes[p]!;
    this.word(rest);
  }

  /** Folds bytes[start, end), a whole number of words, without their length. */
  words(bytes: Uint8Array, start: number, end: number): void {
    for (let p = start; p < end; p += 4) {
      this.word(bytes[p]! | (bytes[p + 1]! << 8) | (bytes[p + 2]! << 16) | (bytes[p + 3]! << 24));
    }
  }

  /** Folds a text by its UTF-16 units. */
  text(text: string): void {
    this.word(text.length);
    for (let i = 0; i < text.length; i++) this.word(text.charCodeAt(i));
  }

  /** A number that depends on the whole history; for seeds that a client cannot foresee. */
  get seed(): number {
    return this.a;
  }

  toBytes(): Uint8Array {
    const bytes = new Uint8Array(DIGEST_BYTES);
    const view = new DataView(bytes.buffer);
    view.setInt32(0, this.a, true);
    view.setInt32(4, this.b, true);
    return bytes;
  }

  load(bytes: Uint8Array): void {
    invariant(bytes.length === DIGEST_BYTES, 'a digest is 8 bytes');
    const view = new DataView(bytes.buffer, bytes.byteOffset, DIGEST_BYTES);
    this.a = view.getInt32(0, true);
    this.b = view.getInt32(4, true);
  }
}
