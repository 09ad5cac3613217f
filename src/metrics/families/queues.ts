/**
 * Families per queue. At most MAX_QUEUES label values, the largest ones; what is left out is counted.
 * The label `tenant` stands before `queue` for every tenant but the default one.
 */
import { uuidText } from '../../common/uuid-v7.js';
import type { QueueRow, Tables } from '../../machine/tables/tables.js';
import type {
  QueueCounts,
  QueueEntry,
  QueueTraffic,
  TurnedEntry,
} from '../../http/queue-traffic.js';
import type { Groups } from '../../raft/index.js';
import { DEFAULT_TENANT_TEXT } from '../../tenancy/tenant.js';
import type { ConflationMinutes } from '../conflation-minutes.js';
import type { Family, Sample } from '../family.js';

const MAX_QUEUES = 1_000;
const MINUTE_MS = 60_000;

interface QueueValue {
  readonly tables: Tables;
  readonly queue: QueueRow;
  readonly value: number;
}

export function queueFamilies(groups: Groups, conflated: ConflationMinutes): readonly Family[] {
  const deadLetters = (): QueueValue[] => leading(groups, (_group, queue) => queue.deadLetters);
  return [
    {
      kind: 'gauge',
      name: 'queen_dlq_depth',
      help: 'Dead letters of all queues; only on the leader.',
      read: () => deadLetters().reduce((total, { value }) => total + value, 0),
    },
    {
      kind: 'gauge',
      name: 'queen_dlq_depth_by_queue',
      labels: ['tenant', 'queue'],
      help: 'Dead letters by queue, queues without any left out; only on the leader.',
      read: () => largest(deadLetters()),
    },
    {
      kind: 'gauge',
      name: 'queen_queue_conflated_per_minute',
      labels: ['tenant', 'queue'],
      help: 'Messages passed over by last-value delivery, over the last full bucket.',
      read: () => largest(leading(groups, (group, queue) => conflated.perMinute(group, queue.id))),
    },
    {
      kind: 'gauge',
      name: 'queen_metrics_queues_left_out',
      help: 'Queues with dead letters that the bound on labels keeps out.',
      read: () => Math.max(deadLetters().length - MAX_QUEUES, 0),
    },
  ];
}

/** Queues with a value above 0, of the groups this node leads. */
function leading(groups: Groups, of: (group: number, queue: QueueRow) => number): QueueValue[] {
  return groups.all().flatMap((group) => {
    if (group.status().role !== 'leader') return [];
    const { tables } = group;
    const values = tables.queues
      .live()
      .map((queue) => ({ tables, queue, value: of(group.id, queue) }));
    return values.filter(({ value }) => value > 0);
  });
}

function largest(values: QueueValue[]): readonly Sample[] {
  if (values.length > MAX_QUEUES) values.sort((a, b) => b.value - a.value);
  return values.slice(0, MAX_QUEUES).map(({ tables, queue, value }) => {
    const tenant = uuidText(tables.names.tenantUuid(queue.tenant));
    const labels = tenant === DEFAULT_TENANT_TEXT ? {} : { tenant };
    return { labels: { ...labels, queue: queue.name }, value };
  });
}

/** Of queues that clients of this node used. */
export function trafficFamilies(
  traffic: Pick<QueueTraffic, 'lastTurn' | 'bucket' | 'parkedEntries'>,
  nowMs: () => number,
): readonly Family[] {
  const perMinute = (name: string, help: string, of: (counts: QueueCounts) => number): Family => ({
    ...{ kind: 'gauge', name: `queen_queue_${name}_per_minute`, labels: ['tenant', 'queue'] },
    help: `${help}, over the last full bucket.`,
    read: () => rates(traffic, nowMs, (counts) => [{ labels: {}, value: of(counts) }]),
  });
  return [
    perMinute('push_requests', 'Pushes', (counts) => counts.pushRequests),
    perMinute('push_messages', 'Messages pushed', (counts) => counts.pushMessages),
    perMinute('pop_messages', 'Messages popped', (counts) => counts.popMessages),
    perMinute('pop_empty', 'Pops that found nothing', (counts) => counts.popEmpty),
    perMinute('transactions', 'Transactions', (counts) => counts.transactions),
    {
      kind: 'gauge',
      name: 'queen_queue_ack_per_minute',
      labels: ['tenant', 'queue', 'result'],
      help: 'Acknowledged messages, over the last full bucket.',
      read: () =>
        rates(traffic, nowMs, (counts) => [
          { labels: { result: 'success' }, value: counts.ackSuccess },
          { labels: { result: 'failed' }, value: counts.ackFailed },
        ]),
    },
    {
      kind: 'gauge',
      name: 'queen_queue_parked_consumers',
      labels: ['tenant', 'queue'],
      help: 'Long polls of clients of this node that wait now.',
      read: () =>
        traffic
          .parkedEntries()
          .sort((a, b) => b.parkedNow - a.parkedNow)
          .slice(0, MAX_QUEUES)
          .map((entry) => ({ labels: labelsOf(entry), value: entry.parkedNow })),
    },
    {
      kind: 'gauge',
      name: 'queen_queue_metrics_age_seconds',
      labels: ['tenant', 'queue'],
      help: 'How long ago the bucket of the per-minute families ended.',
      read: () => {
        const age = (traffic.bucket(nowMs())?.ageMs ?? 0) / 1000;
        return shown(traffic).map(({ entry }) => ({ labels: labelsOf(entry), value: age }));
      },
    },
    popLagFamily(traffic),
  ];
}

/** The busiest queues of the last bucket. */
function shown(traffic: Pick<QueueTraffic, 'lastTurn'>): readonly TurnedEntry[] {
  const { lastTurn } = traffic;
  if (lastTurn.length <= MAX_QUEUES) return lastTurn;
  const work = ({ counts }: TurnedEntry): number =>
    counts.pushMessages + counts.popMessages + counts.popEmpty;
  return lastTurn.toSorted((a, b) => work(b) - work(a)).slice(0, MAX_QUEUES);
}

function rates(
  traffic: Pick<QueueTraffic, 'lastTurn' | 'bucket'>,
  nowMs: () => number,
  of: (counts: QueueCounts) => readonly Sample[],
): readonly Sample[] {
  const bucket = traffic.bucket(nowMs());
  if (bucket === null) return [];
  const scale = MINUTE_MS / bucket.widthMs;
  return shown(traffic).flatMap(({ entry, counts }) =>
    of(counts).map(({ labels, value }) => ({
      labels: { ...labelsOf(entry), ...labels },
      value: value * scale,
    })),
  );
}

function labelsOf(entry: QueueEntry): Record<string, string> {
  const tenant = uuidText(entry.tenant);
  return { ...(tenant === DEFAULT_TENANT_TEXT ? {} : { tenant }), queue: entry.queue };
}

/** Of the last full bucket of METRICS_FLUSH_MS, on this node; silent where nobody pops. */
export function popLagFamily(traffic: Pick<QueueTraffic, 'lastTurn'>): Family {
  return {
    kind: 'gauge',
    name: 'queen_queue_pop_lag_milliseconds',
    labels: ['tenant', 'queue', 'stat'],
    help: 'Age of messages when they were popped here, over the last full bucket.',
    read: () => {
      const popped = traffic.lastTurn.filter(({ counts }) => counts.lagCount > 0);
      if (popped.length > MAX_QUEUES) popped.sort((a, b) => b.counts.lagMaxMs - a.counts.lagMaxMs);
      return popped.slice(0, MAX_QUEUES).flatMap(({ entry, counts }) => {
        const labels = labelsOf(entry);
        return [
          { labels: { ...labels, stat: 'avg' }, value: counts.lagSumMs / counts.lagCount },
          { labels: { ...labels, stat: 'max' }, value: counts.lagMaxMs },
        ];
      });
    },
  };
}
