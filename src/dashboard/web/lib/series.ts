/** Rows per queue and bucket, summed to one line per figure over a whole time axis. */
import type { OpsAnswer, OpsPoint } from './shapes';

export interface Summed {
  /** Unix seconds. */
  readonly times: number[];
  readonly push: number[];
  readonly pop: number[];
  readonly ack: number[];
  readonly empty: number[];
  readonly failed: number[];
  readonly parked: number[];
  readonly created: number[];
  readonly deleted: number[];
  readonly avgLag: (number | null)[];
  readonly maxLag: (number | null)[];
  /** Pushed minus acknowledged since the start of the range. */
  readonly drift: number[];
}

export function sumSeries({ series }: OpsAnswer): Summed {
  const buckets = new Map<string, OpsPoint[]>();
  for (const point of series) {
    const known = buckets.get(point.bucket);
    if (known === undefined) buckets.set(point.bucket, [point]);
    else known.push(point);
  }
  const sorted = [...buckets].sort(([a], [b]) => (a < b ? -1 : 1));
  const of = (read: (point: OpsPoint) => number): number[] =>
    sorted.map(([, points]) => points.reduce((sum, point) => sum + read(point), 0));
  const most = (read: (point: OpsPoint) => number | null): (number | null)[] =>
    sorted.map(([, points]) => {
      const known = points.map(read).filter((value) => value !== null);
      return known.length === 0 ? null : Math.max(...known);
    });
  let drift = 0;
  return {
    times: sorted.map(([bucket]) => Date.parse(bucket) / 1000),
    push: of((point) => point.pushPerSecond),
    pop: of((point) => point.popPerSecond),
    ack: of((point) => point.ackPerSecond),
    empty: of((point) => point.popEmpty),
    failed: of((point) => point.ackFailed),
    parked: of((point) => point.parkedCount),
    created: of((point) => point.partitionsCreated),
    deleted: of((point) => point.partitionsDeleted),
    avgLag: most((point) => point.avgLagMs),
    maxLag: most((point) => point.maxLagMs),
    drift: of((point) => point.pushMessages - point.ackSuccess).map((step) => (drift += step)),
  };
}

/** A bucket older than this says nothing about now. */
const RECENT_MS = 3 * 60_000;

/** Rows of each queue over the newest bucket, where that is recent: the others do nothing now. */
export function latestRates({ series }: OpsAnswer, now = Date.now()): Map<string, OpsPoint> {
  const latest = new Map<string, OpsPoint>();
  for (const point of series) {
    if (now - Date.parse(point.bucket) <= RECENT_MS) latest.set(point.queueName, point);
  }
  return latest;
}
