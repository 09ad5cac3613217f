/** The rows of figures that the overview and the page of a queue show over a range. */
import type { Line } from './chart';
import { count, decimal, millis, percent, rate } from './format';
import type { Summed } from './series';
import { toneOf, type Tone } from './severity';

export interface MetricRow {
  readonly title: string;
  readonly note: string;
  /** Unix seconds, ascending. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly format: (value: number | null) => string;
  /** The newest value, written out. */
  readonly now: string;
  readonly tone?: Tone;
  readonly link?: { readonly to: string; readonly text: string };
}

type Values = readonly (number | null)[];

const LOOP_WARN_MS = 50;
const LOOP_BAD_MS = 100;

const last = (values: Values): number | null => values.at(-1) ?? null;
const share = (value: number | null): string => percent(value === null ? null : value * 100);

export function opsRows(sums: Summed | null): MetricRow[] {
  if (sums === null) return [];
  const { times } = sums;
  return [
    {
      ...{ title: 'Throughput', note: 'messages per second', times, format: rate },
      lines: [
        { label: 'push', values: sums.push, hue: 0 },
        { label: 'pop', values: sums.pop, hue: 1 },
        { label: 'ack', values: sums.ack, hue: 2 },
      ],
      now: [sums.push, sums.pop, sums.ack].map((values) => decimal(last(values))).join(' / '),
    },
    {
      ...{ title: 'Pending Δ', note: 'pushed minus acknowledged, since the start of the range' },
      ...{ times, format: count, now: count(last(sums.drift)) },
      lines: [{ label: 'messages', values: sums.drift, hue: 0 }],
    },
    {
      ...{ title: 'Parked consumers', note: 'polls that wait; empty polls', times, format: count },
      lines: [
        { label: 'parked', values: sums.parked, hue: 0 },
        { label: 'empty', values: sums.empty, hue: 3 },
      ],
      now: count(last(sums.parked)),
    },
    {
      ...{ title: 'Time lag', note: 'from push to pop', times, format: millis },
      lines: [
        { label: 'average', values: sums.avgLag, hue: 0 },
        { label: 'largest', values: sums.maxLag, hue: 2 },
      ],
      now: millis(last(sums.avgLag)),
    },
    {
      ...{ title: 'Errors', note: 'failed acknowledgements', times, format: count },
      lines: [{ label: 'failed acks', values: sums.failed, hue: 2 }],
      now: count(last(sums.failed)),
      link: { to: '/dlq', text: 'Dead letters' },
    },
    {
      ...{ title: 'Partitions', note: 'created and removed', times, format: count },
      lines: [
        { label: 'created', values: sums.created, hue: 0 },
        { label: 'removed', values: sums.deleted, hue: 3 },
      ],
      now: `+${count(last(sums.created))} −${count(last(sums.deleted))}`,
    },
  ];
}

interface Polls {
  readonly timeSeries: readonly { readonly timestamp: string; readonly popRequests: number }[];
}

/** Share of polls that brought messages; unknown where nobody polled. */
export function fillRow(sums: Summed | null, polls: Polls | null): MetricRow[] {
  if (sums === null || polls === null) return [];
  const asked = new Map(
    polls.timeSeries.map(({ timestamp, popRequests }) => [
      Date.parse(timestamp) / 1000,
      popRequests,
    ]),
  );
  const values = sums.times.map((at, i) => {
    const all = asked.get(at) ?? 0;
    return all === 0 ? null : Math.max(0, 1 - (sums.empty[i] ?? 0) / all);
  });
  return [
    {
      ...{ title: 'Fill ratio', note: 'polls that brought messages', times: sums.times },
      ...{ format: share, now: share(last(values)) },
      lines: [{ label: 'filled', values, hue: 1 }],
    },
  ];
}

export interface RetentionBucket {
  readonly bucket: string;
  readonly retentionMsgs: number;
  readonly completedRetentionMsgs: number;
  readonly evictionMsgs: number;
  readonly totalMsgs: number;
}

export function retentionRow(series: readonly RetentionBucket[] | undefined): MetricRow[] {
  if (series === undefined) return [];
  const of = (read: (bucket: RetentionBucket) => number): number[] => series.map(read);
  const totals = of(({ totalMsgs }) => totalMsgs);
  return [
    {
      ...{ title: 'Retention deletions', note: 'messages removed by age', format: count },
      times: of(({ bucket }) => Date.parse(bucket) / 1000),
      lines: [
        { label: 'in all', values: totals, hue: 0 },
        { label: 'retention', values: of((one) => one.retentionMsgs), hue: 1 },
        { label: 'once consumed', values: of((one) => one.completedRetentionMsgs), hue: 3 },
        { label: 'evicted', values: of((one) => one.evictionMsgs), hue: 2 },
      ],
      now: count(series.length === 0 ? 0 : last(totals)),
    },
  ];
}

export interface Throughput {
  readonly timestamp: string;
  readonly maxEventLoopLagMs: number | null;
  readonly avgEventLoopLagMs: number | null;
  readonly queenCpuUserPct: number | null;
  readonly queenCpuSysPct: number | null;
  readonly queenRssMb: number | null;
}

/** Of the nodes themselves; the newest bucket comes first. */
export function nodeRows(throughput: readonly Throughput[] | undefined): MetricRow[] {
  if (throughput === undefined) return [];
  const rows = [...throughput].reverse();
  const times = rows.map(({ timestamp }) => Date.parse(timestamp) / 1000);
  const loop = rows.map(({ maxEventLoopLagMs }) => maxEventLoopLagMs);
  const cpu = rows.map(({ queenCpuUserPct: user, queenCpuSysPct: sys }) =>
    user === null || sys === null ? null : user + sys,
  );
  const memory = rows.map(({ queenRssMb }) => queenRssMb);
  const megabytes = (value: number | null): string =>
    value === null ? '—' : `${decimal(value, 0)} MiB`;
  return [
    {
      ...{ title: 'Event loop', note: 'largest lag', times, format: millis },
      lines: [{ label: 'largest lag', values: loop, hue: 0 }],
      now: millis(last(loop)),
      tone: toneOf(last(loop) ?? 0, LOOP_WARN_MS, LOOP_BAD_MS),
    },
    {
      ...{ title: 'CPU', note: 'of one core, mean over nodes', times, format: percent },
      lines: [{ label: 'CPU', values: cpu, hue: 1 }],
      now: percent(last(cpu)),
    },
    {
      ...{ title: 'Memory', note: 'resident, mean over nodes', times, format: megabytes },
      lines: [{ label: 'resident', values: memory, hue: 0 }],
      now: megabytes(last(memory)),
    },
  ];
}
