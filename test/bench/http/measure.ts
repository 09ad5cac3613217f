/** One load over one server with what the server spent meanwhile. */
import type { LatencySummary } from './latency-record.js';
import type { LoadFigures, LoadWindow } from './load.js';
import { diskFigures, processFigures, type ProcessFigures } from './process-figures.js';

const MIB = 1024 * 1024;

export interface Measurement {
  readonly name: string;
  readonly round: number;
  readonly requestsPerSecond: number;
  readonly messagesPerSecond: number;
  readonly mibPerSecond: number;
  readonly latency: LatencySummary;
  /** Cores that the server used: near its limit it is the server that is measured. */
  readonly cores: number | null;
  /** CPU of the JavaScript thread per request, µs: what bounds the rate on a quiet machine. */
  readonly mainMicrosPerRequest: number | null;
  readonly cpuSecondsPerMillionMessages: number | null;
  readonly rssMib: number | null;
  /** Flushes of all disks of the machine. */
  readonly flushesPerSecond: number | null;
  readonly refused: number;
  readonly firstRefusal?: string;
  readonly ack?: LatencySummary;
}

interface Sample {
  readonly at: number;
  readonly cpuSeconds: number | null;
  readonly mainCpuSeconds: number | null;
  readonly flushes: number | null;
}

/** Of all processes together; null when one of them cannot be seen. */
function together(pids: readonly number[]): ProcessFigures | null {
  const sum = { cpuSeconds: 0, mainCpuSeconds: 0, rssBytes: 0 };
  for (const pid of pids) {
    const figures = processFigures(pid);
    if (figures === null) return null;
    sum.cpuSeconds += figures.cpuSeconds;
    sum.mainCpuSeconds += figures.mainCpuSeconds;
    sum.rssBytes += figures.rssBytes;
  }
  return sum;
}

function sample(pids: readonly number[]): Sample {
  const figures = together(pids);
  return {
    at: performance.now(),
    cpuSeconds: figures?.cpuSeconds ?? null,
    mainCpuSeconds: figures?.mainCpuSeconds ?? null,
    flushes: diskFigures()?.flushes ?? null,
  };
}

export interface MeasureLabel {
  readonly name: string;
  readonly round: number;
  readonly pid: number;
  /** Processes of a cluster, measured together, instead of `pid`. */
  readonly pids?: readonly number[];
}

/** Runs the load; CPU and flushes are those of its window. */
export async function measure(
  label: MeasureLabel,
  window: LoadWindow,
  load: () => Promise<LoadFigures & { readonly ack?: LatencySummary }>,
): Promise<Measurement> {
  const { name, round } = label;
  const pids = label.pids ?? [label.pid];
  let before = sample(pids);
  let after: Sample | null = null;
  const atStart = setTimeout(() => (before = sample(pids)), window.warmupMs);
  const atEnd = setTimeout(() => (after = sample(pids)), window.warmupMs + window.measureMs);
  const figures = await load();
  clearTimeout(atStart);
  clearTimeout(atEnd);
  const end: Sample = after ?? sample(pids);
  const seconds = Math.max(0.001, (end.at - before.at) / 1000);
  const cpu = difference(before.cpuSeconds, end.cpuSeconds);
  const main = difference(before.mainCpuSeconds, end.mainCpuSeconds);
  const requestsPerSecond = figures.requests / figures.seconds;
  const flushes = difference(before.flushes, end.flushes);
  const messagesPerSecond = figures.messages / figures.seconds;
  const rss = together(pids)?.rssBytes;
  return {
    ...{ name, round, requestsPerSecond, messagesPerSecond },
    mibPerSecond: figures.bytes / figures.seconds / MIB,
    latency: figures.latency,
    cores: cpu === null ? null : cpu / seconds,
    mainMicrosPerRequest:
      main === null ? null : ((main / seconds) * 1e6) / Math.max(1, requestsPerSecond),
    cpuSecondsPerMillionMessages:
      cpu === null ? null : ((cpu / seconds) * 1e6) / Math.max(1, messagesPerSecond),
    rssMib: rss === undefined ? null : rss / MIB,
    flushesPerSecond: flushes === null ? null : flushes / seconds,
    refused: figures.refused,
    ...(figures.firstRefusal === undefined ? {} : { firstRefusal: figures.firstRefusal }),
    ...(figures.ack === undefined ? {} : { ack: figures.ack }),
  };
}

function difference(before: number | null, after: number | null): number | null {
  return before === null || after === null ? null : after - before;
}
