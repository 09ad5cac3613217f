/**
 * The verdict on one planned operation from the live row of its key (state.md §1.3, table "Verdicts").
 * Pure: the machine asks at apply, a node asks to see whether a call can change anything at all.
 */
import { addDecimals, compareDecimals, decimalText, parseDecimal } from '../../common/decimal.js';
import type { Decimal } from '../../common/decimal.js';
import { encodeUtf8, readUtf8 } from '../../common/utf8.js';
import { KvOpKind, NO_EXPECT } from '../commands/kv.js';
import type { KvPlannedOp, KvReason } from '../commands/kv.js';
import { isKvLive } from '../tables/kv-rows.js';
import type { KvRow } from '../tables/kv-rows.js';

export interface KvVerdict {
  readonly applied: boolean;
  readonly reason: KvReason | null;
  /** What happens to the stored row if the call goes through. */
  readonly effect: 'none' | 'write' | 'remove';
  /** What the answer shows; of a write also what is stored. */
  readonly value: Uint8Array | null;
  /** What the answer shows; the version of a write is given later. */
  readonly version: number;
}

const ZERO = encodeUtf8('0');

/** `stored` may be expired; null when there is no row. */
export function judgeKvOperation(
  operation: KvPlannedOp,
  stored: KvRow | null,
  now: number,
): KvVerdict {
  const live = stored !== null && isKvLive(stored, now) ? stored : null;
  switch (operation.kind) {
    case KvOpKind.Put:
      return judgePut(operation, live);
    case KvOpKind.Delete:
      return judgeDelete(operation, live, stored !== null);
    case KvOpKind.Incr:
      return judgeIncr(operation, live);
    case KvOpKind.Check:
      return judgeCheck(operation, live);
  }
}

function judgePut({ expect, value }: KvPlannedOp, live: KvRow | null): KvVerdict {
  const missed = expect === NO_EXPECT ? null : missedExpectation(expect, live);
  if (missed !== null) return lost(missed, live);
  return { applied: true, reason: null, effect: 'write', value, version: 0 };
}

function judgeDelete({ expect }: KvPlannedOp, live: KvRow | null, isStored: boolean): KvVerdict {
  if (expect === NO_EXPECT) {
    if (live !== null) return removed(live);
    // A dead row goes with the call, although there was nothing to delete.
    return { ...lost('absent', null), effect: isStored ? 'remove' : 'none' };
  }
  const missed = missedExpectation(expect, live);
  if (missed !== null) return lost(missed, live);
  return live === null ? held(null) : removed(live);
}

function judgeCheck({ expect }: KvPlannedOp, live: KvRow | null): KvVerdict {
  const missed = missedExpectation(expect, live);
  return missed === null ? { ...held(live), value: null } : lost(missed, live);
}

function judgeIncr(operation: KvPlannedOp, live: KvRow | null): KvVerdict {
  const current = parseDecimal(live === null ? '0' : textOf(live.value));
  const delta = parseDecimal(textOf(operation.value));
  if (current === undefined || delta === undefined) {
    return { ...lost('type', live), value: ZERO };
  }
  const sum = addDecimals(current, delta);
  if (isOutside(sum, operation)) return { ...lost('limit', live), value: live?.value ?? ZERO };
  const value = encodeUtf8(decimalText(sum));
  return { applied: true, reason: null, effect: 'write', value, version: 0 };
}

/** Bounds are inclusive; a number JSON cannot write is outside of any. */
function isOutside(sum: Decimal, { min, max }: KvPlannedOp): boolean {
  if (sum.exact === null && !Number.isFinite(sum.double)) return true;
  const low = min === null ? undefined : parseDecimal(min);
  const high = max === null ? undefined : parseDecimal(max);
  if (low !== undefined && compareDecimals(sum, low) < 0) return true;
  return high !== undefined && compareDecimals(sum, high) > 0;
}

/** Null when the expectation holds. */
function missedExpectation(expect: number, live: KvRow | null): KvReason | null {
  if (expect === 0) return live === null ? null : 'exists';
  if (live === null) return 'absent';
  return live.version === expect ? null : 'version';
}

function lost(reason: KvReason, live: KvRow | null): KvVerdict {
  const { value = null, version = 0 } = live ?? {};
  return { applied: false, reason, effect: 'none', value, version };
}

function held(live: KvRow | null): KvVerdict {
  const { value = null, version = 0 } = live ?? {};
  return { applied: true, reason: null, effect: 'none', value, version };
}

function removed(live: KvRow): KvVerdict {
  return { ...held(live), effect: 'remove' };
}

function textOf(bytes: Uint8Array): string {
  return readUtf8(bytes, 0, bytes.length);
}
