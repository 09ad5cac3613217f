/**
 * Judges one partition for one consumer group from the columns alone, in O(1): ready, leased until,
 * empty, or in need of a lookup (a start instant that lies between two appends); delays and windows
 * come on top (hold-rules). The machine judges again when the claim is applied; this is a forecast, never a decision.
 */
import type { ConsumerGroupId } from '../../common/ids.js';
import { StartMode } from '../../machine/commands/catalogue.js';
import type { Tables } from '../../machine/tables/tables.js';

/** Where a group without a cursor starts. `none` intent of an unregistered group = All. */
export interface StartPolicy {
  readonly mode: StartMode;
  readonly instantMicros: number;
}

export interface InspectContext {
  readonly tables: Tables;
  readonly nowMicros: number;
  readonly term: number;
  readonly skewMicros: number;
}

export const enum Verdict {
  Ready = 0,
  Leased = 1,
  Empty = 2,
  Lookup = 3,
  /** Delay or window of the queue. */
  Held = 4,
}

/** Reused result: filled by `inspect`, valid until the next call. */
export interface Inspection {
  verdict: Verdict;
  cursorSlot: number;
  cursorVersion: number;
  seedCommitted: number;
  firstOffset: number;
  lastOffset: number;
  /** Leased, Held: µs at which that ends for this leader (skew of another term included). */
  freeAt: number;
}

export function newInspection(): Inspection {
  return {
    verdict: Verdict.Empty,
    cursorSlot: -1,
    cursorVersion: 0,
    seedCommitted: -1,
    firstOffset: 0,
    lastOffset: -1,
    freeAt: 0,
  };
}

export function inspect(
  context: InspectContext,
  target: {
    readonly slot: number;
    readonly groupId: ConsumerGroupId;
    readonly policy: StartPolicy;
  },
  out: Inspection,
): Verdict {
  const { tables } = context;
  const { slot } = target;
  out.lastOffset = tables.partitions.lastOffset(slot);
  out.cursorSlot = tables.cursors.find(slot, target.groupId);
  let committed: number;
  if (out.cursorSlot >= 0) {
    out.freeAt = leaseEnd(context, out.cursorSlot);
    if (out.freeAt > context.nowMicros) return (out.verdict = Verdict.Leased);
    out.cursorVersion = tables.cursors.version(out.cursorSlot);
    const placed = placedAt(tables, out.cursorSlot);
    if (placed === null) return (out.verdict = Verdict.Lookup);
    committed = placed;
  } else {
    const seed = seedFromColumns(tables, slot, target.policy);
    if (seed === null) return (out.verdict = Verdict.Lookup);
    committed = seed;
    out.cursorVersion = 0;
  }
  out.seedCommitted = committed;
  out.firstOffset = Math.max(committed + 1, tables.partitions.logStart(slot));
  return (out.verdict = out.firstOffset > out.lastOffset ? Verdict.Empty : Verdict.Ready);
}

/** Where a cursor stands; one that is only a start may need the append rows (null). */
function placedAt(tables: Tables, cursorSlot: number): number | null {
  const { cursors } = tables;
  if (!cursors.isStart(cursorSlot)) return cursors.committed(cursorSlot);
  return seedFromColumns(
    tables,
    cursors.partitionSlot(cursorSlot),
    policyOfStart(tables, cursorSlot),
  );
}

/** A registration made since the first contact rules; else where the group asked to start then. */
export function policyOfStart(tables: Tables, cursorSlot: number): StartPolicy {
  const { cursors, partitions, registrations } = tables;
  const queueId = partitions.queueId(cursors.partitionSlot(cursorSlot));
  const row = registrations.find(queueId, cursors.groupId(cursorSlot));
  if (row !== undefined) return { mode: row.mode, instantMicros: row.instant };
  return { mode: StartMode.Timestamp, instantMicros: cursors.createdAt(cursorSlot) };
}

/** End of the cursor's lease as this term must see it, 0 when there is none. */
export function leaseEnd(context: InspectContext, cursorSlot: number): number {
  const { cursors, leases } = context.tables;
  const lease = cursors.lease(cursorSlot);
  if (lease < 0) return 0;
  const foreign = leases.term(lease) !== context.term;
  return leases.expiresAt(lease) + (foreign ? context.skewMicros : 0);
}

/**
 * Committed offset a fresh cursor starts from, or null when only the append rows can tell. Appends of a
 * partition are stamped in increasing order, the first one with the partition's creation time.
 */
export function seedFromColumns(tables: Tables, slot: number, policy: StartPolicy): number | null {
  const { partitions } = tables;
  const start = partitions.logStart(slot) - 1;
  if (policy.mode === StartMode.All) return start;
  const last = partitions.lastOffset(slot);
  if (last < 0 || partitions.createdAt(slot) >= policy.instantMicros) return start;
  if (partitions.lastAppendAt(slot) < policy.instantMicros) return last;
  return null;
}
