/**
 * Renders ack verdicts per item (messages.md §6.5). HTTP 200 with a per-item failure is the contract:
 * each item is judged from its own offset and status and the numbers its target came back with.
 */
import { JsonWriter } from '../common/json/json-writer.js';
import type { AckTargetOutcome } from '../machine/commands/catalogue.js';
import { AckStatus } from '../machine/commands/catalogue.js';
import type { ScannedAcks } from './ack-items.js';
import type { AckItems, PlannedTarget } from '../preparation/ack-plan.js';
import { isResolved, isSignal, NO_LEASE_TEXT } from '../preparation/ack-plan.js';

const STALE_TEXT = 'message not found in the batch, already committed, or stale';

export interface AckItemVerdict {
  readonly success: boolean;
  readonly error: string | null;
  readonly leaseReleased: boolean;
  readonly dlq: boolean;
  readonly noop: boolean;
}

const STALE: AckItemVerdict = failed(STALE_TEXT, false);

export function failed(error: string, leaseReleased: boolean): AckItemVerdict {
  return { success: false, error, leaseReleased, dlq: false, noop: false };
}

/** Verdict of the target's i-th item; `outcome` is null when the target was not submitted. */
export function itemVerdict(
  items: AckItems,
  item: { readonly target: PlannedTarget; readonly i: number },
  outcome: AckTargetOutcome | null,
): AckItemVerdict {
  const { target, i } = item;
  if (target.refusal !== null) return failed(target.refusal, false);
  if (outcome === null) return STALE;
  if (outcome.verdict === 'fenced') return failed(NO_LEASE_TEXT, false);
  if (outcome.verdict === 'no_cursor') return STALE;
  if (outcome.verdict === 'no_partition') {
    return failed(`no partition ${target.partitionId}`, false);
  }
  // A repeat releases nothing now: items outside the settled batch must not look like a release.
  const released = outcome.verdict !== 'repeat' && outcome.leaseReleased;
  if (!isResolved(target, i)) return failed(STALE_TEXT, released);
  const status = items.statuses[target.items[i] ?? 0] ?? AckStatus.Completed;
  return judge(status, target.offsets[i] ?? 0, outcome);
}

function judge(status: number, offset: number, outcome: AckTargetOutcome): AckItemVerdict {
  const { leaseReleased } = outcome;
  if (outcome.verdict === 'repeat') {
    const inside = offset >= outcome.releasedFirst && offset <= outcome.releasedLast;
    return inside ? success(true, false, false) : failed(STALE_TEXT, false);
  }
  if (offset <= outcome.committedBefore) {
    return isSignal(status)
      ? failed(STALE_TEXT, leaseReleased)
      : success(leaseReleased, false, true);
  }
  if (offset > outcome.spanEnd) return failed(STALE_TEXT, leaseReleased);
  if (isSignal(status) && offset < outcome.lowestSignal) return failed(STALE_TEXT, leaseReleased);
  const dead = status === AckStatus.Failed || status === AckStatus.Dlq;
  return success(leaseReleased, dead && outcome.filed > 0, false);
}

function success(leaseReleased: boolean, dlq: boolean, noop: boolean): AckItemVerdict {
  return { success: true, error: null, leaseReleased, dlq, noop };
}

/** The 200 array, one element per item in input order. */
export function renderAcks(items: ScannedAcks, verdicts: readonly AckItemVerdict[]): Uint8Array {
  const out = new JsonWriter(64 + items.count * 160);
  out.ascii('[');
  verdicts.forEach((verdict, i) => {
    const id = items.transactionId(i);
    out.ascii(i === 0 ? '{"index":' : ',{"index":').integer(i);
    out.ascii(',"transactionId":').utf8(id.bytes, id.start, id.end);
    out.ascii(',"success":').boolean(verdict.success);
    out.ascii(',"error":').stringOrNull(verdict.error ?? undefined);
    out.ascii(',"leaseReleased":').boolean(verdict.leaseReleased);
    out.ascii(',"dlq":').boolean(verdict.dlq);
    out.ascii(',"noop":').boolean(verdict.noop).ascii('}');
  });
  return out.ascii(']').view();
}
