/**
 * Sums over the queues of a tenant (admin.md §1.2): overview, labels, busiest lanes. Each waits for a
 * read barrier; figures are exact while the walk is short, else a few seconds old (`statsAge`).
 */
import { Inject, Injectable } from '@nestjs/common';
import { timestampMillisText } from '../../common/timestamp.js';
import { QUEEN_CONFIG, systemClock, type QueenConfig } from '../../config/index.js';
import { deadlineAfter } from '../../http/deadlines.js';
import { figuresOf, type AllFigures, type FiguresRead } from '../../reads/figure-cache.js';
import { lagSeconds } from '../../reads/lag.js';
import { findQueue, queuesOf } from '../../reads/partition-identity.js';
import { Groups, type Group } from '../../raft/index.js';
import type { LabelSumDto, MeasuredDto, OverviewDto } from './resources.dto.js';
import { topPartitions, type TopPartitions } from './top-partitions.js';

@Injectable()
export class ResourcesService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  async overview(tenant: Uint8Array): Promise<OverviewDto> {
    const group = await this.settled(tenant);
    const { rows, ageSeconds } = await this.figures(group, tenant);
    const now = group.nowMicros();
    const sum = (of: (row: FiguresRead) => number): number =>
      rows.reduce((total, row) => total + of(row), 0);
    const labels = (of: (row: FiguresRead) => string): number =>
      new Set(rows.map(of).filter((label) => label !== '')).size;
    return {
      queues: rows.length,
      partitions: sum(({ queue }) => queue.partitionCount),
      namespaces: labels(({ queue }) => queue.options.namespace),
      tasks: labels(({ queue }) => queue.options.task),
      messages: {
        total: sum(({ figures }) => figures.total),
        pending: sum(({ figures }) => figures.rawPending - figures.processing),
        processing: sum(({ figures }) => figures.processing),
        completed: sum(({ figures }) => figures.completed),
        failed: 0,
        deadLetter: sum(({ figures }) => figures.deadLetter),
      },
      lag: {
        time: measured(rows.map(({ figures }) => lagSeconds(now, figures.oldestPendingAt))),
        offset: measured(rows.map(({ figures }) => figures.mostPending)),
      },
      timestamp: timestampMillisText(systemClock.nowMs() * 1000),
      statsAge: ageSeconds,
    };
  }

  async labels(tenant: Uint8Array, label: 'namespace' | 'task'): Promise<LabelSumDto[]> {
    const group = await this.settled(tenant);
    const { rows } = await this.figures(group, tenant);
    const sums = new Map<string, LabelSumDto>();
    for (const { queue, figures } of rows) {
      const name = queue.options[label];
      if (name === '') continue;
      const sum = sums.get(name) ?? {
        ...{ [label]: name, queues: 0, partitions: 0, messages: { total: 0, pending: 0 } },
      };
      sum.queues += 1;
      sum.partitions += queue.partitionCount;
      sum.messages.total += figures.total;
      sum.messages.pending += figures.rawPending - figures.processing;
      sums.set(name, sum);
    }
    return [...sums].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, sum]) => sum);
  }

  /** Null when the named queue does not exist. */
  async partitions(
    tenant: Uint8Array,
    asked: { readonly queue: string | undefined; readonly limit: number },
  ): Promise<TopPartitions | null> {
    const group = await this.settled(tenant);
    if (asked.queue === undefined) {
      return topPartitions(group, queuesOf(group.tables, tenant), asked.limit);
    }
    const queue = findQueue(group.tables, tenant, asked.queue);
    return queue === undefined ? null : topPartitions(group, [queue], asked.limit);
  }

  private figures(group: Group, tenant: Uint8Array): Promise<AllFigures> {
    return figuresOf(group).read(queuesOf(group.tables, tenant));
  }

  private async settled(tenant: Uint8Array): Promise<Group> {
    const group = this.groups.ofTenant(tenant);
    await group.readBarrier({ deadlineMs: deadlineAfter(this.config.server.defaultTimeoutMs) });
    return group;
  }
}

/** Mean over positive values; least and median are not kept. */
function measured(values: readonly number[]): MeasuredDto {
  const positive = values.filter((value) => value > 0);
  const sum = positive.reduce((total, value) => total + value, 0);
  const avg = positive.length === 0 ? 0 : Math.floor(sum / positive.length);
  return { avg, median: 0, min: 0, max: Math.max(0, ...positive) };
}
