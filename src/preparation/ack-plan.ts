/**
 * From ack items to targets: items are grouped by (partition, lease) in first-seen order, each item's
 * transactionId is resolved to an offset on this node's applied state. What stays unknown after a read
 * barrier fails here and is not part of the command. The machine judges everything that can change.
 */
import { partitionId as asPartitionId } from '../common/ids.js';
import { AckStatus } from '../machine/commands/catalogue.js';
import type { Group } from '../raft/index.js';
import { indexInRange, mayRepeat, repeatedIndex } from './delivered-ids.js';
import type { DeliveredIds, DeliveredRange } from './delivered-ids.js';
import { leaseKeyOf } from './lease-key.js';

const UNKNOWN = -1;
const HASH_BYTES = 16;

/** One ack item as the scanner found it; strings exist only for what is answered or stored. */
export interface AckItems {
  readonly count: number;
  /** NaN when the text is no partition id, Infinity when no partition can have that number. */
  readonly partitionIds: Float64Array;
  readonly statuses: Uint8Array;
  /** Hash of each transactionId, 16 B each. */
  readonly hashes: Uint8Array;
  /** 16 bytes, or empty = unfenced, or null = the text can be no lease of ours. */
  leaseId(item: number): Uint8Array | null;
  error(item: number): string | null;
  /** False when the item names no message at all. */
  hasId(item: number): boolean;
  partitionText(item: number): string;
}

export interface PlannedTarget {
  readonly partitionId: number;
  readonly leaseId: Uint8Array;
  /** Indexes of the items, input order. */
  readonly items: number[];
  readonly offsets: Float64Array;
  readonly bases: Float64Array;
  /** Set when the target cannot reach the machine. */
  readonly refusal: string | null;
}

export interface AckContext {
  readonly group: Group;
  readonly tenant: Uint8Array;
  readonly consumerGroup: string;
  readonly delivered: DeliveredIds;
  /** Waits until this node has applied what was committed before the call. */
  readonly barrier: () => Promise<void>;
}

export const NO_LEASE_TEXT = 'invalid or expired lease';
export const NOT_A_PARTITION_TEXT = 'partitionId is not a partition id';

export async function planAck(items: AckItems, context: AckContext): Promise<PlannedTarget[]> {
  const grouped = groupItems(items);
  const targets: PlannedTarget[] = [];
  for (const target of grouped) targets.push(await resolveTarget(items, target, context));
  return targets;
}

interface Grouped {
  readonly partitionId: number;
  readonly leaseId: Uint8Array | null;
  readonly items: number[];
}

function groupItems(items: AckItems): Grouped[] {
  const byKey = new Map<string, Grouped>();
  for (let i = 0; i < items.count; i += 1) {
    const partitionId = items.partitionIds[i] ?? NaN;
    const leaseId = items.leaseId(i);
    const key = `${partitionId}/${leaseId === null ? 'x' : leaseKeyOf(leaseId)}`;
    const found = byKey.get(key);
    if (found === undefined) byKey.set(key, { partitionId, leaseId, items: [i] });
    else found.items.push(i);
  }
  return [...byKey.values()];
}

async function resolveTarget(
  items: AckItems,
  grouped: Grouped,
  context: AckContext,
): Promise<PlannedTarget> {
  const { partitionId, leaseId } = grouped;
  if (Number.isNaN(partitionId)) return refused(grouped, NOT_A_PARTITION_TEXT);
  if (!isOwnPartition(context, partitionId)) {
    await context.barrier();
    if (!isOwnPartition(context, partitionId)) {
      return refused(grouped, `no partition ${items.partitionText(grouped.items[0] ?? 0)}`);
    }
  }
  if (leaseId === null) return refused(grouped, NO_LEASE_TEXT);
  const target: PlannedTarget = {
    partitionId,
    leaseId,
    items: grouped.items,
    offsets: new Float64Array(grouped.items.length).fill(UNKNOWN),
    bases: new Float64Array(grouped.items.length).fill(UNKNOWN),
    refusal: null,
  };
  if (resolveFromDelivered(items, target, context)) return target;
  if (await resolveFromRows(items, target, context)) return target;
  await context.barrier();
  await resolveFromRows(items, target, context);
  return target;
}

function refused(grouped: Grouped, refusal: string): PlannedTarget {
  const none = new Float64Array(grouped.items.length).fill(UNKNOWN);
  return {
    partitionId: grouped.partitionId,
    leaseId: grouped.leaseId ?? new Uint8Array(0),
    items: grouped.items,
    offsets: none,
    bases: none,
    refusal,
  };
}

/** A partition of another tenant is treated as nonexistent. */
function isOwnPartition(context: AckContext, partitionId: number): boolean {
  const { partitions, queues, names } = context.group.tables;
  const slot = Number.isSafeInteger(partitionId) ? partitions.byId(asPartitionId(partitionId)) : -1;
  if (slot < 0) return false;
  const queue = queues.byId(partitions.queueId(slot));
  return queue !== undefined && queue.tenant === names.tenant(context.tenant);
}

/** Resolves from what this node handed out; true when every item was found. */
function resolveFromDelivered(
  items: AckItems,
  target: PlannedTarget,
  context: AckContext,
): boolean {
  if (target.leaseId.length === 0) return false;
  const range = context.delivered.find(leaseKeyOf(target.leaseId), target.partitionId);
  if (range === undefined) return false;
  const repeats = mayRepeat(range) ? { from: spanOf(context, target).first } : null;
  let complete = true;
  target.items.forEach((item, i) => {
    const index =
      repeats === null
        ? indexInRange(range, items.hashes, item * HASH_BYTES)
        : indexOfRepeated(items, item, { range, from: repeats.from });
    if (index < 0) complete = false;
    else {
      target.offsets[i] = range.first + index;
      target.bases[i] = range.bases[index] ?? UNKNOWN;
    }
  });
  return complete;
}

/**
 * An id that stands twice in a batch: completed means all of it, a signal the first that is not settled
 * yet, so that no other message goes with it unseen.
 */
function indexOfRepeated(
  items: AckItems,
  item: number,
  { range, from }: { readonly range: DeliveredRange; readonly from: number },
): number {
  const hash = { hashes: items.hashes, at: item * HASH_BYTES };
  const isCompleted = items.statuses[item] === AckStatus.Completed;
  return repeatedIndex(range, hash, isCompleted ? 'last' : { firstFrom: from - range.first });
}

async function resolveFromRows(
  items: AckItems,
  target: PlannedTarget,
  context: AckContext,
): Promise<boolean> {
  const missing: number[] = [];
  target.items.forEach((item, i) => {
    if (target.offsets[i] === UNKNOWN && items.hasId(item)) missing.push(i);
  });
  if (missing.length === 0) return true;
  const span = spanOf(context, target);
  const isOldest = (i: number): boolean => {
    const isCompleted = items.statuses[target.items[i] ?? 0] === AckStatus.Completed;
    return isCompleted ? span.completedOldest : span.signalsOldest;
  };
  const { first, last } = span;
  for (const oldestFirst of [false, true]) {
    const asked = missing.filter((i) => isOldest(i) === oldestFirst);
    if (asked.length === 0) continue;
    const hashes = hashesOf(items, target, asked);
    const bounds = { first, last, oldestFirst };
    const found = await context.group.findIds(target.partitionId, hashes, bounds);
    asked.forEach((i, at) => {
      target.offsets[i] = found.offsets[at] ?? UNKNOWN;
      target.bases[i] = found.bases[at] ?? UNKNOWN;
    });
  }
  return missing.every((i) => target.offsets[i] !== UNKNOWN);
}

function hashesOf(items: AckItems, target: PlannedTarget, asked: readonly number[]): Uint8Array {
  const hashes = new Uint8Array(asked.length * HASH_BYTES);
  asked.forEach((i, at) => {
    const from = (target.items[i] ?? 0) * HASH_BYTES;
    hashes.set(items.hashes.subarray(from, from + HASH_BYTES), at * HASH_BYTES);
  });
  return hashes;
}

/** Where the items of a target are expected, and which place counts of an id that stands twice there. */
interface AckSpan {
  readonly first: number;
  readonly last: number;
  readonly completedOldest: boolean;
  readonly signalsOldest: boolean;
}

/**
 * The leased batch, else everything after the cursor; a lease that is over bounds nothing; the id of the
 * batch settled last means that batch (a repeat). An id that stands twice in a batch is completed as a
 * whole and signalled from its first on (the delivered message of a conflated one). Without a batch only
 * its first place counts, so that nothing undelivered between two of them is passed over.
 */
function spanOf(context: AckContext, target: PlannedTarget): AckSpan {
  const { partitions, cursors, leases, names } = context.group.tables;
  const slot = partitions.byId(asPartitionId(target.partitionId));
  const newest = { completedOldest: false, signalsOldest: false };
  if (slot < 0) return { first: 0, last: -1, ...newest };
  const tenant = names.tenant(context.tenant);
  const groupId = tenant === undefined ? undefined : names.group(tenant, context.consumerGroup);
  const cursor = groupId === undefined ? -1 : cursors.find(slot, groupId);
  const last = partitions.lastOffset(slot);
  if (cursor < 0) return { first: partitions.logStart(slot), last, ...newest };
  if (target.leaseId.length > 0 && cursors.releasedMatches(cursor, target.leaseId)) {
    const [first, end] = [cursors.releasedFirst(cursor), cursors.releasedLast(cursor)];
    return { first, last: end, ...newest };
  }
  const lease = cursors.lease(cursor);
  const bounds = lease >= 0 && context.group.nowMicros() <= leases.expiresAt(lease);
  return {
    first: cursors.committed(cursor) + 1,
    last: bounds ? leases.batchEnd(lease) : last,
    completedOldest: !bounds,
    signalsOldest: !bounds || !leases.conflated(lease),
  };
}

/** True when the item can take part in the command. */
export function isResolved(target: PlannedTarget, i: number): boolean {
  return target.refusal === null && target.offsets[i] !== UNKNOWN;
}

export function isSignal(status: number): boolean {
  return status !== AckStatus.Completed;
}
