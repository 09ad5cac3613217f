/** The process's clock and randomness behind the vocabulary's interfaces. */
import { randomFillSync } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Clock } from '../common/clock.js';
import type { RandomSource } from '../common/random.js';

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMicros: () => performance.now() * 1000,
};

export const systemRandom: RandomSource = {
  fill: (target) => {
    randomFillSync(target);
  },
};

/** Milliseconds on the monotonic clock that deadlines are measured on. */
export function monotonicMs(): number {
  return performance.now();
}
