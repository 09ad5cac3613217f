/**
 * Randomness as a dependency. The shell implements it with the operating system's generator, tests
 * with a seeded one (prng.ts).
 */

export interface RandomSource {
  /** Fills the whole target with random bytes. */
  fill(target: Uint8Array): void;
}
