/**
 * What a minute row holds, as columns of numbers: one row of the process, one per queue with traffic,
 * and samples of gauges. Every column is a sum or a largest value, so rows of many minutes and nodes
 * merge in any order. The order is part of the file format and of what members tell each other:
 * append only.
 */

export const QUEUE_FIELDS = [
  'pushRequests',
  'pushMessages',
  'popMessages',
  'popEmpty',
  'ackRequests',
  'ackSuccess',
  'ackFailed',
  'transactions',
  'conflated',
  'lagSumMs',
  'lagMaxMs',
  'lagCount',
  'parkedMs',
  'partitionsCreated',
  'partitionsDeleted',
  'retentionMsgs',
  'completedRetentionMsgs',
  'evictionMsgs',
  'retentionEvents',
] as const;

export const PROCESS_FIELDS = [
  'pushRequests',
  'pushMessages',
  'popRequests',
  'popMessages',
  'ackRequests',
  'ackMessages',
  'ackFailed',
  'deadLettered',
  'lagSumMs',
  'lagMaxMs',
  'lagCount',
  'loopSumMs',
  'loopMaxMs',
  'loopCount',
] as const;

export const GAUGES = [
  'cpuUser',
  'cpuSystem',
  'rssBytes',
  'virtualBytes',
  'responses',
  'inflight',
  'appliedLag',
  'logBytes',
  'logFiles',
] as const;

export type QueueField = (typeof QUEUE_FIELDS)[number];
export type ProcessField = (typeof PROCESS_FIELDS)[number];
export type Gauge = (typeof GAUGES)[number];

export type QueueValues = Record<QueueField, number>;
export type ProcessValues = Record<ProcessField, number>;

const isMax = (field: string): boolean => field.endsWith('MaxMs');
const QUEUE_MAX = QUEUE_FIELDS.map(isMax);
const PROCESS_MAX = PROCESS_FIELDS.map(isMax);

function fold(into: number[], row: readonly number[], max: readonly boolean[]): void {
  for (let i = 0; i < max.length; i += 1) {
    const value = row[i] ?? 0;
    const known = into[i] ?? 0;
    into[i] = max[i] === true ? Math.max(known, value) : known + value;
  }
}

export const foldQueue = (into: number[], row: readonly number[]): void =>
  fold(into, row, QUEUE_MAX);
export const foldProcess = (into: number[], row: readonly number[]): void =>
  fold(into, row, PROCESS_MAX);

/** Sum, least, largest and newest value of each gauge, four numbers apart; `count` samples. */
export interface GaugeSamples {
  count: number;
  values: number[];
}

export function foldGauges(into: GaugeSamples, next: GaugeSamples): void {
  if (next.count === 0) return;
  for (let at = 0; at < GAUGES.length * 4; at += 4) {
    const [sum = 0, least = 0, most = 0, newest = 0] = next.values.slice(at, at + 4);
    const first = into.count === 0;
    into.values[at] = (into.values[at] ?? 0) + sum;
    into.values[at + 1] = first ? least : Math.min(into.values[at + 1] ?? 0, least);
    into.values[at + 2] = first ? most : Math.max(into.values[at + 2] ?? 0, most);
    into.values[at + 3] = newest;
  }
  into.count += next.count;
}

export const noQueueValues = (): number[] => QUEUE_FIELDS.map(() => 0);
export const noProcessValues = (): number[] => PROCESS_FIELDS.map(() => 0);
export const noGauges = (): GaugeSamples => ({
  count: 0,
  values: GAUGES.flatMap(() => [0, 0, 0, 0]),
});

export function queueValues(row: readonly number[]): QueueValues {
  return Object.fromEntries(QUEUE_FIELDS.map((name, i) => [name, row[i] ?? 0])) as QueueValues;
}

export function processValues(row: readonly number[]): ProcessValues {
  return Object.fromEntries(PROCESS_FIELDS.map((name, i) => [name, row[i] ?? 0])) as ProcessValues;
}
