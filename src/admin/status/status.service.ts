/**
 * `GET /api/v1/status` (admin.md §1.1): the broker in one answer. Throughput from minute rows of every
 * node, queues and leases from this node's own state. Waits for no leader; members that do not answer in
 * time are named.
 */
import { Inject, Injectable } from '@nestjs/common';
import { hexText } from '../../common/uuid-v7.js';
import { systemClock } from '../../config/index.js';
import { textOrUndefined, type QueryValues } from '../../http/query.js';
import type { QueueRow } from '../../machine/tables/tables.js';
import { newestLetters } from '../../reads/dead-letters.js';
import { figuresOf, type FiguresRead } from '../../reads/figure-cache.js';
import { queueUuidText, queuesOf } from '../../reads/partition-identity.js';
import { Groups, type Group } from '../../raft/index.js';
import { mergeRows } from '../analytics/merged-rows.js';
import { foldProcess, noProcessValues, processValues } from '../rows/row-fields.js';
import type { ProcessValues } from '../rows/row-fields.js';
import { RowGather, type GatheredRows } from '../rows/row-gather.service.js';
import { microsText, parseWindow, round2, timeRange } from '../rows/windows.js';
import type { StatusAnalyticsDto, StatusAnswerDto } from './status.dto.js';
import type { StatusQueueDto, TopErrorDto } from './status.dto.js';
import { processThroughput, queueThroughput } from './throughput.js';
import { workerRows } from './worker-rows.js';

const TOP_ERRORS = 5;
/** Newest dead letters that are looked at for their errors. */
const ERROR_SAMPLE = 1_000;
const WORKER_SEEN_MS = 2 * 60_000;

@Injectable()
export class StatusService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(RowGather) private readonly rows: RowGather,
  ) {}

  async status(tenant: Uint8Array, query: QueryValues): Promise<StatusAnswerDto> {
    const nowMs = systemClock.nowMs();
    const window = parseWindow(query, nowMs);
    const select = exactFilter(query);
    const group = this.groups.ofTenant(tenant);
    const { fromMs, toMs, widthMinutes } = window;
    const rowsOf = select === null ? null : hexText(tenant);
    const gathered = await this.rows.gather({ fromMs, toMs, widthMinutes, tenant: rowsOf });
    const { rows: reads } = await figuresOf(group).read(queuesOf(group.tables, tenant));
    const throughput =
      select === null
        ? processThroughput(gathered, widthMinutes)
        : queueThroughput(
            gathered,
            await mergeRows(gathered, group.tables, (queue) => select(queue)),
            widthMinutes,
          );
    const totals = lifetimeOf(gathered);
    return {
      ...{ timeRange: timeRange(window), bucketMinutes: widthMinutes },
      ...{ pointCount: throughput.length, throughput },
      queues: queueRows(reads, select),
      messages: messagesOf(totals, reads),
      leases: leasesOf(reads),
      deadLetterQueue: {
        totalMessages: totals.deadLettered,
        currentMessages: sumOf(reads, ({ figures }) => figures.deadLetter),
        affectedPartitions: sumOf(reads, ({ figures }) => figures.deadLetterPartitions),
        topErrors: await topErrors(group, reads),
      },
      workers: workerRows(gathered, { nowMs, seenMs: WORKER_SEEN_MS }).map(
        ({ lastSeen: _lastSeen, backoffSize: _backoff, ...worker }) => worker,
      ),
      errors: { dbErrors: 0, ackFailed: totals.ackFailed, dlqMessages: totals.deadLettered },
      ...{ statsAge: ageOf(gathered, nowMs), engine: 'raft' },
      ...(gathered.missing.length === 0 ? {} : { nodesMissing: [...gathered.missing] }),
    };
  }

  async analytics(tenant: Uint8Array): Promise<StatusAnalyticsDto> {
    const group = this.groups.ofTenant(tenant);
    const { rows } = await figuresOf(group).read(queuesOf(group.tables, tenant));
    const nowMs = systemClock.nowMs();
    const to = microsText(nowMs * 1000);
    return {
      dataPoints: [{ timestamp: to, messages: sumOf(rows, ({ figures }) => figures.total) }],
      ...{ interval: 'hour', from: microsText((nowMs - DAY_MS) * 1000), to },
    };
  }
}

const DAY_MS = 86_400_000;

/** Null without any filter; an empty value is none. */
function exactFilter(query: QueryValues): ((queue: QueueRow) => boolean) | null {
  const name = textOrUndefined(query, 'queue');
  const namespace = textOrUndefined(query, 'namespace');
  const task = textOrUndefined(query, 'task');
  if (name === undefined && namespace === undefined && task === undefined) return null;
  return (queue) =>
    (name === undefined || queue.name === name) &&
    (namespace === undefined || queue.options.namespace === namespace) &&
    (task === undefined || queue.options.task === task);
}

function queueRows(
  reads: readonly FiguresRead[],
  select: ((queue: QueueRow) => boolean) | null,
): StatusQueueDto[] {
  return reads
    .filter(({ queue, figures }) => figures.total > 0 && (select === null || select(queue)))
    .map(({ queue, figures }) => ({
      ...{ id: queueUuidText(queue), name: queue.name },
      namespace: queue.options.namespace === '' ? null : queue.options.namespace,
      task: queue.options.task === '' ? null : queue.options.task,
      ...{ partitions: queue.partitionCount, totalConsumed: figures.completed },
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function lifetimeOf({ nodes }: GatheredRows): ProcessValues {
  const sums = noProcessValues();
  for (const { lifetime } of nodes) foldProcess(sums, lifetime);
  return processValues(sums);
}

function messagesOf(
  totals: ProcessValues,
  reads: readonly FiguresRead[],
): StatusAnswerDto['messages'] {
  const pending = sumOf(reads, ({ figures }) => figures.rawPending);
  const processing = sumOf(reads, ({ figures }) => figures.processing);
  const { pushRequests: push, popRequests: pop, ackRequests: ack } = totals;
  const each = (messages: number, requests: number): number =>
    requests === 0 ? 0 : round2(messages / requests);
  return {
    total: totals.pushMessages,
    pending: Math.max(pending - processing, 0),
    processing,
    completed: totals.ackMessages - totals.ackFailed,
    failed: totals.ackFailed,
    deadLetter: totals.deadLettered,
    requests: { push, pop, ack },
    batchEfficiency: {
      push: each(totals.pushMessages, push),
      pop: each(totals.popMessages, pop),
      ack: each(totals.ackMessages, ack),
    },
  };
}

function leasesOf(reads: readonly FiguresRead[]): StatusAnswerDto['leases'] {
  return {
    active: sumOf(reads, ({ figures }) => figures.leases),
    partitionsWithLeases: sumOf(reads, ({ figures }) => figures.leasedPartitions),
    totalBatchSize: sumOf(reads, ({ figures }) => figures.leased),
    totalAcked: 0,
  };
}

async function topErrors(group: Group, reads: readonly FiguresRead[]): Promise<TopErrorDto[]> {
  const queues = reads.filter(({ queue }) => queue.deadLetters > 0).map(({ queue }) => queue.id);
  if (queues.length === 0) return [];
  const counts = new Map<string, number>();
  const view = await group.view();
  try {
    let left = ERROR_SAMPLE;
    for await (const { error } of newestLetters(view, queues, { from: null, to: null })) {
      const text = error === '' ? 'unknown' : error;
      counts.set(text, (counts.get(text) ?? 0) + 1);
      left -= 1;
      if (left === 0) break;
    }
  } finally {
    await view.close();
  }
  return [...counts]
    .map(([error, count]) => ({ error, count }))
    .sort((a, b) => b.count - a.count || (a.error < b.error ? -1 : 1))
    .slice(0, TOP_ERRORS);
}

/** Whole seconds since the newest row of any node, -1 without any. */
function ageOf({ nodes }: GatheredRows, nowMs: number): number {
  const newest = nodes.map(({ newestMs }) => newestMs).filter((at) => at !== null);
  return newest.length === 0 ? -1 : Math.max(Math.round((nowMs - Math.max(...newest)) / 1000), 0);
}

const sumOf = (reads: readonly FiguresRead[], of: (read: FiguresRead) => number): number =>
  reads.reduce((total, read) => total + of(read), 0);
