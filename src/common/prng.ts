/**
 * Seeded generator for tests and simulation: sfc32 (Chris Doty-Humphrey, PractRand), 128 bits of
 * state. The same seed gives the same sequence on every machine. Never for ids or secrets.
 */

import type { RandomSource } from './random.js';

export class Prng implements RandomSource {
  private a = 0;
  private b = 0;
  private c = 0;
  private counter = 1;

  constructor(seed: number) {
    this.a = 0x9e3779b9;
    this.b = Math.floor(seed / 0x1_0000_0000) | 0;
    this.c = seed | 0;
    for (let round = 0; round < 12; round++) this.nextUint32();
  }

  /** Uniform in 0 … 2^32 − 1. */
  nextUint32(): number {
    const sum = (((this.a + this.b) | 0) + this.counter) | 0;
    this.counter = (this.counter + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (((this.c << 21) | (this.c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** Uniform integer in 0 … bound − 1, for 1 ≤ bound ≤ 2^32 (rejection, no modulo bias). */
  nextBelow(bound: number): number {
    const limit = 0x1_0000_0000 - (0x1_0000_0000 % bound);
    let drawn = this.nextUint32();
    while (drawn >= limit) drawn = this.nextUint32();
    return drawn % bound;
  }

  /** Uniform in [0, 1) with 53 bits. */
  nextFloat(): number {
    return ((this.nextUint32() >>> 5) * 0x400_0000 + (this.nextUint32() >>> 6)) / 2 ** 53;
  }

  fill(target: Uint8Array): void {
    let word = 0;
    for (let at = 0; at < target.length; at++) {
      if ((at & 3) === 0) word = this.nextUint32();
      target[at] = word & 0xff;
      word >>>= 8;
    }
  }
}
