/**
 * Who does the work (admin.md §1.6): windows, series and current state by namespace, task or queue, and
 * what retention removed. The tenant's own row covers all its queues, whatever the filters.
 */
import { HttpException, Inject, Injectable } from '@nestjs/common';
import { systemClock } from '../../config/index.js';
import { textOrUndefined, type QueryValues } from '../../http/query.js';
import { QUEUE_MODE_GROUP, type QueueRow } from '../../machine/tables/tables.js';
import { figuresOf, type FiguresRead } from '../../reads/figure-cache.js';
import { queuesOf } from '../../reads/partition-identity.js';
import { Slices } from '../../reads/slices.js';
import { Groups, type Group } from '../../raft/index.js';
import { bucketAxis, bucketCount, parseWindow, round2 } from '../rows/windows.js';
import { secondsText, timeRange } from '../rows/windows.js';
import type { QueueValues } from '../rows/row-fields.js';
import { foldSum, lagOf, noSum, valuesOf, type MergedRows, type QueueSum } from './merged-rows.js';
import { byName, compare, QueueSeriesService } from './queue-series.service.js';
import type { RetentionDto, RetentionSumsDto } from './series.dto.js';
import type { WorkloadDto, WorkloadNowDto, WorkloadSeriesDto } from './workload.dto.js';
import type { WorkloadRowDto, WorkloadTenantDto, WorkloadWindowDto } from './workload.dto.js';

const MAX_BUCKETS = 200_000;
/** Values of all series of one answer. */
const MAX_POINTS = 2_000_000;
const GROUPINGS = ['namespace', 'task', 'queue'] as const;
type Grouping = (typeof GROUPINGS)[number];

@Injectable()
export class WorkloadService {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QueueSeriesService) private readonly series: QueueSeriesService,
  ) {}

  async workload(tenant: Uint8Array, query: QueryValues): Promise<WorkloadDto> {
    const groupBy = groupingOf(query) ?? 'namespace';
    const window = parseWindow(query, systemClock.nowMs());
    if (bucketCount(window) > MAX_BUCKETS) throw tooManyBuckets();
    const group = this.groups.ofTenant(tenant);
    const { merged } = await this.series.series(tenant, window, () => true);
    const { rows: queues } = await figuresOf(group).read(queuesOf(group.tables, tenant));
    const axis = bucketAxis(window);
    const wanted = queues.filter(({ queue }) => labelFilter(query)(queue));
    const work = (members: readonly FiguresRead[]): Work =>
      workOf(group, { members, merged, axis });
    const keyed = groupQueues(wanted, groupBy);
    if (keyed.size * axis.length > MAX_POINTS) throw tooManyBuckets();
    const slices = new Slices();
    const rows: WorkloadRowDto[] = [];
    for (const [key, members] of keyed) {
      rows.push({
        ...{ key, queues: members.length, ...work(members) },
        ...(groupBy === 'queue' ? labelsOf(members[0]) : {}),
      });
      if (slices.isSpent(axis.length)) await slices.pause();
    }
    return {
      timeRange: timeRange(window),
      ...{ bucketMinutes: window.widthMinutes, groupBy, buckets: axis.map(secondsText) },
      rows: rows.sort((a, b) => compare(a.key, b.key)),
      tenant: queues.length === 0 ? {} : { queues: queues.length, ...work(queues) },
    };
  }

  async retention(tenant: Uint8Array, query: QueryValues): Promise<RetentionDto> {
    const groupBy = groupingOf(query);
    const window = parseWindow(query, systemClock.nowMs());
    const { merged } = await this.series.series(tenant, window, byName(query));
    const totals = sumAll(merged.window.values());
    return {
      ...{ timeRange: timeRange(window), bucketMinutes: window.widthMinutes },
      series: merged.buckets
        .map((bucket) => ({ bucket, sum: sumAll(merged.byBucket.get(bucket)?.values() ?? []) }))
        .filter(({ sum }) => sum.eventCount > 0)
        .map(({ bucket, sum }) => ({ bucket: secondsText(bucket), ...sum })),
      totals,
      ...(groupBy === null ? {} : { rows: this.retentionRows(tenant, merged, groupBy) }),
    };
  }

  private retentionRows(
    tenant: Uint8Array,
    merged: MergedRows,
    groupBy: Grouping,
  ): NonNullable<RetentionDto['rows']> {
    const { queues } = this.groups.ofTenant(tenant).tables;
    const byKey = new Map<string, QueueSum[]>();
    for (const [id, sum] of merged.window) {
      const queue = queues.byId(id as QueueRow['id']);
      if (queue === undefined || valuesOf(sum).retentionEvents === 0) continue;
      const key = keyOf(queue, groupBy);
      byKey.set(key, [...(byKey.get(key) ?? []), sum]);
    }
    return [...byKey]
      .map(([key, sums]) => ({ key, queues: sums.length, totals: sumAll(sums) }))
      .sort((a, b) => b.totals.totalMsgs - a.totals.totalMsgs || compare(a.key, b.key));
  }
}

const tooManyBuckets = (): HttpException => new HttpException('too many buckets', 500);

function groupingOf(query: QueryValues): Grouping | null {
  const text = textOrUndefined(query, 'groupBy');
  if (text === undefined) return null;
  const known = GROUPINGS.find((grouping) => grouping === text);
  if (known === undefined) throw new HttpException('bad groupBy', 400);
  return known;
}

/** A present but empty label asks for queues without one; an empty queue asks for all. */
export function labelFilter(query: QueryValues): (queue: QueueRow) => boolean {
  const { namespace, task } = query;
  const named = byName(query);
  return (queue) =>
    named(queue) &&
    (namespace === undefined || queue.options.namespace === namespace) &&
    (task === undefined || queue.options.task === task);
}

const keyOf = (queue: QueueRow, groupBy: Grouping): string =>
  groupBy === 'queue' ? queue.name : queue.options[groupBy];

function groupQueues(
  queues: readonly FiguresRead[],
  groupBy: Grouping,
): ReadonlyMap<string, FiguresRead[]> {
  const groups = new Map<string, FiguresRead[]>();
  for (const read of queues) {
    const key = keyOf(read.queue, groupBy);
    const members = groups.get(key);
    if (members === undefined) groups.set(key, [read]);
    else members.push(read);
  }
  return groups;
}

function labelsOf(read: FiguresRead | undefined): { namespace: string; task: string } {
  const { namespace = '', task = '' } = read?.queue.options ?? {};
  return { namespace, task };
}

type Work = Pick<WorkloadTenantDto, 'window' | 'series' | 'now'>;

interface WorkParts {
  readonly members: readonly FiguresRead[];
  readonly merged: MergedRows;
  readonly axis: readonly number[];
}

function workOf(group: Group, { members, merged, axis }: WorkParts): Work {
  const ids = members.map(({ queue }) => queue.id);
  const sum = foldAll(ids.map((id) => merged.window.get(id)));
  return {
    window: windowOf(sum),
    series: seriesOf(axis.map((bucket) => bucketSum(merged, bucket, ids))),
    now: nowOf(group, members, merged),
  };
}

function foldAll(sums: readonly (QueueSum | undefined)[]): QueueSum {
  const total = noSum();
  for (const sum of sums) if (sum !== undefined) foldSum(total, sum);
  return total;
}

/** Null for a bucket none of the queues has a row in. */
function bucketSum(
  merged: MergedRows,
  bucket: number,
  ids: readonly QueueRow['id'][],
): QueueSum | null {
  const sums = merged.byBucket.get(bucket);
  if (sums === undefined) return null;
  const found = ids.map((id) => sums.get(id)).filter((sum) => sum !== undefined);
  return found.length === 0 ? null : foldAll(found);
}

function windowOf(sum: QueueSum): WorkloadWindowDto {
  const values = valuesOf(sum);
  const { pushMessages, pushRequests, popMessages, popEmpty, transactions, conflated } = values;
  const { ackRequests, ackSuccess, ackFailed, partitionsCreated, partitionsDeleted } = values;
  return {
    ...{ pushMessages, pushRequests, popMessages, popEmpty, ackRequests, ackSuccess, ackFailed },
    ...{ transactions, conflated, partitionsCreated, partitionsDeleted },
    ...{ parkedAvg: round2(sum.parked), ...lagOf(values) },
  };
}

function seriesOf(sums: readonly (QueueSum | null)[]): WorkloadSeriesDto {
  const of = (read: (values: QueueValues) => number | null): (number | null)[] =>
    sums.map((sum) => (sum === null ? null : read(valuesOf(sum))));
  return {
    push: of((values) => values.pushMessages),
    pop: of((values) => values.popMessages),
    popEmpty: of((values) => values.popEmpty),
    ackFailed: of((values) => values.ackFailed),
    parked: sums.map((sum) => (sum === null ? null : round2(sum.parked))),
    avgLagMs: of((values) => lagOf(values).avgLagMs),
    maxLagMs: of((values) => lagOf(values).maxLagMs),
  };
}

function nowOf(
  { tables }: Group,
  members: readonly FiguresRead[],
  merged: MergedRows,
): WorkloadNowDto {
  const sum = (of: (read: FiguresRead) => number): number =>
    members.reduce((total, read) => total + of(read), 0);
  const registered = members.map(({ queue }) => tables.registrations.ofQueue(queue.id));
  const named = registered.map((rows) =>
    rows.filter(({ groupId }) => tables.names.groupName(groupId) !== QUEUE_MODE_GROUP),
  );
  const lonely = members.filter((_, i) => registered[i]?.length === 0);
  const touched = members.filter(({ queue }) => merged.window.has(queue.id));
  return {
    pending: sum(({ figures }) => figures.rawPending),
    processing: sum(({ figures }) => figures.processing),
    deadLetter: sum(({ figures }) => figures.deadLetter),
    retainedBytes: sum(({ figures }) => figures.retainedBytes),
    partitions: sum(({ queue }) => queue.partitionCount),
    groups: named.reduce((total, rows) => total + rows.length, 0),
    queuesWithoutGroup: lonely.length,
    pendingWithoutGroup: lonely.reduce((total, { figures }) => total + figures.rawPending, 0),
    queuesTouched: touched.length,
    queuesActive: touched.filter(({ queue }) => isActive(merged.window.get(queue.id))).length,
  };
}

/** Messages moved: somebody that only waits does not count. */
function isActive(sum: QueueSum | undefined): boolean {
  if (sum === undefined) return false;
  const { pushMessages, popMessages, ackRequests } = valuesOf(sum);
  return pushMessages + popMessages + ackRequests > 0;
}

function sumAll(sums: Iterable<QueueSum>): RetentionSumsDto {
  const values = valuesOf(foldAll([...sums]));
  const { retentionMsgs, completedRetentionMsgs, evictionMsgs, retentionEvents } = values;
  const totalMsgs = retentionMsgs + completedRetentionMsgs + evictionMsgs;
  return {
    ...{ retentionMsgs, completedRetentionMsgs, evictionMsgs, totalMsgs },
    eventCount: retentionEvents,
  };
}
