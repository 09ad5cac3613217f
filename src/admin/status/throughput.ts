/**
 * The throughput of the status (admin.md §1.1), newest bucket first: from process rows, or from rows of
 * selected queues, where what only a process knows is null in a bucket without any process row.
 */
import { valuesOf, foldSum, noSum, type MergedRows } from '../analytics/merged-rows.js';
import { foldProcess, GAUGES, noProcessValues, processValues } from '../rows/row-fields.js';
import type { Gauge, GaugeSamples, ProcessValues } from '../rows/row-fields.js';
import type { GatheredRows } from '../rows/row-gather.service.js';
import { perSecond, round2, secondsText } from '../rows/windows.js';
import type { ThroughputDto } from './status.dto.js';

const MIB = 1024 * 1024;
const NEVER = { minFreeSlots: null, dbPoolActive: null, dbPoolIdle: null, dbPoolSize: null };

interface ProcessBucket {
  readonly values: number[];
  readonly gauges: GaugeSamples[];
}

/** By bucket start. */
function processBuckets({ nodes }: GatheredRows): Map<number, ProcessBucket> {
  const buckets = new Map<number, ProcessBucket>();
  for (const node of nodes) {
    for (const { startMs, process, gauges } of node.buckets) {
      const bucket = buckets.get(startMs) ?? { values: noProcessValues(), gauges: [] };
      foldProcess(bucket.values, process);
      if (gauges.count > 0) bucket.gauges.push(gauges);
      buckets.set(startMs, bucket);
    }
  }
  return buckets;
}

export function processThroughput(gathered: GatheredRows, widthMinutes: number): ThroughputDto[] {
  return [...processBuckets(gathered)]
    .sort(([a], [b]) => b - a)
    .map(([startMs, { values, gauges }]) => {
      const row = processValues(values);
      const { pushMessages, popMessages, ackMessages, ackFailed } = row;
      const moved = { ingested: pushMessages, processed: ackMessages - ackFailed, popMessages };
      return {
        ...{ timestamp: secondsText(startMs), ...moved, ...ratesOf(moved, widthMinutes) },
        ...lagOf(row),
        ...loopOf(row),
        ...NEVER,
        ...{ dbErrors: 0, ackFailed, dlqCount: row.deadLettered },
        ...machineOf(gauges),
      };
    });
}

export function queueThroughput(
  gathered: GatheredRows,
  merged: MergedRows,
  widthMinutes: number,
): ThroughputDto[] {
  const processes = processBuckets(gathered);
  const rows = [...merged.byBucket].filter(([, sums]) => sums.size > 0).sort(([a], [b]) => b - a);
  return rows.map(([startMs, sums]) => {
    const total = noSum();
    for (const sum of sums.values()) foldSum(total, sum);
    const queue = valuesOf(total);
    const { pushMessages, popMessages, ackSuccess, ackFailed } = queue;
    const moved = { ingested: pushMessages, processed: ackSuccess, popMessages };
    const worker = processes.get(startMs);
    const row = worker === undefined ? null : processValues(worker.values);
    return {
      ...{ timestamp: secondsText(startMs), ...moved, ...ratesOf(moved, widthMinutes) },
      ...lagOf(queue),
      ...(row === null ? { avgEventLoopLagMs: null, maxEventLoopLagMs: null } : loopOf(row)),
      ...NEVER,
      ...{ dbErrors: row === null ? null : 0, ackFailed },
      dlqCount: row === null ? null : row.deadLettered,
      ...machineOf(worker?.gauges ?? []),
    };
  });
}

interface Moved {
  readonly ingested: number;
  readonly processed: number;
  readonly popMessages: number;
}

const ratesOf = ({ ingested, processed, popMessages }: Moved, widthMinutes: number) => ({
  ingestedPerSecond: perSecond(ingested, widthMinutes),
  processedPerSecond: perSecond(processed, widthMinutes),
  popPerSecond: perSecond(popMessages, widthMinutes),
});

/** Not rounded; 0 where nothing was sampled. */
function lagOf(row: Pick<ProcessValues, 'lagSumMs' | 'lagMaxMs' | 'lagCount'>): {
  avgLagMs: number;
  maxLagMs: number;
} {
  const { lagSumMs, lagMaxMs, lagCount } = row;
  return { avgLagMs: lagCount === 0 ? 0 : lagSumMs / lagCount, maxLagMs: round2(lagMaxMs) };
}

export function loopOf({ loopSumMs, loopMaxMs, loopCount }: ProcessValues): {
  avgEventLoopLagMs: number;
  maxEventLoopLagMs: number;
} {
  return {
    avgEventLoopLagMs: loopCount === 0 ? 0 : round2(loopSumMs / loopCount),
    maxEventLoopLagMs: round2(loopMaxMs),
  };
}

/** Means over nodes: shares of one core, resident memory. */
function machineOf(gauges: readonly GaugeSamples[]): {
  queenCpuUserPct: number | null;
  queenCpuSysPct: number | null;
  queenRssMb: number | null;
} {
  const mean = (gauge: Gauge, unit: number): number | null => {
    if (gauges.length === 0) return null;
    const at = GAUGES.indexOf(gauge) * 4;
    const means = gauges.map(({ count, values }) => (values[at] ?? 0) / count / unit);
    return Math.round((means.reduce((sum, one) => sum + one, 0) / means.length) * 10) / 10;
  };
  return {
    queenCpuUserPct: mean('cpuUser', 100),
    queenCpuSysPct: mean('cpuSystem', 100),
    queenRssMb: mean('rssBytes', MIB),
  };
}
