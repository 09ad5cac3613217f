/** Prints measurements, budgets and verdicts as tables of plain text. */
import type { Budget } from './budgets.js';
import { median } from './latency-record.js';
import type { Measurement } from './measure.js';
import { isSound, type Verdict } from './verifier.js';

type Row = readonly string[];

const number = (value: number | null, digits = 0): string =>
  value === null ? '-' : value.toFixed(digits);

export function table(head: Row, rows: readonly Row[]): string {
  const widths = head.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)),
  );
  const line = (row: Row): string =>
    row
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return [line(head), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join(
    '\n',
  );
}

const HEAD = [
  ...['case', 'req/s', 'msg/s', 'MB/s', 'p50 ms', 'p99', 'p99.9', 'max'],
  ...['cores', 'js µs/req', 'cpu s/M msg', 'RSS MB', 'flush/s', 'refused', 'rounds msg/s'],
];

export function measurementRow(measurement: Measurement, rates: readonly number[] = []): Row {
  const { latency } = measurement;
  return [
    measurement.name,
    number(measurement.requestsPerSecond),
    number(measurement.messagesPerSecond),
    number(measurement.mibPerSecond, 1),
    number(latency.p50Ms, 2),
    number(latency.p99Ms, 2),
    number(latency.p999Ms, 2),
    number(latency.maxMs, 1),
    number(measurement.cores, 2),
    number(measurement.mainMicrosPerRequest),
    number(measurement.cpuSecondsPerMillionMessages, 1),
    number(measurement.rssMib),
    number(measurement.flushesPerSecond),
    String(measurement.refused),
    rates.map((rate) => number(rate)).join(' '),
  ];
}

/** One row per case: the round whose rate is the median. */
export function measurementTable(all: readonly Measurement[]): string {
  const names = [...new Set(all.map(({ name }) => name))];
  const rows = names.map((name) => {
    const rounds = all.filter((measurement) => measurement.name === name);
    const rates = rounds.map(({ messagesPerSecond }) => messagesPerSecond);
    const middle = median(rates);
    const [shown] = [...rounds].sort(
      (a, b) => Math.abs(a.messagesPerSecond - middle) - Math.abs(b.messagesPerSecond - middle),
    );
    return shown === undefined ? [] : measurementRow(shown, rates);
  });
  return table(HEAD, rows);
}

export function budgetTable(budgets: readonly Budget[]): string {
  return table(
    ['budget (ARCHITECTURE.md §10)', 'measured', 'bound', 'verdict'],
    budgets.map(({ name, value, bound, holds }) => [
      name,
      number(value, 2),
      bound,
      holds ? 'pass' : 'FAIL',
    ]),
  );
}

export function verdictText(verdicts: readonly Verdict[]): string {
  const sum = (pick: (verdict: Verdict) => number): number =>
    verdicts.reduce((total, verdict) => total + pick(verdict), 0);
  const unsound = verdicts.filter((verdict) => !isSound(verdict));
  const lines = [
    `verifier: ${verdicts.length} queues, ${sum((v) => v.acknowledged)} acknowledged, ` +
      `${sum((v) => v.delivered)} delivered, ${sum((v) => v.lost)} lost, ` +
      `${sum((v) => v.duplicated)} twice, ${sum((v) => v.misplaced)} misplaced, ` +
      `${sum((v) => v.changed)} changed, ${sum((v) => v.unknown)} unknown, ` +
      `${sum((v) => v.unacknowledged)} without an answer: ${unsound.length === 0 ? 'sound' : 'BROKEN'}`,
    ...unsound.map((verdict) => `  ${verdict.queue}: ${JSON.stringify(verdict)}`),
  ];
  return lines.join('\n');
}
