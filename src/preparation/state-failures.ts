/**
 * What the log says no with, in the envelope of the state plane (state.md §0.2): one translation for the
 * key-value store, locks and timers, each with its own words.
 */
import { HttpException } from '@nestjs/common';
import { QueenError } from '../common/errors.js';
import type { ErrorCode } from '../common/errors.js';
import { faultOf, StateRefusal } from '../common/state-refusal.js';

/** How one plane says it. */
export interface PlaneWords {
  /** A fault nobody foresaw. */
  readonly fault: ErrorCode;
  readonly unavailable: ErrorCode;
  /** Reasons of `unavailable`. */
  readonly reasons: Partial<Readonly<Record<ErrorCode, string>>>;
}

/** Engine answers that every route shares pass as they are. */
const SHARED: ReadonlySet<ErrorCode> = new Set([
  ...(['overloaded', 'storage_full', 'standby', 'name_too_long', 'reserved_tenant'] as const),
]);

const UNKNOWN: ReadonlySet<ErrorCode> = new Set(['timeout', 'outcome_unknown', 'retry'] as const);

export function planeRefusal(error: unknown, words: PlaneWords): unknown {
  // What the HTTP layer refuses (a header, say) is no fault of this plane.
  if (error instanceof StateRefusal || error instanceof HttpException) return error;
  if (!(error instanceof QueenError)) return faultOf(words.fault, error);
  if (SHARED.has(error.code)) return error;
  const reason = words.reasons[error.code];
  if (reason === undefined) return new StateRefusal(words.fault, { reason: error.code });
  return new StateRefusal(words.unavailable, { reason, detail: error.message });
}

/** A write that may have been applied: what was charged for it stays until the next measurement. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof QueenError && UNKNOWN.has(error.code);
}
