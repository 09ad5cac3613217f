/** The process clock: the monotonic reading is `performance.now()`, as deadlines everywhere use it. */
import type { Clock } from '../common/clock.js';

export const nodeClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMicros: () => Math.trunc(performance.now() * 1000),
};
