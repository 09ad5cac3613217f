/**
 * Claim and Unclaim (spec §2.4, §2.5, §2.12, §5.5). The dispatcher named exact ranges and the cursor
 * versions it saw; here only what can have changed is judged again. A range that fails is left out,
 * and a grant with no range left is still reported, so that its pop is looked at again.
 */
import { micros, offset } from '../../common/ids.js';
import { CommandKind } from '../commands/catalogue.js';
import type {
  ClaimCommand,
  ClaimGrant,
  ClaimOutcome,
  ClaimRange,
  GrantedRange,
  GrantOutcome,
  UnclaimCommand,
  UnclaimOutcome,
} from '../commands/catalogue.js';
import type { ApplyContext, LivePartition } from './context.js';
import { isHeld, later } from './lease-rules.js';

/** `restoreCommitted` of a leased claim in an Unclaim. */
export const RESTORE_LEASED = -2;

export function applyClaim(context: ApplyContext, command: ClaimCommand): ClaimOutcome {
  const grants = command.grants.map((grant) => applyGrant(context, grant, command.skewMicros));
  return { kind: CommandKind.Claim, grants };
}

function applyGrant(context: ApplyContext, grant: ClaimGrant, skewMicros: number): GrantOutcome {
  const expiresAt = grant.commitOnDelivery ? 0 : later(context.now, grant.leaseMicros);
  const ranges: GrantedRange[] = [];
  for (const range of grant.ranges) {
    const partition = claimable(context, range, skewMicros);
    if (partition === undefined) continue;
    ranges.push(takeRange(context, { grant, range, partition, expiresAt }));
  }
  const outcome: GrantOutcome = {
    ticket: grant.ticket,
    leaseId: grant.leaseId,
    expiresAt: micros(expiresAt),
    commitOnDelivery: grant.commitOnDelivery,
    ranges,
  };
  context.effects.granted(outcome);
  return outcome;
}

/** The range's partition when every precondition still holds. */
function claimable(
  context: ApplyContext,
  range: ClaimRange,
  skewMicros: number,
): LivePartition | undefined {
  const { partitions, cursors, leases } = context.tables;
  const partition = context.livePartition(range.partitionId);
  if (partition === undefined || partition.queue.id !== range.queueId) return undefined;
  const cursor = cursors.find(partition.slot, range.groupId);
  if (cursor < 0 ? range.cursorVersion !== 0 : cursors.version(cursor) !== range.cursorVersion) {
    return undefined;
  }
  const lease = cursor < 0 ? -1 : cursors.lease(cursor);
  if (lease >= 0 && isHeld(leases, lease, context, skewMicros)) return undefined;
  const isPlaced = cursor >= 0 && !cursors.isStart(cursor);
  const committed = isPlaced ? cursors.committed(cursor) : range.seedCommitted;
  const { firstOffset, lastOffset } = range;
  const wanted = Math.max(committed + 1, partitions.logStart(partition.slot));
  const fits =
    committed >= -1 &&
    firstOffset === wanted &&
    firstOffset <= lastOffset &&
    lastOffset <= partitions.lastOffset(partition.slot);
  return fits ? partition : undefined;
}

interface Taking {
  readonly grant: ClaimGrant;
  readonly range: ClaimRange;
  readonly partition: LivePartition;
  readonly expiresAt: number;
}

function takeRange(context: ApplyContext, taking: Taking): GrantedRange {
  const { cursors } = context.tables;
  const { grant, range, partition } = taking;
  const { groupId, firstOffset, lastOffset } = range;
  let cursor = cursors.find(partition.slot, groupId);
  if (cursor < 0) {
    cursor = cursors.create(partition.slot, groupId, range.seedCommitted, context.now);
  } else if (cursors.isStart(cursor)) {
    cursors.place(cursor, range.seedCommitted, context.now);
  }
  if (cursors.lease(cursor) >= 0) cursors.clearLease(cursor);
  let deliveryAttempt = 1;
  if (grant.commitOnDelivery) {
    cursors.setCommitted(cursor, lastOffset);
    cursors.addConsumed(cursor, lastOffset - firstOffset + 1);
  } else {
    deliveryAttempt = countAttempt(context, cursor, range);
    setLease(context, cursor, taking);
  }
  cursors.bump(cursor);
  context.digest.bytes(grant.leaseId);
  context.cursorChanged(cursor);
  return {
    queueId: range.queueId,
    partitionId: range.partitionId,
    groupId,
    firstOffset: offset(firstOffset),
    lastOffset: offset(lastOffset),
    deliveryAttempt,
    cursorVersion: cursors.version(cursor),
    conflated: range.conflated,
  };
}

/**
 * §2.5: the count rises when the delivery starts where the last one did, else it restarts at 1. A
 * conflated delivery consists of its last message only, so that is where it starts.
 */
function countAttempt(context: ApplyContext, cursor: number, range: ClaimRange): number {
  const { cursors } = context.tables;
  const start = range.conflated ? range.lastOffset : range.firstOffset;
  const again = cursors.attemptOffset(cursor) === start;
  const count = again ? cursors.attemptCount(cursor) + 1 : 1;
  cursors.setAttempt(cursor, start, count);
  return count;
}

function setLease(context: ApplyContext, cursor: number, taking: Taking): void {
  const { grant, range } = taking;
  context.tables.cursors.setLease(cursor, {
    leaseId: grant.leaseId,
    firstOffset: range.firstOffset,
    batchEnd: range.lastOffset,
    expiresAt: micros(taking.expiresAt),
    acquiredAt: context.now,
    term: context.term,
    conflated: range.conflated,
  });
}

export function applyUnclaim(context: ApplyContext, command: UnclaimCommand): UnclaimOutcome {
  let restored = 0;
  for (const range of command.ranges) {
    if (restoreRange(context, command.leaseId, range)) restored += 1;
  }
  return { kind: CommandKind.Unclaim, restored };
}

/** §2.4 last rule: the claim is undone only while the cursor is exactly as the claim left it. */
function restoreRange(
  context: ApplyContext,
  leaseId: Uint8Array,
  range: UnclaimCommand['ranges'][number],
): boolean {
  const { cursors } = context.tables;
  const partition = context.livePartition(range.partitionId);
  if (partition === undefined) return false;
  const cursor = cursors.find(partition.slot, range.groupId);
  if (cursor < 0 || cursors.version(cursor) !== range.cursorVersion) return false;
  const restored =
    range.restoreCommitted === RESTORE_LEASED
      ? restoreLeased(context, cursor, leaseId)
      : restoreCommitted(context, cursor, range.restoreCommitted);
  if (!restored) return false;
  cursors.bump(cursor);
  context.cursorChanged(cursor);
  return true;
}

/** Drops the lease and un-counts its delivery; a first delivery leaves no attempt marker behind. */
function restoreLeased(context: ApplyContext, cursor: number, leaseId: Uint8Array): boolean {
  const { cursors, leases } = context.tables;
  const lease = cursors.lease(cursor);
  if (lease < 0 || !leases.matches(lease, leaseId)) return false;
  cursors.clearLease(cursor);
  const count = cursors.attemptCount(cursor) - 1;
  if (count <= 0) cursors.setAttempt(cursor, -1, 0);
  else cursors.setAttempt(cursor, cursors.attemptOffset(cursor), count);
  return true;
}

function restoreCommitted(context: ApplyContext, cursor: number, committed: number): boolean {
  const { cursors } = context.tables;
  const taken = cursors.committed(cursor) - committed;
  if (committed < -1 || taken <= 0 || cursors.lease(cursor) >= 0) return false;
  cursors.setCommitted(cursor, committed);
  cursors.addConsumed(cursor, -taken);
  return true;
}
