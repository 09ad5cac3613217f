/**
 * Turns what this node counted into a frame every METRICS_FLUSH_MS, keeps a week of frames and writes
 * them below the data directory. Volatile and node-local: nothing here is replicated, and no route
 * waits for it.
 */
import { join } from 'node:path';
import { Inject, Injectable } from '@nestjs/common';
import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { hexText } from '../../common/uuid-v7.js';
import { monotonicMs, QUEEN_CONFIG, systemClock, type QueenConfig } from '../../config/index.js';
import type { QueueCounts } from '../../http/queue-traffic.js';
import { Traffic } from '../../http/traffic.js';
import { LOGGER, type Logger } from '../../logging/index.js';
import { Groups, type Group } from '../../raft/index.js';
import { emptyFrame, rowKey, type Frame } from './frame.js';
import { FrameFile } from './frame-file.js';
import { FrameStore } from './frame-store.js';
import { churnOf, PartitionChurn, type Churn } from './partition-churn.js';
import { ProcessSamples } from './process-samples.js';
import { RetentionCounts, type Removed } from './retention-counts.js';
import {
  PROCESS_FIELDS,
  QUEUE_FIELDS,
  type ProcessValues,
  type QueueValues,
} from './row-fields.js';

const DIRECTORY = 'analytics';
const MAX_SAMPLE_MS = 5_000;
const SAMPLES_PER_FRAME = 4;

@Injectable()
export class RowCollector implements OnApplicationBootstrap, OnModuleDestroy {
  readonly frames = new FrameStore();
  private readonly file: FrameFile;
  private readonly samples: ProcessSamples;
  private readonly watched: readonly WatchedGroup[];
  private timers: NodeJS.Timeout[] = [];
  private before: ProcessTotals;
  private startMs = systemClock.nowMs();
  private sampledAtMs = monotonicMs();
  private writing: Promise<void> = Promise.resolve();

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(Traffic) private readonly traffic: Traffic,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.file = new FrameFile(join(config.raft.dir, DIRECTORY));
    this.samples = new ProcessSamples(groups);
    this.before = totalsOf(traffic);
    this.watched = groups.all().map((group) => watch(group));
  }

  onApplicationBootstrap(): void {
    const flushMs = this.config.server.metricsFlushMs;
    const sampleMs = Math.min(flushMs / SAMPLES_PER_FRAME, MAX_SAMPLE_MS);
    this.timers = [
      setInterval(() => this.sample(), sampleMs),
      setInterval(() => this.flush(), flushMs),
    ];
    for (const timer of this.timers) timer.unref();
    this.writing = this.file
      .load((frame) => this.frames.add(frame), systemClock.nowMs())
      .catch((error: unknown) => this.warn('the minute rows of the past were not read', error));
  }

  /** The rest of the running minute is kept too. */
  async onModuleDestroy(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    for (const { unlisten } of this.watched) unlisten();
    this.flush();
    this.samples.stop();
    await this.writing;
  }

  /** Closes the running frame. */
  flush(): void {
    this.sample();
    const frame = this.takeFrame();
    this.frames.add(frame);
    this.writing = this.writing
      .then(() => this.file.append(frame))
      .catch((error: unknown) => this.warn('minute rows were not written', error));
  }

  private sample(): void {
    const now = monotonicMs();
    this.traffic.queues.sampleParked(now - this.sampledAtMs);
    this.sampledAtMs = now;
    this.samples.sample(this.traffic.queues.parkedNow);
  }

  private takeFrame(): Frame {
    const nowMs = systemClock.nowMs();
    const frame = emptyFrame(this.startMs);
    frame.widthMs = Math.max(nowMs - this.startMs, 1);
    this.startMs = nowMs;
    const lag = { sumMs: 0, maxMs: 0, count: 0 };
    for (const { entry, counts } of this.traffic.queues.turn(nowMs, frame.widthMs)) {
      const group = this.groups.ofTenant(entry.tenant);
      addRow(frame, group, { tenant: entry.tenant, queue: entry.queue, counts });
      lag.sumMs += counts.lagSumMs;
      lag.maxMs = Math.max(lag.maxMs, counts.lagMaxMs);
      lag.count += counts.lagCount;
    }
    for (const { group, churn, removed } of this.watched) {
      addLeaderCounts(frame, group, { churn: churn.turn(), removed: removed.turn() });
    }
    const { gauges, loop } = this.samples.turn();
    Object.assign(frame.gauges, gauges);
    const totals = totalsOf(this.traffic);
    const values: ProcessValues = {
      ...difference(totals, this.before),
      ...{ lagSumMs: lag.sumMs, lagMaxMs: lag.maxMs, lagCount: lag.count },
      ...{ loopSumMs: loop.sumMs, loopMaxMs: loop.maxMs, loopCount: loop.count },
    };
    this.before = totals;
    PROCESS_FIELDS.forEach((field, i) => (frame.process[i] = values[field]));
    return frame;
  }

  private warn(text: string, error: unknown): void {
    this.logger.child('meter').warn(text, { error: String(error) });
  }
}

interface WatchedGroup {
  readonly group: Group;
  readonly churn: PartitionChurn;
  readonly removed: RetentionCounts;
  unlisten(): void;
}

function watch(group: Group): WatchedGroup {
  const churn = new PartitionChurn(group.tables, group.nowMicros());
  const removed = new RetentionCounts(group.tables);
  const unlisten = group.listen({
    appended: (slot) => churn.appended(slot),
    trimmed: (slot, cut) => removed.trimmed(slot, cut),
  });
  return { group, churn, removed, unlisten };
}

const TOTALS = [
  'pushRequests',
  'pushMessages',
  'popRequests',
  'popMessages',
  'ackRequests',
  'ackMessages',
  'ackFailed',
  'deadLettered',
] as const;
type ProcessTotals = Record<(typeof TOTALS)[number], number>;

function totalsOf(traffic: Traffic): ProcessTotals {
  return Object.fromEntries(TOTALS.map((name) => [name, traffic[name]])) as ProcessTotals;
}

function difference(now: ProcessTotals, before: ProcessTotals): ProcessTotals {
  return Object.fromEntries(
    TOTALS.map((name) => [name, now[name] - before[name]]),
  ) as ProcessTotals;
}

/** A queue that is gone by now has no row. */
function addRow(
  frame: Frame,
  { tables }: Group,
  row: { readonly tenant: Uint8Array; readonly queue: string; readonly counts: QueueCounts },
): void {
  const tenant = tables.names.tenant(row.tenant);
  const queue = tenant === undefined ? undefined : tables.queues.find(tenant, row.queue);
  if (queue === undefined) return;
  const counted: Partial<QueueValues> = row.counts;
  const made = {
    ...{ queueId: queue.id, tenant: hexText(row.tenant), name: queue.name },
    values: QUEUE_FIELDS.map((field) => counted[field] ?? 0),
  };
  frame.queues.set(rowKey(made), made);
}

interface LeaderCounts {
  readonly churn: ReadonlyMap<number, Churn>;
  readonly removed: ReadonlyMap<number, Removed>;
}

/** What happened to the state itself is written down by the leader alone. */
function addLeaderCounts(frame: Frame, group: Group, { churn, removed }: LeaderCounts): void {
  if (churn.size + removed.size === 0 || group.status().role !== 'leader') return;
  const { names, queues } = group.tables;
  for (const queue of queues.live()) {
    const { created, deleted } = churnOf(churn, queue.id);
    const counts: Partial<QueueValues> = {
      ...{ partitionsCreated: created, partitionsDeleted: deleted },
      ...removed.get(queue.id),
    };
    if (created === 0 && deleted === 0 && !removed.has(queue.id)) continue;
    const fresh = {
      ...{ queueId: queue.id, tenant: hexText(names.tenantUuid(queue.tenant)), name: queue.name },
      values: QUEUE_FIELDS.map(() => 0),
    };
    const row = frame.queues.get(rowKey(fresh)) ?? fresh;
    QUEUE_FIELDS.forEach((field, i) => (row.values[i] = counts[field] ?? row.values[i] ?? 0));
    frame.queues.set(rowKey(row), row);
  }
}
