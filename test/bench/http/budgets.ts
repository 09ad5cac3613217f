/** The budgets of ARCHITECTURE.md §10 that one run can judge, as ratios measured in that run. */
import { BUDGET_CASES, JSON_BASELINE, scanName } from './cases.js';
import { median } from './latency-record.js';
import type { Measurement } from './measure.js';

export interface Budget {
  readonly name: string;
  readonly value: number;
  readonly bound: string;
  readonly holds: boolean;
  /** No matter of speed: the run fails with it, also without --strict. */
  readonly isSoundness?: true;
}

export function atLeast(name: string, value: number, bound: number): Budget {
  return { name, value, bound: `>= ${bound}`, holds: value >= bound };
}

export function atMost(name: string, value: number, bound: number): Budget {
  return { name, value, bound: `<= ${bound}`, holds: value <= bound };
}

/** What must not be there at all, on a machine of any speed. */
export function none(name: string, count: number): Budget {
  return { ...atMost(name, count, 0), isSoundness: true };
}

type Figure = (measurement: Measurement) => number;
const requests: Figure = ({ requestsPerSecond }) => requestsPerSecond;
/** Requests that one second of the JavaScript thread serves: blind to what else the machine does. */
const byCpu: Figure = ({ mainMicrosPerRequest }) =>
  1 / Math.max(1e-9, mainMicrosPerRequest ?? 1e-9);
const messages: Figure = ({ messagesPerSecond }) => messagesPerSecond;

/** Median of the rounds' own ratios; undefined when one side was not measured. */
function ratio(
  all: readonly Measurement[],
  names: [string, string],
  figure: Figure,
): number | undefined {
  const ratios: number[] = [];
  for (const above of all.filter(({ name }) => name === names[0])) {
    const below = all.find(({ name, round }) => name === names[1] && round === above.round);
    if (below !== undefined) ratios.push(figure(above) / figure(below));
  }
  return ratios.length === 0 ? undefined : median(ratios);
}

export function judge(all: readonly Measurement[], idleRssMib: number | null): readonly Budget[] {
  const { pushOne, pushHundred, popHundred, halfLoad } = BUDGET_CASES;
  const budgets: Budget[] = [];
  const one = ratio(all, [pushOne.name, JSON_BASELINE], requests);
  if (one !== undefined) budgets.push(atLeast('push batch 1 / bare Fastify, req/s', one, 0.45));
  const hundred = ratio(all, [pushHundred.name, scanName(pushHundred)], requests);
  if (hundred !== undefined)
    budgets.push(atLeast('push 100 x 1 KB / scan only, req/s', hundred, 0.5));
  const oneCpu = ratio(all, [pushOne.name, JSON_BASELINE], byCpu);
  if (oneCpu !== undefined)
    budgets.push(atLeast('push batch 1 / bare Fastify, by CPU of the JS thread', oneCpu, 0.45));
  const hundredCpu = ratio(all, [pushHundred.name, scanName(pushHundred)], byCpu);
  if (hundredCpu !== undefined) {
    budgets.push(atLeast('push 100 x 1 KB / scan only, by CPU of the JS thread', hundredCpu, 0.5));
  }
  const pop = ratio(all, [popHundred.name, pushHundred.name], messages);
  if (pop !== undefined) budgets.push(atLeast('pop(100) + batch ack / push, msg/s', pop, 1));
  const half = all.filter(({ name }) => name === halfLoad.name).map(({ latency }) => latency.p99Ms);
  if (half.length > 0) budgets.push(atMost('push p99 at half load, ms', median(half), 10));
  if (idleRssMib !== null) budgets.push(atMost('RSS idle, MB', idleRssMib, 160));
  return budgets;
}
