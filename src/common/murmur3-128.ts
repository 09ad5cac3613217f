/**
 * MurmurHash3_x86_128 by Austin Appleby (SMHasher, public domain): 128 bits over a byte range, made
 * of 32-bit multiplications only, so it runs without BigInt. Not a cryptographic hash.
 * The output is h1 h2 h3 h4, each little-endian, as the reference writes it on x86.
 * Hashes end up on disk (dedup keys): the function must never change.
 */

const C1 = 0x239b961b;
const C2 = 0xab0e9789;
const C3 = 0x38b34ae5;
const C4 = 0xa1e38b93;

function finalMix(h: number): number {
  let mixed = h ^ (h >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}

function scramble(k: number, first: number, shift: number, second: number): number {
  const multiplied = Math.imul(k, first);
  return Math.imul((multiplied << shift) | (multiplied >>> (32 - shift)), second);
}

function word(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

/** The up to 4 bytes of tail word `at … end − 1`; 0 when the range is empty. */
function tailWord(bytes: Uint8Array, at: number, end: number): number {
  let k = 0;
  const stop = at + 4 < end ? at + 4 : end;
  for (let i = stop - 1; i >= at; i--) k = (k << 8) | bytes[i]!;
  return k;
}

function writeWord(target: Uint8Array, at: number, value: number): void {
  target[at] = value;
  target[at + 1] = value >>> 8;
  target[at + 2] = value >>> 16;
  target[at + 3] = value >>> 24;
}

/** Writes the 16-byte hash of bytes[start, end) into target at position `at`. */
// eslint-disable-next-line @typescript-eslint/max-params -- hot path: two ranges, no object per hash
export function murmur3x128Into(
  bytes: Uint8Array,
  start: number,
  end: number,
  target: Uint8Array,
  at: number,
  seed = 0,
): void {
  let h1 = seed | 0;
  let h2 = h1;
  let h3 = h1;
  let h4 = h1;
  const length = end - start;
  const blocksEnd = start + (length & ~15);
  for (let p = start; p < blocksEnd; p += 16) {
    h1 ^= scramble(word(bytes, p), C1, 15, C2);
    h1 = ((h1 << 19) | (h1 >>> 13)) + h2;
    h1 = (Math.imul(h1, 5) + 0x561ccd1b) | 0;
    h2 ^= scramble(word(bytes, p + 4), C2, 16, C3);
    h2 = ((h2 << 17) | (h2 >>> 15)) + h3;
    h2 = (Math.imul(h2, 5) + 0x0bcaa747) | 0;
    h3 ^= scramble(word(bytes, p + 8), C3, 17, C4);
    h3 = ((h3 << 15) | (h3 >>> 17)) + h4;
    h3 = (Math.imul(h3, 5) + 0x96cd1c35) | 0;
    h4 ^= scramble(word(bytes, p + 12), C4, 18, C1);
    h4 = ((h4 << 13) | (h4 >>> 19)) + h1;
    h4 = (Math.imul(h4, 5) + 0x32ac3b17) | 0;
  }
  if (blocksEnd < end) {
    h4 ^= scramble(tailWord(bytes, blocksEnd + 12, end), C4, 18, C1);
    h3 ^= scramble(tailWord(bytes, blocksEnd + 8, end), C3, 17, C4);
    h2 ^= scramble(tailWord(bytes, blocksEnd + 4, end), C2, 16, C3);
    h1 ^= scramble(tailWord(bytes, blocksEnd, end), C1, 15, C2);
  }
  h1 ^= length;
  h2 ^= length;
  h3 ^= length;
  h4 ^= length;
  h1 = (h1 + h2 + h3 + h4) | 0;
  h2 = finalMix((h2 + h1) | 0);
  h3 = finalMix((h3 + h1) | 0);
  h4 = finalMix((h4 + h1) | 0);
  h1 = finalMix(h1);
  h1 = (h1 + h2 + h3 + h4) | 0;
  writeWord(target, at, h1);
  writeWord(target, at + 4, (h2 + h1) | 0);
  writeWord(target, at + 8, (h3 + h1) | 0);
  writeWord(target, at + 12, (h4 + h1) | 0);
}

/** A 32-bit hash of bytes[start, end) for in-memory tables: MurmurHash3_x86_32 (Austin Appleby). */
export function murmur3x32(bytes: Uint8Array, start: number, end: number, seed = 0): number {
  let h = seed | 0;
  const blocksEnd = start + ((end - start) & ~3);
  for (let p = start; p < blocksEnd; p += 4) {
    h ^= scramble(word(bytes, p), 0xcc9e2d51, 15, 0x1b873593);
    h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
  }
  if (blocksEnd < end) h ^= scramble(tailWord(bytes, blocksEnd, end), 0xcc9e2d51, 15, 0x1b873593);
  return finalMix(h ^ (end - start)) >>> 0;
}
