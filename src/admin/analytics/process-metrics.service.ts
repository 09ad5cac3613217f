/**
 * Figures of the processes (admin.md §1.6): gauges by replica, and counters of all nodes as one series.
 * Of the whole cell, whatever the tenant.
 */
import { HttpException, Inject, Injectable } from '@nestjs/common';
import { hexText } from '../../common/uuid-v7.js';
import { systemClock } from '../../config/index.js';
import { textOrUndefined, type QueryValues } from '../../http/query.js';
import { figuresOf } from '../../reads/figure-cache.js';
import { queuesOf } from '../../reads/partition-identity.js';
import { Groups } from '../../raft/index.js';
import { loopOf } from '../status/throughput.js';
import { workerRows } from '../status/worker-rows.js';
import { foldProcess, GAUGES, noProcessValues, processValues } from '../rows/row-fields.js';
import type { Gauge, GaugeSamples, ProcessValues } from '../rows/row-fields.js';
import { RowGather, type GatheredRows } from '../rows/row-gather.service.js';
import { millisText, parseWindow, perSecond, round2, secondsText } from '../rows/windows.js';
import { timeRange } from '../rows/windows.js';
import { lagOf, mergeRows, valuesOf } from './merged-rows.js';
import type { GaugeDto, SystemMetricsDto, WorkerMetricsDto } from './process-metrics.dto.js';
import type { WorkerPointDto, WorkerQueueDto, WorkerSummaryDto } from './process-metrics.dto.js';

const WORKER_TEXT = 'worker-0';
const WORKER_SEEN_MS = 5 * 60_000;
const ABSENT: GaugeDto = { avg: null, min: null, max: null, last: null };

@Injectable()
export class ProcessMetricsService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(RowGather) private readonly rows: RowGather,
  ) {}

  async system(query: QueryValues): Promise<SystemMetricsDto> {
    const window = parseWindow(query, systemClock.nowMs());
    const { fromMs, toMs, widthMinutes } = window;
    const hostname = textOrUndefined(query, 'hostname');
    const workerId = textOrUndefined(query, 'workerId');
    const { nodes } = await this.rows.gather({ fromMs, toMs, widthMinutes, tenant: null });
    const replicas = nodes
      .filter((node) => hostname === undefined || node.hostname === hostname)
      .filter(() => workerId === undefined || workerId === WORKER_TEXT)
      .map((node) => ({
        ...{ hostname: node.hostname, port: node.port, workerId: WORKER_TEXT },
        timeSeries: node.buckets
          .filter(({ gauges }) => gauges.count > 0)
          .map(({ startMs, gauges }) => ({
            timestamp: millisText(startMs),
            sampleCount: gauges.count,
            metrics: metricsOf(gauges),
          })),
      }));
    return {
      timeRange: timeRange(window),
      replicaCount: replicas.length,
      replicas,
      bucketMinutes: widthMinutes,
      pointCount: replicas.reduce((sum, { timeSeries }) => sum + timeSeries.length, 0),
    };
  }

  async workers(tenant: Uint8Array, query: QueryValues): Promise<WorkerMetricsDto> {
    const nowMs = systemClock.nowMs();
    const window = parseWindow(query, nowMs);
    const { fromMs, toMs, widthMinutes } = window;
    const gathered = await this.rows.gather({
      ...{ fromMs, toMs, widthMinutes, tenant: hexText(tenant) },
    });
    const selected = selectNodes(gathered, query);
    const buckets = new Map<number, number[]>();
    const sums = noProcessValues();
    for (const { startMs, process } of selected.nodes.flatMap((node) => node.buckets)) {
      const values = buckets.get(startMs) ?? noProcessValues();
      buckets.set(startMs, values);
      foldProcess(values, process);
      foldProcess(sums, process);
    }
    const timeSeries = [...buckets]
      .sort(([a], [b]) => b - a)
      .map(([startMs, values]) => point(startMs, processValues(values), widthMinutes));
    return {
      ...{ timeRange: timeRange(window), bucketMinutes: widthMinutes },
      ...{ pointCount: timeSeries.length, timeSeries },
      workers: workerRows(selected, { nowMs, seenMs: WORKER_SEEN_MS }),
      queues: await this.queueRows(tenant, selected),
      summary: await this.summary(tenant, processValues(sums)),
    };
  }

  private async queueRows(tenant: Uint8Array, gathered: GatheredRows): Promise<WorkerQueueDto[]> {
    const { tables } = this.groups.ofTenant(tenant);
    const { window } = await mergeRows(gathered, tables, () => true);
    return queuesOf(tables, tenant)
      .map((queue) => ({ queue, sum: window.get(queue.id) }))
      .flatMap(({ queue, sum }) => {
        if (sum === undefined) return [];
        const values = valuesOf(sum);
        return [{ queueName: queue.name, popCount: values.lagCount, ...lagOf(values) }];
      })
      .sort((a, b) => b.popCount - a.popCount || (a.queueName < b.queueName ? -1 : 1));
  }

  private async summary(tenant: Uint8Array, row: ProcessValues): Promise<WorkerSummaryDto> {
    const group = this.groups.ofTenant(tenant);
    const { rows } = await figuresOf(group).read(queuesOf(group.tables, tenant));
    return {
      totalPushMessages: row.pushMessages,
      totalPopMessages: row.popMessages,
      totalAckMessages: row.ackMessages,
      totalPushRequests: row.pushRequests,
      totalPopRequests: row.popRequests,
      totalAckRequests: row.ackRequests,
      totalDbErrors: 0,
      totalAckFailed: row.ackFailed,
      totalDlq: row.deadLettered,
      pendingMessages: rows.reduce(
        (sum, { figures }) => sum + figures.rawPending - figures.processing,
        0,
      ),
    };
  }
}

/** The one worker of a process has the number 0. */
function selectNodes(gathered: GatheredRows, query: QueryValues): GatheredRows {
  const hostname = textOrUndefined(query, 'hostname');
  const workerId = textOrUndefined(query, 'workerId');
  if (workerId !== undefined && !/^[+-]?\d+$/.test(workerId)) {
    throw new HttpException(`invalid input syntax for type integer: "${workerId}"`, 500);
  }
  const none = workerId !== undefined && Number(workerId) !== 0;
  const nodes = gathered.nodes.filter(
    (node) => !none && (hostname === undefined || node.hostname === hostname),
  );
  return { ...gathered, nodes };
}

function point(startMs: number, row: ProcessValues, widthMinutes: number): WorkerPointDto {
  const { pushMessages, popMessages, ackMessages, pushRequests, popRequests, ackRequests } = row;
  return {
    timestamp: secondsText(startMs),
    ...{ pushMessages, popMessages, ackMessages, pushRequests, popRequests, ackRequests },
    jobsDone: pushRequests,
    pushPerSecond: perSecond(pushMessages, widthMinutes),
    popPerSecond: perSecond(popMessages, widthMinutes),
    ackPerSecond: perSecond(ackMessages, widthMinutes),
    ...loopOf(row),
    ...lagOf(row),
    ...{ lagCount: row.lagCount, dbErrors: 0, ackSuccess: ackMessages - row.ackFailed },
    ...{ ackFailed: row.ackFailed, dlqCount: row.deadLettered },
    ...{ avgFreeSlots: null, minFreeSlots: null, dbConnections: null },
    ...{ avgJobQueueSize: null, maxJobQueueSize: null, backoffSize: null },
  };
}

function metricsOf(
  samples: GaugeSamples,
): SystemMetricsDto['replicas'][0]['timeSeries'][0]['metrics'] {
  const of = (gauge: Gauge): GaugeDto => {
    const at = GAUGES.indexOf(gauge) * 4;
    const [sum = 0, min = 0, max = 0, last = 0] = samples.values.slice(at, at + 4);
    return { avg: round2(sum / samples.count), min, max, last };
  };
  const pool = { pool_size: ABSENT, queue_size: ABSENT };
  return {
    cpu: { user_us: of('cpuUser'), system_us: of('cpuSystem') },
    memory: { rss_bytes: of('rssBytes'), virtual_bytes: of('virtualBytes') },
    registries: { response: of('responses') },
    raft: {
      ...{ inflight: of('inflight'), applied_lag: of('appliedLag') },
      ...{ log_bytes: of('logBytes'), log_files: of('logFiles'), map_used_pct: ABSENT },
    },
    database: { pool_size: ABSENT, pool_idle: ABSENT, pool_active: ABSENT },
    threadpool: { db: pool, system: pool },
    shared_state: {},
  };
}
