/**
 * Delayed processing and window buffer (spec §2.8) over a partition that is otherwise ready. Columns
 * decide when nothing or everything is due; for a partition of which a part is due the stamps of its
 * appends are read (a lookup) and kept as a `KnownDue`.
 *
 *   offsets   0 1 2 3 4 5 6 7
 *   appends   [0 1 2][3 4][5 6 7]      due.last = 4: the rest becomes due at due.nextAt,
 *             |-- due ---|-- not -|    the stamp of [5 6 7] plus the delay
 */
import type { Inspection, InspectContext } from './inspect.js';
import { Verdict } from './inspect.js';

const MICROS = 1_000_000;
/** A lookup this young is served from even if more became due since: no lookup per appended message. */
const FRESH_MICROS = 20_000;

/** What a lookup found about the stamps of a partition. */
export interface KnownDue {
  /** Last offset that was due. */
  readonly last: number;
  /** When the append after it is due, µs; 0 when there was none. */
  readonly nextAt: number;
  /** When it was looked up, µs. */
  readonly asOf: number;
}

export function delayMicros(context: InspectContext, queueId: number): number {
  const options = context.tables.queues.byId(queueId as never)?.options;
  return Math.max(options?.delayedProcessing ?? 0, 0) * MICROS;
}

/** Turns Ready into Held (with `freeAt`) or Lookup, or cuts `lastOffset` to what is due. */
export function applyHolds(
  context: InspectContext,
  target: { readonly slot: number; readonly due: KnownDue | undefined },
  out: Inspection,
): void {
  const { partitions, queues } = context.tables;
  const options = queues.byId(partitions.queueId(target.slot))?.options;
  if (options === undefined) return;
  const { windowBuffer, delayedProcessing } = options;
  const newest = partitions.lastAppendAt(target.slot);
  if (windowBuffer > 0 && newest + windowBuffer * MICROS > context.nowMicros) {
    hold(out, newest + windowBuffer * MICROS);
  } else if (delayedProcessing > 0 && newest + delayedProcessing * MICROS > context.nowMicros) {
    applyDelay(context, { ...target, delay: delayedProcessing * MICROS }, out);
  }
}

/** The newest append is not due yet. */
function applyDelay(
  context: InspectContext,
  target: { readonly slot: number; readonly due: KnownDue | undefined; readonly delay: number },
  out: Inspection,
): void {
  const { partitions } = context.tables;
  const { due } = target;
  if (out.firstOffset === out.lastOffset) {
    hold(out, partitions.lastAppendAt(target.slot) + target.delay);
  } else if (due !== undefined && due.nextAt > context.nowMicros && due.last < out.firstOffset) {
    hold(out, due.nextAt);
  } else if (due !== undefined && due.last >= out.firstOffset && isCurrent(due, context)) {
    out.lastOffset = Math.min(out.lastOffset, due.last);
  } else if (partitions.createdAt(target.slot) + target.delay > context.nowMicros) {
    // Nothing in it can be due before its first append is.
    hold(out, partitions.createdAt(target.slot) + target.delay);
  } else {
    out.verdict = Verdict.Lookup;
  }
}

function isCurrent(due: KnownDue, context: InspectContext): boolean {
  return due.nextAt > context.nowMicros || due.asOf + FRESH_MICROS > context.nowMicros;
}

function hold(out: Inspection, until: number): void {
  out.verdict = Verdict.Held;
  out.freeAt = until;
}
