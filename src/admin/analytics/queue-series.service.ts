/**
 * Series by queue over a window (admin.md §1.6): lag at delivery, operations, parked pops by replica,
 * what retention removed. From minute rows of every node; no gap is filled. Many queues over many
 * buckets are many rows: they are sorted and rendered in slices.
 */
import { Inject, Injectable } from '@nestjs/common';
import { hexText } from '../../common/uuid-v7.js';
import { systemClock } from '../../config/index.js';
import { textOrUndefined, type QueryValues } from '../../http/query.js';
import type { QueueRow } from '../../machine/tables/tables.js';
import { Groups } from '../../raft/index.js';
import { jsonArray, jsonWith, Slices, sortInSlices } from '../../reads/slices.js';
import { QUEUE_FIELDS } from '../rows/row-fields.js';
import { RowGather, type GatheredRows } from '../rows/row-gather.service.js';
import { parseWindow, perSecond, round2, secondsText, timeRange } from '../rows/windows.js';
import type { Window } from '../rows/windows.js';
import { lagOf, mergeRows, valuesOf, type MergedRows, type QueueSum } from './merged-rows.js';
import type { ParkedReplicasDto, QueueLagDto, QueueOpsPointDto } from './series.dto.js';

const WORKER = 0;

export interface Series {
  readonly window: Window;
  readonly merged: MergedRows;
}

@Injectable()
export class QueueSeriesService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(RowGather) private readonly rows: RowGather,
  ) {}

  /** A JSON array of `QueueLagDto`. */
  async lag(tenant: Uint8Array, query: QueryValues): Promise<Buffer> {
    const slices = new Slices();
    const window = parseWindow(query, systemClock.nowMs(), { unroundedSpan: true });
    const { merged } = await this.series(tenant, window, byName(query));
    const points = await this.points(tenant, merged, slices);
    const newestFirst = (a: Point, b: Point): number =>
      b.bucket - a.bucket || compare(a.name, b.name);
    const sorted = await sortInSlices(points, newestFirst, slices);
    const row = (point: Point): string => JSON.stringify(lagRow(point, window.widthMinutes));
    return jsonArray(sorted, row, slices);
  }

  /** The JSON of a `QueueOpsDto`. */
  async ops(tenant: Uint8Array, query: QueryValues): Promise<Buffer> {
    const slices = new Slices();
    const window = parseWindow(query, systemClock.nowMs());
    const { merged } = await this.series(tenant, window, byName(query));
    const points = await this.points(tenant, merged, slices);
    const { widthMinutes: bucketMinutes } = window;
    const names = new Set<string>();
    for (const { name } of points) {
      if (slices.isSpent()) await slices.pause();
      names.add(name);
    }
    const queues = await sortInSlices([...names], compare, slices);
    const text = (point: Point): string => JSON.stringify(opsPoint(point, bucketMinutes));
    return jsonWith(
      { timeRange: timeRange(window), bucketMinutes, queues },
      { name: 'series', brackets: '[]', rows: points, text },
      slices,
    );
  }

  /** The JSON of a `ParkedReplicasDto`; also of queues that are gone since. */
  async parked(tenant: Uint8Array, query: QueryValues): Promise<Buffer> {
    const slices = new Slices();
    const window = parseWindow(query, systemClock.nowMs());
    const name = textOrUndefined(query, 'queue');
    const { nodes } = await this.gather(tenant, window);
    const at = QUEUE_FIELDS.indexOf('parkedMs');
    const series: ParkedReplicasDto['series'][number][] = [];
    for (const { hostname, buckets } of nodes) {
      for (const { startMs, widthMs, queues } of buckets) {
        const place = { bucket: secondsText(startMs), hostname, workerId: WORKER };
        for (const { name: queueName, values } of queues.values()) {
          if (slices.isSpent()) await slices.pause();
          if (name !== undefined && queueName !== name) continue;
          const parkedCount = round2((values[at] ?? 0) / Math.max(widthMs, 1));
          series.push({ ...place, queueName, parkedCount });
        }
      }
    }
    const rows = await sortInSlices(
      series,
      (a, b) => compare(a.bucket, b.bucket) || compare(a.queueName, b.queueName),
      slices,
    );
    const replicas = nodes.map(({ hostname }) => ({ hostname, workerId: WORKER }));
    const { widthMinutes: bucketMinutes } = window;
    return jsonWith(
      { timeRange: timeRange(window), bucketMinutes, replicas },
      { name: 'series', brackets: '[]', rows, text: (row) => JSON.stringify(row) },
      slices,
    );
  }

  /** Rows of the tenant's queues that `select` admits. */
  async series(
    tenant: Uint8Array,
    window: Window,
    select: (queue: QueueRow) => boolean,
  ): Promise<Series> {
    const { tables } = this.groups.ofTenant(tenant);
    const id = tables.names.tenant(tenant);
    const own = (queue: QueueRow): boolean => queue.tenant === id && select(queue);
    const merged = await mergeRows(await this.gather(tenant, window), tables, own);
    return { window, merged };
  }

  gather(tenant: Uint8Array, { fromMs, toMs, widthMinutes }: Window): Promise<GatheredRows> {
    return this.rows.gather({ fromMs, toMs, widthMinutes, tenant: hexText(tenant) });
  }

  /** By bucket, then queue name. */
  private async points(tenant: Uint8Array, merged: MergedRows, slices: Slices): Promise<Point[]> {
    const { queues } = this.groups.ofTenant(tenant).tables;
    const points: Point[] = [];
    for (const bucket of merged.buckets) {
      for (const [id, sum] of merged.byBucket.get(bucket) ?? []) {
        if (slices.isSpent()) await slices.pause();
        points.push({ bucket, name: queues.byId(id as QueueRow['id'])?.name ?? '', sum });
      }
    }
    return sortInSlices(points, (a, b) => a.bucket - b.bucket || compare(a.name, b.name), slices);
  }
}

interface Point {
  readonly bucket: number;
  readonly name: string;
  readonly sum: QueueSum;
}

function lagRow({ bucket, name, sum }: Point, bucketMinutes: number): QueueLagDto {
  const values = valuesOf(sum);
  return {
    ...{ queueName: name, popCount: values.lagCount, ...lagOf(values) },
    ...{ bucketMinutes, bucketTime: secondsText(bucket) },
  };
}

function opsPoint({ bucket, name, sum }: Point, widthMinutes: number): QueueOpsPointDto {
  const values = valuesOf(sum);
  const { avgLagMs, maxLagMs } = lagOf(values);
  const acked = values.ackSuccess + values.ackFailed;
  return {
    ...{ bucket: secondsText(bucket), queueName: name },
    ...{ pushRequests: values.pushRequests, pushMessages: values.pushMessages },
    ...{ popMessages: values.popMessages, popEmpty: values.popEmpty },
    ...{ ackRequests: values.ackRequests, ackSuccess: values.ackSuccess },
    ...{ ackFailed: values.ackFailed, transactions: values.transactions },
    partitionsCreated: values.partitionsCreated,
    partitionsDeleted: values.partitionsDeleted,
    ...{ partitionCount: null, avgLagMs, maxLagMs },
    pushPerSecond: perSecond(values.pushMessages, widthMinutes),
    popPerSecond: perSecond(values.popMessages, widthMinutes),
    ackPerSecond: perSecond(acked, widthMinutes),
    emptyPerSecond: perSecond(values.popEmpty, widthMinutes),
    parkedCount: round2(sum.parked),
  };
}

export function byName(query: QueryValues): (queue: QueueRow) => boolean {
  const name = textOrUndefined(query, 'queue');
  return (queue) => name === undefined || queue.name === name;
}

export const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
