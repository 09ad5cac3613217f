/**
 * What the sweepers of this process did since its start: plain numbers that the metrics read. Only a
 * leader sweeps, so a follower's stand still.
 */
import { FireLag } from './fire-lag.js';

export const SWEEP_PHASES = ['timers', 'expiry'] as const;
export type SweepPhase = (typeof SWEEP_PHASES)[number];

export class SweepFigures {
  /** Timers that ended: their message was appended, or stood in the dedup window already. */
  appended = 0;
  duplicates = 0;
  /** Fires that came to nothing: `transient` whole steps, `permanent` timers that lost an attempt. */
  readonly failures = { transient: 0, permanent: 0 };
  deadLettered = 0;
  /** From the due instant to the applied fire, µs. */
  readonly fireLag = new FireLag();
  /** Timers fired, moved or filed, and expired keys removed. */
  readonly rows: Record<SweepPhase, number> = { timers: 0, expiry: 0 };
  /** Duration of the last step, ms. */
  readonly cycleMs: Record<SweepPhase, number> = { timers: 0, expiry: 0 };
  /** Turns held back by a switch or a full disk, or while the step before still ran. */
  readonly skips: Record<SweepPhase, number> = { timers: 0, expiry: 0 };
  /** Timers that changed between being read and being fired. */
  changed = 0;
  /** Timers whose message fits no entry. */
  tooLarge = 0;
  /** Newest sleep of the timer sweeper. */
  timerSleepMs = 0;
  /** Each sweeper that runs tells how late its oldest due timer is, µs. */
  readonly lateness = new Set<() => number>();

  oldestLateMicros(): number {
    return Math.max(0, ...[...this.lateness].map((late) => late()));
  }
}
