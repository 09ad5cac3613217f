/** Families of keys, values and locks on this node, and of timers that the gate turned away. */
import type { QuantileSummary } from '../../common/quantile-summary.js';
import { monotonicMs } from '../../config/index.js';
import type { StateGate } from '../../preparation/state-gate.js';
import type { OpFigures, StateTraffic } from '../../preparation/state-traffic.js';
import type { Family, Sample } from '../family.js';

const QUANTILES = [0.5, 0.99];
const MICROS_PER_MS = 1000;

export function stateFamilies(
  traffic: StateTraffic,
  gate: Pick<StateGate, 'pool'>,
): readonly Family[] {
  return [
    {
      kind: 'gauge',
      name: 'queen_kv_pool',
      labels: ['state'],
      help: 'Tenants whose key-value calls this node meters, and how many it meters at most.',
      read: () => Object.entries(gate.pool).map(([state, value]) => ({ labels: { state }, value })),
    },
    {
      kind: 'counter',
      name: 'queen_kv_singleflight_coalesced_total',
      help: 'Always 0: reads of keys are not shared between calls.',
      read: () => 0,
    },
    ...opFamilies('queen_kv', 'key-value operations', traffic.kv),
    {
      kind: 'counter',
      name: 'queen_kv_bytes_total',
      labels: ['dir'],
      help: 'Bytes of bodies and answers of key-value calls.',
      read: () => [
        { labels: { dir: 'in' }, value: traffic.bytesIn },
        { labels: { dir: 'out' }, value: traffic.bytesOut },
      ],
    },
    {
      kind: 'counter',
      name: 'queen_kv_read_rejected_total',
      labels: ['reason'],
      help: 'Key-value and lock calls the gate turned away.',
      read: () => [...traffic.rejections].map(rejection),
    },
    ...opFamilies('queen_locks', 'lock operations', traffic.locks),
    {
      kind: 'counter',
      name: 'queen_timers_schedule_rejected_total',
      labels: ['reason'],
      help: 'Calls that schedule timers which the gate turned away.',
      read: () => [...traffic.timerRejections].map(rejection),
    },
  ];
}

function rejection([reason, value]: readonly [string, number]): Sample {
  return { labels: { reason }, value };
}

function opFamilies<Op extends string>(
  prefix: string,
  what: string,
  figures: OpFigures<Op>,
): readonly Family[] {
  return [
    {
      kind: 'counter',
      name: `${prefix}_ops_total`,
      labels: ['op', 'result'],
      help: `Outcomes of ${what}: applied, rejected by a condition, or failed.`,
      read: () =>
        figures.rows().map(({ op, result, value }) => ({ labels: { op, result }, value })),
    },
    {
      kind: 'gauge',
      name: `${prefix}_op_duration_milliseconds`,
      labels: ['op', 'quantile'],
      help: `Time of ${what}; that of a call is divided evenly over its operations.`,
      read: () => [...figures.durations].flatMap(([op, summary]) => quantiles(op, summary)),
    },
  ];
}

function quantiles(op: string, summary: QuantileSummary): Sample[] {
  return QUANTILES.map((quantile) => ({
    labels: { op, quantile: String(quantile) },
    value: summary.quantile(quantile, monotonicMs()) / MICROS_PER_MS,
  })).filter(({ value }) => Number.isFinite(value));
}
