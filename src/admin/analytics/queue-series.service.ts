/**
 * Series by queue over a window (admin.md §1.6): lag at delivery, operations, parked pops by replica,
 * what retention removed. From minute rows of every node; no gap is filled.
 */
import { Inject, Injectable } from '@nestjs/common';
import { hexText } from '../../common/uuid-v7.js';
import { systemClock } from '../../config/index.js';
import { textOrUndefined, type QueryValues } from '../../http/query.js';
import type { QueueRow } from '../../machine/tables/tables.js';
import { Groups } from '../../raft/index.js';
import { QUEUE_FIELDS } from '../rows/row-fields.js';
import { RowGather, type GatheredRows } from '../rows/row-gather.service.js';
import { parseWindow, perSecond, round2, secondsText, timeRange } from '../rows/windows.js';
import type { Window } from '../rows/windows.js';
import { lagOf, mergeRows, valuesOf, type MergedRows, type QueueSum } from './merged-rows.js';
import type {
  ParkedReplicasDto,
  QueueLagDto,
  QueueOpsDto,
  QueueOpsPointDto,
} from './series.dto.js';

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

  async lag(tenant: Uint8Array, query: QueryValues): Promise<QueueLagDto[]> {
    const window = parseWindow(query, systemClock.nowMs(), { unroundedSpan: true });
    const { merged } = await this.series(tenant, window, byName(query));
    return this.points(tenant, merged)
      .reverse()
      .map(({ bucket, name, sum }) => {
        const values = valuesOf(sum);
        return {
          ...{ bucket, queueName: name, popCount: values.lagCount, ...lagOf(values) },
          ...{ bucketMinutes: window.widthMinutes, bucketTime: secondsText(bucket) },
        };
      })
      .sort((a, b) => b.bucket - a.bucket || compare(a.queueName, b.queueName))
      .map(({ bucket: _bucket, ...row }) => row);
  }

  async ops(tenant: Uint8Array, query: QueryValues): Promise<QueueOpsDto> {
    const window = parseWindow(query, systemClock.nowMs());
    const { merged } = await this.series(tenant, window, byName(query));
    const points = this.points(tenant, merged);
    return {
      timeRange: timeRange(window),
      bucketMinutes: window.widthMinutes,
      series: points.map((point) => opsPoint(point, window.widthMinutes)),
      queues: [...new Set(points.map(({ name }) => name))].sort(compare),
    };
  }

  /** Also of queues that are gone since. */
  async parked(tenant: Uint8Array, query: QueryValues): Promise<ParkedReplicasDto> {
    const window = parseWindow(query, systemClock.nowMs());
    const name = textOrUndefined(query, 'queue');
    const { nodes } = await this.gather(tenant, window);
    const at = QUEUE_FIELDS.indexOf('parkedMs');
    const series = nodes.flatMap(({ hostname, buckets }) =>
      buckets.flatMap(({ startMs, widthMs, queues }) =>
        [...queues.values()]
          .filter((row) => name === undefined || row.name === name)
          .map((row) => ({
            ...{ bucket: secondsText(startMs), queueName: row.name, hostname, workerId: WORKER },
            parkedCount: round2((row.values[at] ?? 0) / Math.max(widthMs, 1)),
          })),
      ),
    );
    series.sort((a, b) => compare(a.bucket, b.bucket) || compare(a.queueName, b.queueName));
    const replicas = nodes.map(({ hostname }) => ({ hostname, workerId: WORKER }));
    const { widthMinutes: bucketMinutes } = window;
    return { timeRange: timeRange(window), bucketMinutes, series, replicas };
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
  private points(tenant: Uint8Array, merged: MergedRows): Point[] {
    const { queues } = this.groups.ofTenant(tenant).tables;
    const nameOf = (id: number): string => queues.byId(id as QueueRow['id'])?.name ?? '';
    return merged.buckets.flatMap((bucket) =>
      [...(merged.byBucket.get(bucket) ?? [])]
        .map(([id, sum]) => ({ bucket, name: nameOf(id), sum }))
        .sort((a, b) => compare(a.name, b.name)),
    );
  }
}

interface Point {
  readonly bucket: number;
  readonly name: string;
  readonly sum: QueueSum;
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
