/** What the log says no with, in the envelope of the timer plane (state.md §2.7). */
import { HttpException } from '@nestjs/common';
import { QueenError } from '../common/errors.js';
import type { ErrorCode } from '../common/errors.js';
import { faultOf, StateRefusal } from '../common/state-refusal.js';

const REASONS: Partial<Record<ErrorCode, string>> = {
  timeout: 'timers_timeout',
  outcome_unknown: 'timers_timeout',
  retry: 'timers_retry',
  no_leader: 'no_leader',
};

const UNKNOWN: ReadonlySet<ErrorCode> = new Set(['timeout', 'outcome_unknown', 'retry'] as const);

/** Engine answers that every route shares pass as they are. */
const SHARED: ReadonlySet<ErrorCode> = new Set([
  ...(['overloaded', 'storage_full', 'standby', 'name_too_long', 'reserved_tenant'] as const),
]);

/** Runs a call; its failures leave as refusals of the timer plane. */
export async function answering<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw timerFailure(error);
  }
}

/** Timers may have been scheduled: what was charged for them stays until the next measurement. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof QueenError && UNKNOWN.has(error.code);
}

function timerFailure(error: unknown): unknown {
  // What the HTTP layer refuses (a header, say) is no fault of this plane.
  if (error instanceof StateRefusal || error instanceof HttpException) return error;
  if (!(error instanceof QueenError)) return faultOf('timers_error', error);
  if (SHARED.has(error.code)) return error;
  const reason = REASONS[error.code];
  if (reason === undefined) return new StateRefusal('timers_error', { reason: error.code });
  return new StateRefusal('timers_unavailable', { reason, detail: error.message });
}

/** The command had no effect and nobody can tell any more what it would have done. */
export function outcomeLost(): QueenError {
  return new QueenError('retry');
}
