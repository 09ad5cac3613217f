/**
 * The seeded generator repeats, differs by seed and is even enough for tests.
 */
import { Prng } from './prng.js';

describe('Prng', () => {
  it('repeats for a seed and differs between seeds', () => {
    const take = (seed: number): number[] => {
      const prng = new Prng(seed);
      return Array.from({ length: 8 }, () => prng.nextUint32());
    };
    expect(take(7)).toEqual(take(7));
    expect(take(7)).not.toEqual(take(8));
    expect(take(7)).not.toEqual(take(7 + 2 ** 32));
    expect(take(0).every((value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32)).toBe(
      true,
    );
  });

  it('is even enough for tests', () => {
    const prng = new Prng(1);
    const counts = new Array<number>(10).fill(0);
    for (let i = 0; i < 20_000; i++) counts[prng.nextBelow(10)]! += 1;
    expect(Math.min(...counts)).toBeGreaterThan(1800);
    expect(Math.max(...counts)).toBeLessThan(2200);
    const mean =
      Array.from({ length: 10_000 }, () => prng.nextFloat()).reduce((a, b) => a + b) / 10_000;
    expect(mean).toBeCloseTo(0.5, 1);
  });

  it('fills targets of any length', () => {
    const target = new Uint8Array(1001);
    new Prng(3).fill(target);
    expect(new Set(target).size).toBeGreaterThan(200);
  });
});
