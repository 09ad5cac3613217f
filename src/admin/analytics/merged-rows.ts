/**
 * Queue rows of all nodes as one series: by bucket, and over the whole window. A queue that was deleted
 * has none left: its number is gone, and a queue of the same name made anew has another. Parked pops
 * are an average over the time a node's rows cover, and add up over nodes.
 */
import type { QueueRow, Tables } from '../../machine/tables/tables.js';
import { Slices } from '../../reads/slices.js';
import { foldQueue, noQueueValues, QUEUE_FIELDS, queueValues } from '../rows/row-fields.js';
import type { QueueValues } from '../rows/row-fields.js';
import type { GatheredRows } from '../rows/row-gather.service.js';

export interface QueueSum {
  readonly values: number[];
  /** Pops parked on average. */
  parked: number;
}

export interface MergedRows {
  /** Starts of buckets with rows, ascending. */
  readonly buckets: readonly number[];
  /** By bucket start, then queue id. */
  readonly byBucket: ReadonlyMap<number, ReadonlyMap<number, QueueSum>>;
  /** By queue id over the window. */
  readonly window: ReadonlyMap<number, QueueSum>;
}

const PARKED_MS = QUEUE_FIELDS.indexOf('parkedMs');

export const noSum = (): QueueSum => ({ values: noQueueValues(), parked: 0 });

export const valuesOf = (sum: QueueSum): QueueValues => queueValues(sum.values);

export function foldSum(into: QueueSum, next: QueueSum): void {
  foldQueue(into.values, next.values);
  into.parked += next.parked;
}

/** Rows of queues that `select` admits. */
export async function mergeRows(
  { nodes }: GatheredRows,
  tables: Tables,
  select: (queue: QueueRow) => boolean,
): Promise<MergedRows> {
  const live = new Map<number, boolean>();
  const isWanted = (id: number): boolean => {
    const known = live.get(id);
    if (known !== undefined) return known;
    const queue = tables.queues.byId(id as QueueRow['id']);
    const wanted = queue !== undefined && select(queue);
    live.set(id, wanted);
    return wanted;
  };
  const slices = new Slices();
  const byBucket = new Map<number, Map<number, QueueSum>>();
  const window = new Map<number, QueueSum>();
  for (const { buckets } of nodes) {
    const coveredMs = buckets.reduce((sum, { widthMs }) => sum + widthMs, 0);
    for (const { startMs, widthMs, queues } of buckets) {
      const sums = byBucket.get(startMs) ?? new Map<number, QueueSum>();
      byBucket.set(startMs, sums);
      for (const { queueId, values } of queues.values()) {
        if (slices.isSpent()) await slices.pause();
        if (!isWanted(queueId)) continue;
        add(sums, queueId, values, widthMs);
        add(window, queueId, values, coveredMs);
      }
    }
  }
  return { buckets: [...byBucket.keys()].sort((a, b) => a - b), byBucket, window };
}

function add(
  sums: Map<number, QueueSum>,
  queueId: number,
  values: readonly number[],
  coveredMs: number,
): void {
  const sum = sums.get(queueId) ?? noSum();
  sums.set(queueId, sum);
  foldQueue(sum.values, values);
  sum.parked += (values[PARKED_MS] ?? 0) / Math.max(coveredMs, 1);
}

export interface Lag {
  readonly avgLagMs: number | null;
  readonly maxLagMs: number | null;
}

/** Null where nothing was sampled. */
export function lagOf({ lagSumMs, lagMaxMs, lagCount }: LagSums): Lag {
  if (lagCount === 0) return { avgLagMs: null, maxLagMs: null };
  return { avgLagMs: rounded(lagSumMs / lagCount), maxLagMs: rounded(lagMaxMs) };
}

interface LagSums {
  readonly lagSumMs: number;
  readonly lagMaxMs: number;
  readonly lagCount: number;
}

const rounded = (value: number): number => Math.round(value * 100) / 100;
