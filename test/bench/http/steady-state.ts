/**
 * Push 100 x 1 KB for a long time: the rate of the last third against the first, the slowest answers
 * and the longest time in which no connection got one.
 */
import { atLeast, type Budget } from './budgets.js';
import { connectionsOf } from './cases.js';
import { measure, type Measurement } from './measure.js';
import { PushLedger } from './push-ledger.js';
import { PushLoad } from './push-load.js';
import type { ServerProcess } from './server-process.js';

export interface SteadyFigures {
  readonly ledger: PushLedger;
  readonly measurement: Measurement;
  readonly budget: Budget;
  readonly longestStallMs: number;
  readonly writtenGib: number;
  /** Messages per second, one value a second. */
  readonly rates: readonly number[];
}

export async function measureSteadyState(
  broker: ServerProcess,
  seconds: number,
): Promise<SteadyFigures> {
  const shape = { queue: 'steady', batch: 100, payloadBytes: 1024, partitions: 100, spread: false };
  const ledger = new PushLedger(shape);
  const rates = new Array<number>(Math.ceil(seconds)).fill(0);
  const window = { warmupMs: 1000, measureMs: seconds * 1000 };
  const from = performance.now() + window.warmupMs;
  let last = from;
  let longestStallMs = 0;
  const measurement = await measure(
    { name: `steady ${seconds} s push b100 1KB p100`, round: 1, pid: broker.pid },
    window,
    () =>
      PushLoad.run({
        ...{ port: broker.port, ledger, ...window, connections: connectionsOf(shape) },
        onAnswer: (now) => {
          if (now < from) return;
          longestStallMs = Math.max(longestStallMs, now - last);
          last = now;
          const second = Math.floor((now - from) / 1000);
          if (second < rates.length) rates[second] = (rates[second] ?? 0) + shape.batch;
        },
      }),
  );
  const third = Math.max(1, Math.floor(rates.length / 3));
  const sum = (part: readonly number[]): number => part.reduce((total, rate) => total + rate, 0);
  return {
    ...{ ledger, measurement, longestStallMs, rates },
    writtenGib: (measurement.mibPerSecond * seconds) / 1024,
    budget: atLeast(
      `steady state, last third / first third of ${seconds} s`,
      sum(rates.slice(-third)) / Math.max(1, sum(rates.slice(0, third))),
      0.9,
    ),
  };
}
