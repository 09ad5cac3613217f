/**
 * Command line of the core simulator, see test/sim/run.mjs: one seed, or consecutive ones for some seconds.
 * Jest runs fixed seeds from 1; here another range begins every hour, unless told where.
 */
import { numberOption } from '../number-option.js';
import { runSeeds } from './simulation.js';

const HOUR_MS = 3_600_000;
/** More seeds than an hour's run gets through. */
const SEEDS_AN_HOUR = 1_000_000;
/** Of them; all seeds fit the 32 bits of the generator. */
const RANGES = 4_000;
const DEFAULT_SECONDS = 10;

export interface CoreSeeds {
  readonly first: number;
  readonly count: number;
  readonly seconds: number;
}

/** Which seeds the arguments ask for. */
export function seedsOf(args: readonly string[], nowMs: number): CoreSeeds {
  const option = (name: string): number | undefined => numberOption(args, name);
  const one = option('--seed');
  const seconds = option('--cores') ?? DEFAULT_SECONDS;
  if (one !== undefined) return { first: one, count: 1, seconds };
  const first = option('--first') ?? 1 + (Math.floor(nowMs / HOUR_MS) % RANGES) * SEEDS_AN_HOUR;
  return { first, count: seconds > 0 ? SEEDS_AN_HOUR : 0, seconds };
}

/** 1 when a seed failed, which the message names; it stops there. */
export function main(args: readonly string[]): number {
  const { first, count, seconds } = seedsOf(args, Date.now());
  try {
    const { runs, stats } = runSeeds({ first, count, maxMillis: seconds * 1000 }, Date.now);
    process.stdout.write(`core-sim: ${runs} seeds from ${first} ${JSON.stringify(stats)}\n`);
    return 0;
  } catch (error) {
    process.stdout.write(`FAILED ${error instanceof Error ? error.message : String(error)}\n`);
    process.stdout.write('replay: npm run sim -- --seed, and the seed it names\n');
    return 1;
  }
}
