/** Families of the leader's sweepers: due timers and expired keys. A follower's stand still. */
import type { SweepFigures } from '../../coordinators/index.js';
import { SWEEP_PHASES } from '../../coordinators/index.js';
import { QuantileSummary } from '../../common/quantile-summary.js';
import { DEFAULT_TENANT_TEXT } from '../../tenancy/tenant.js';
import type { Family, Labels, LabelledSummary, Sample } from '../family.js';

const NO_LABELS: Labels = {};
const MICROS_PER_SECOND = 1_000_000;

export function sweeperFamilies(figures: SweepFigures): readonly Family[] {
  return [
    {
      kind: 'counter',
      name: 'queen_timers_fired_total',
      labels: ['result'],
      help: 'Timers that ended: their message was appended, or was a duplicate in its partition.',
      read: () => [
        { labels: { result: 'appended' }, value: figures.appended },
        { labels: { result: 'duplicate' }, value: figures.duplicates },
      ],
    },
    {
      kind: 'counter',
      name: 'queen_timers_fire_failures_total',
      labels: ['class'],
      help: 'Fire steps that failed and are tried again, and timers that lost an attempt.',
      read: () =>
        Object.entries(figures.failures).map(([name, value]) => ({
          ...{ labels: { class: name }, value },
        })),
    },
    {
      kind: 'counter',
      name: 'queen_timers_dlq_total',
      help: 'Timers that became dead letters.',
      read: () => figures.deadLettered,
    },
    {
      kind: 'summary',
      name: 'queen_timers_fire_lag_seconds',
      help: 'From the due instant of a timer to its fire, by tenant; the default one has no label.',
      unit: 1 / MICROS_PER_SECOND,
      read: () => fireLag(figures),
    },
    {
      kind: 'gauge',
      name: 'queen_timers_oldest_late_seconds',
      help: 'How long the oldest timer that is due has been waiting; 0 when none is.',
      read: () => figures.oldestLateMicros() / MICROS_PER_SECOND,
    },
    {
      kind: 'counter',
      name: 'queen_sweeper_rows_total',
      labels: ['phase'],
      help: 'Timers fired, moved or filed, and expired keys removed.',
      read: () => phases(figures.rows),
    },
    {
      kind: 'gauge',
      name: 'queen_sweeper_cycle_milliseconds',
      labels: ['phase'],
      help: 'Duration of the last step that had something to do.',
      read: () => phases(figures.cycleMs),
    },
    ...restFamilies(figures),
  ];
}

function restFamilies(figures: SweepFigures): readonly Family[] {
  return [
    {
      kind: 'counter',
      name: 'queen_sweeper_phase_skipped_total',
      labels: ['phase'],
      help: 'Turns held back by a switch, a full disk, or a step still running.',
      read: () => phases(figures.skips),
    },
    {
      kind: 'counter',
      name: 'queen_sweeper_skip_locked_total',
      help: 'Timers that changed between being read and being fired.',
      read: () => figures.changed,
    },
    {
      kind: 'gauge',
      name: 'queen_sweeper_sleep_milliseconds',
      help: 'Newest sleep of the timer sweeper.',
      read: () => figures.timerSleepMs,
    },
    {
      kind: 'counter',
      name: 'queen_timers_poisoned_total',
      help: 'Timers that can never fire: their message fits no entry.',
      read: () => figures.tooLarge,
    },
    {
      kind: 'counter',
      name: 'queen_timers_fire_lag_tenants_dropped_total',
      help: 'Timers of tenants beyond those that queen_timers_fire_lag_seconds shows.',
      read: () => figures.fireLag.dropped,
    },
  ];
}

/** A summary stands there before anything fired, as those without labels do. */
function fireLag({ fireLag: lag }: SweepFigures): readonly LabelledSummary[] {
  const all = [...lag.summaries].map(([tenant, summary]) => ({
    labels: tenant === DEFAULT_TENANT_TEXT ? NO_LABELS : { tenant },
    summary,
  }));
  return all.length === 0 ? [{ labels: NO_LABELS, summary: new QuantileSummary() }] : all;
}

function phases(numbers: Readonly<Record<(typeof SWEEP_PHASES)[number], number>>): Sample[] {
  return SWEEP_PHASES.map((phase) => ({ labels: { phase }, value: numbers[phase] }));
}
