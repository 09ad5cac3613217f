/**
 * The core-level simulator: seeds that failed once, then the same seeds every time within a time bound;
 * `npm run sim` moves them. Replay one with QUEEN_SIM_SEED=<n> npx jest test/sim/core; QUEEN_SIM_FIRST and
 * QUEEN_SIM_MILLIS move and widen the range.
 */
import { seedsOf } from './main.js';
import { runSeed, runSeeds } from './simulation.js';

const MAX_MILLIS = Number(process.env['QUEEN_SIM_MILLIS'] ?? 10_000);
const FIRST_SEED = Number(process.env['QUEEN_SIM_FIRST'] ?? 1);

/** Every seed that ever found something. */
const FAILED_ONCE: readonly number[] = [2012445];

describe('core simulator', () => {
  const given = process.env['QUEEN_SIM_SEED'];

  if (given !== undefined) {
    it(`seed ${given}`, () => {
      expect(runSeed(Number(given)).committed).toBeGreaterThan(0);
    });
    return;
  }

  it('outside Jest runs other seeds every hour, and those that are asked for', () => {
    const [now, hour] = [1_900_000_000_000, 3_600_000];
    const first = (atMs: number): number => seedsOf([], atMs).first;
    expect(first(now + hour)).not.toBe(first(now));
    expect(first(now + 1)).toBe(first(now));
    expect(seedsOf(['--first', '70', '--cores', '3'], now)).toMatchObject({
      first: 70,
      seconds: 3,
    });
    expect(seedsOf(['--seed', '9'], now)).toMatchObject({ first: 9, count: 1 });
    expect(seedsOf(['--cores', '0'], now).count).toBe(0);
    for (const args of [['--cores', 'x'], ['--seed'], ['--first', '--seed']]) {
      expect(() => seedsOf(args, now)).toThrow('wants a number');
    }
  });

  it.each([0, ...FAILED_ONCE])('seed %i, kept', (seed) => {
    expect(runSeed(seed).committed).toBeGreaterThan(0);
  });

  it(
    'seeds in a row are safe and converge',
    () => {
      const range = { first: FIRST_SEED, count: 1_000_000, maxMillis: MAX_MILLIS };
      const { runs, stats } = runSeeds(range, Date.now);
      expect(runs).toBeGreaterThan(10);
      process.stdout.write(`core-sim: ${runs} runs ${JSON.stringify(stats)}\n`);
      // The runs must have done something, or their silence means nothing.
      expect(stats.committed / runs).toBeGreaterThan(5);
      expect(stats.elections / runs).toBeGreaterThan(1);
      expect(stats.reads).toBeGreaterThan(runs);
    },
    MAX_MILLIS + 10_000,
  );
});
