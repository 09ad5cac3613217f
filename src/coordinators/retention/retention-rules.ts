/**
 * The rules of one queue at one instant (spec §2.9): how old an append must be to go, and what holds it.
 * `retentionSeconds` and `completedRetentionSeconds` need `retentionEnabled`; `maxWaitTimeSeconds` works
 * alone and knows no sink.
 */
import { TrimRule } from '../../machine/commands/index.js';
import type { QueueOptions } from '../../machine/commands/index.js';

const MICROS_PER_SECOND = 1_000_000;
const SINK_HOLD_DEFAULT_SECONDS = 604_800;
/** What a sink committed is spared for another minute. */
const SINK_MARGIN_MICROS = 60 * MICROS_PER_SECOND;

export interface RetentionRules {
  /** An append stamped below may go by the rule; -Infinity: the rule is off. */
  readonly below: Readonly<Record<TrimRule, number>>;
  /** Null: nobody holds. */
  readonly sink: SinkHold | null;
}

export interface SinkHold {
  readonly group: string;
  /** Stamped below: held too long, goes whatever the sink did. */
  readonly unheldBelow: number;
  /** Stamped below and settled by the sink: may go. */
  readonly settledBelow: number;
}

/** Undefined when no rule of the queue can cut anything. */
export function rulesAt(options: QueueOptions, nowMicros: number): RetentionRules | undefined {
  const { retentionEnabled, retentionSeconds, completedRetentionSeconds } = options;
  const gated = (seconds: number): number => before(retentionEnabled ? seconds : 0, nowMicros);
  const below = {
    [TrimRule.Age]: gated(retentionSeconds),
    [TrimRule.Completed]: gated(completedRetentionSeconds),
    [TrimRule.MaxWait]: before(options.maxWaitTimeSeconds, nowMicros),
  };
  if (Math.max(...Object.values(below)) === -Infinity) return undefined;
  return { below, sink: sinkOf(options, nowMicros) };
}

function before(seconds: number, nowMicros: number): number {
  return seconds > 0 ? nowMicros - seconds * MICROS_PER_SECOND : -Infinity;
}

function sinkOf(options: QueueOptions, nowMicros: number): SinkHold | null {
  const { retentionSinkHold, retentionSinkHoldMaxSeconds } = options;
  if (retentionSinkHold === '') return null;
  const max = retentionSinkHoldMaxSeconds || SINK_HOLD_DEFAULT_SECONDS;
  return {
    group: retentionSinkHold,
    unheldBelow: nowMicros - max * MICROS_PER_SECOND,
    settledBelow: nowMicros - SINK_MARGIN_MICROS,
  };
}
