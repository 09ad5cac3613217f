/**
 * The acknowledgement algorithm (spec §2.6, §2.7, §6.3) on numbers only: what one target does to one
 * cursor. Nothing is changed here; the caller checks the rows of the dead letters first.
 *
 *   committed      batch under lease: committed+1 … batchEnd
 *      │  ┌────────────────────────────────────────────────┐
 *   ───●──┤ completed … prefix │ HEAD │ settle above … │   │──────
 *         └────────────────────────────────────────────────┘
 *   head   = the signal with the lowest offset (dlq > failed > retry at equal offsets)
 *   prefix = highest completed offset below the head; everything under it is settled with it
 */
import { AckStatus } from '../commands/catalogue.js';
import type { AckSignal, AckTarget } from '../commands/catalogue.js';

/** The cursor as the call finds it. Without a lease `spanEnd` is the last written offset. */
export interface AckState {
  readonly committed: number;
  readonly spanEnd: number;
  readonly leased: boolean;
  readonly conflated: boolean;
  readonly batchRetryCount: number;
  /** Of the queue; negative counts as 0. */
  readonly retryLimit: number;
  /** The queue files dead letters when the budget is spent. */
  readonly deadLetters: boolean;
}

export interface AckPlan {
  readonly committed: number;
  readonly released: boolean;
  /** The whole batch is settled: a repeat of the call must be answered as a success. */
  readonly settled: boolean;
  readonly batchRetryCount: number;
  /** Delivery attempts: forgotten, or the marker follows the cursor. */
  readonly attempts: 'reset' | 'follow';
  readonly filed: readonly AckSignal[];
}

const NOTHING_FILED: readonly AckSignal[] = [];

export function planAck(state: AckState, target: AckTarget): AckPlan {
  const signals = resolvableSignals(state, target.signals);
  const head = signals[0];
  const limit = head === undefined ? state.spanEnd + 1 : head.offset;
  const prefix = completedPrefix(state, target.completed, limit);
  if (!state.leased) return keepLease(state, prefix);
  if (head === undefined) return planCompleted(state, prefix);
  const exhausted = state.batchRetryCount >= Math.max(0, state.retryLimit);
  switch (head.status) {
    case AckStatus.Retry:
      return planRedelivery(state, prefix, 0);
    case AckStatus.Failed:
      return exhausted
        ? planSettleAbove(state, target, { signals, exhausted: true })
        : planRedelivery(state, prefix, 1);
    case AckStatus.Dlq:
      return planSettleAbove(state, target, { signals, exhausted });
  }
}

/** Only the completed prefix moves the cursor. */
function keepLease(state: AckState, prefix: number): AckPlan {
  return {
    committed: prefix,
    released: false,
    settled: false,
    batchRetryCount: state.batchRetryCount,
    attempts: 'follow',
    filed: NOTHING_FILED,
  };
}

/** No signal: the lease stays until its whole batch is settled. */
function planCompleted(state: AckState, prefix: number): AckPlan {
  if (prefix < state.spanEnd) return keepLease(state, prefix);
  return {
    committed: state.spanEnd,
    released: true,
    settled: true,
    batchRetryCount: 0,
    attempts: 'reset',
    filed: NOTHING_FILED,
  };
}

/** `retry` and `failed` with budget left: released, delivered again from prefix + 1. */
function planRedelivery(state: AckState, prefix: number, charge: number): AckPlan {
  return {
    committed: prefix,
    released: true,
    settled: false,
    batchRetryCount: state.batchRetryCount + charge,
    attempts: 'follow',
    filed: NOTHING_FILED,
  };
}

interface AboveRules {
  /** Strongest signal of each offset, ascending; the first one is the head. */
  readonly signals: readonly AckSignal[];
  /** The retry budget is spent: `failed` items are filed or dropped too. */
  readonly exhausted: boolean;
}

/**
 * The head is filed or dropped; then offsets above it settle contiguously: a signal by its status, any
 * other offset as long as some completed item lies at or above it.
 */
function planSettleAbove(state: AckState, target: AckTarget, rules: AboveRules): AckPlan {
  const { signals, exhausted } = rules;
  const filed: AckSignal[] = [];
  const highest = highestCompleted(target.completed, state.spanEnd + 1);
  let committed = signals[0]!.offset - 1;
  let failedStopped = false;
  for (let i = 0; committed < state.spanEnd;) {
    const signal = signals[i];
    const next = signal === undefined ? state.spanEnd + 1 : signal.offset;
    if (next > committed + 1) {
      committed = Math.max(committed, Math.min(next - 1, highest));
      if (signal === undefined || committed < next - 1) break;
      continue;
    }
    if (signal === undefined || signal.status === AckStatus.Retry) break;
    if (signal.status === AckStatus.Failed && !exhausted) {
      failedStopped = true;
      break;
    }
    if (signal.status === AckStatus.Dlq || state.deadLetters) filed.push(signal);
    committed = next;
    i += 1;
  }
  return {
    committed,
    released: true,
    settled: committed >= state.spanEnd,
    batchRetryCount: failedStopped ? state.batchRetryCount : 0,
    attempts: 'reset',
    filed,
  };
}

/** Under a conflated lease a signal can name the delivered message alone, the last of the span. */
export function lowestSignal({ conflated, committed, spanEnd }: AckState): number {
  return conflated ? spanEnd : committed + 1;
}

/** Signals that can be named, the strongest of each offset, ascending. */
function resolvableSignals(state: AckState, signals: readonly AckSignal[]): AckSignal[] {
  const lowest = lowestSignal(state);
  const inside = signals.filter((s) => s.offset >= lowest && s.offset <= state.spanEnd);
  inside.sort((a, b) => a.offset - b.offset || strength(b) - strength(a));
  return inside.filter((signal, i) => i === 0 || signal.offset !== inside[i - 1]!.offset);
}

/** dlq > failed > retry. */
function strength(signal: AckSignal): number {
  switch (signal.status) {
    case AckStatus.Dlq:
      return 3;
    case AckStatus.Failed:
      return 2;
    case AckStatus.Retry:
      return 1;
  }
}

/** Highest completed offset below `limit`, at least the cursor. Last-value: any one settles the span. */
function completedPrefix(state: AckState, completed: readonly number[], limit: number): number {
  const highest = Math.max(state.committed, highestCompleted(completed, limit));
  if (!state.conflated) return highest;
  return limit > state.spanEnd && highest > state.committed ? state.spanEnd : state.committed;
}

/** Highest offset below `limit` in ascending ranges [first, last, …]; −1 when none. */
export function highestCompleted(completed: readonly number[], limit: number): number {
  let low = 0;
  let high = completed.length / 2;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (completed[middle * 2]! < limit) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? -1 : Math.min(completed[low * 2 - 1]!, limit - 1);
}
