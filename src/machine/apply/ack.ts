/**
 * Ack (spec §6): fences each target, lets ack-plan.ts judge the numbers and writes what it says.
 * Targets are applied in order and are not atomic together.
 */
import { CommandKind } from '../commands/catalogue.js';
import type {
  AckCommand,
  AckOutcome,
  AckTarget,
  AckTargetOutcome,
  AckVerdict,
} from '../commands/catalogue.js';
import type { ConsumerGroupId } from '../../common/ids.js';
import { appendKey } from '../tables/keyspaces.js';
import type { PrefetchSink } from '../machine.js';
import type { DeadLetterRow } from '../tables/dead-letter-row.js';
import type { ApplyContext, LivePartition } from './context.js';
import { lowestSignal, planAck } from './ack-plan.js';
import type { AckPlan, AckState } from './ack-plan.js';
import { prepareDeadLetters, writeDeadLetters } from './dead-letters.js';
import { acceptsAck } from './lease-rules.js';

/** Rows the command can read: the appends of messages that may become dead letters. */
export function prefetchAck(context: ApplyContext, command: AckCommand, sink: PrefetchSink): void {
  for (const target of command.targets) prefetchAckTarget(context, target, sink);
}

export function prefetchAckTarget(
  context: ApplyContext,
  target: AckTarget,
  sink: PrefetchSink,
): void {
  if (target.signals.length === 0) return;
  const partition = context.livePartition(target.partitionId);
  if (partition === undefined) return;
  for (const signal of target.signals) {
    sink.row(appendKey(partition.queue.id, target.partitionId, signal.baseOffset));
  }
}

export function applyAck(context: ApplyContext, command: AckCommand): AckOutcome {
  const targets = command.targets.map((target) => {
    const place = findAckPlace(context, command.group, target);
    return typeof place === 'string' ? unchanged(place) : applyTarget(context, target, place);
  });
  return { kind: CommandKind.Ack, targets };
}

/** The cursor a target is about. */
export interface AckPlace {
  readonly partition: LivePartition;
  readonly cursor: number;
  readonly group: ConsumerGroupId;
}

/** A partition of another tenant is treated exactly as nonexistent. */
export function findAckPlace(
  context: ApplyContext,
  groupName: string,
  target: AckTarget,
): AckPlace | 'no_partition' | 'no_cursor' {
  const tenant = context.tenant();
  const partition = context.livePartition(target.partitionId);
  if (tenant === undefined || partition?.queue.tenant !== tenant) return 'no_partition';
  const group = context.tables.names.group(tenant, groupName);
  const cursor = group === undefined ? -1 : context.tables.cursors.find(partition.slot, group);
  return group === undefined || cursor < 0 ? 'no_cursor' : { partition, cursor, group };
}

/** Row of the lease that acknowledgements of the cursor are judged by now, −1 = none. */
export function liveLease(context: ApplyContext, cursor: number): number {
  const { cursors, leases } = context.tables;
  const lease = cursors.lease(cursor);
  return lease >= 0 && acceptsAck(leases, lease, context) ? lease : -1;
}

/**
 * Fencing (§6.2, §6.4). A lease id must be the live lease's, or that of the batch settled last: then
 * it is a repeat and changes nothing. Without a lease id the call acts on whatever the cursor holds.
 */
function applyTarget(context: ApplyContext, target: AckTarget, place: AckPlace): AckTargetOutcome {
  const { cursor } = place;
  const lease = liveLease(context, cursor);
  if (isFencedOff(context, target, lease)) return refuse(context, target, cursor);
  const state = ackState(context, place, lease);
  const change = prepareAck(context, target, { place, state, lease });
  if (change === undefined) return unchanged('stale', state.committed);
  writeAck(context, place, change);
  return {
    verdict: 'applied',
    committedBefore: state.committed,
    spanEnd: state.spanEnd,
    committedAfter: change.plan.committed,
    lowestSignal: lowestSignal(state),
    releasedFirst: -1,
    releasedLast: -1,
    leaseReleased: change.plan.released,
    filed: change.rows.length,
  };
}

/** The target names a lease that is not the live one. */
export function isFencedOff(context: ApplyContext, target: AckTarget, lease: number): boolean {
  if (target.leaseId.length === 0) return false;
  return lease < 0 || !context.tables.leases.matches(lease, target.leaseId);
}

export interface AckSituation {
  readonly place: AckPlace;
  readonly state: AckState;
  readonly lease: number;
}

/** What a target is going to do to its cursor. */
export interface AckChange {
  readonly plan: AckPlan;
  readonly state: AckState;
  readonly lease: number;
  readonly rows: readonly DeadLetterRow[];
}

/** Judges a target that may act; undefined when a message to be filed cannot be found any more. */
export function prepareAck(
  context: ApplyContext,
  target: AckTarget,
  situation: AckSituation,
): AckChange | undefined {
  const { place, state, lease } = situation;
  const plan = planAck(state, target);
  // What retention cut off under the lease is gone: the cursor passes it, nothing can be filed.
  const logStart = context.tables.partitions.logStart(place.partition.slot);
  const filed = plan.filed.filter((signal) => signal.offset >= logStart);
  const rows = prepareDeadLetters(context, filed, {
    partition: place.partition,
    target,
    groupId: place.group,
    retryCount: state.batchRetryCount,
  });
  return rows === undefined ? undefined : { plan, state, lease, rows };
}

export function writeAck(context: ApplyContext, place: AckPlace, change: AckChange): void {
  const { plan, state, rows } = change;
  writeDeadLetters(context, place.partition.slot, rows);
  if (plan.released || plan.committed !== state.committed) writePlan(context, place, change);
}

function refuse(context: ApplyContext, target: AckTarget, cursor: number): AckTargetOutcome {
  const { cursors } = context.tables;
  const committed = cursors.committed(cursor);
  if (!cursors.releasedMatches(cursor, target.leaseId)) return unchanged('fenced', committed);
  return {
    ...unchanged('repeat', committed),
    releasedFirst: cursors.releasedFirst(cursor),
    releasedLast: cursors.releasedLast(cursor),
    leaseReleased: true,
  };
}

export function ackState(context: ApplyContext, place: AckPlace, lease: number): AckState {
  const { cursors, leases, partitions } = context.tables;
  const { options } = place.partition.queue;
  return {
    committed: cursors.committed(place.cursor),
    spanEnd: lease >= 0 ? leases.batchEnd(lease) : partitions.lastOffset(place.partition.slot),
    leased: lease >= 0,
    conflated: lease >= 0 && leases.conflated(lease),
    batchRetryCount: cursors.batchRetryCount(place.cursor),
    retryLimit: options.retryLimit,
    deadLetters: options.deadLetterQueue || options.dlqAfterMaxRetries,
  };
}

function writePlan(context: ApplyContext, place: AckPlace, change: AckChange): void {
  const { cursors, leases, partitions } = context.tables;
  const { cursor } = place;
  const { plan, state, lease } = change;
  if (plan.committed !== state.committed) {
    // Offsets below the log's start were never delivered: they do not count as consumed.
    const start =
      lease >= 0 ? leases.firstOffset(lease) : partitions.logStart(place.partition.slot);
    cursors.setCommitted(cursor, plan.committed);
    cursors.addConsumed(cursor, Math.max(0, plan.committed - Math.max(state.committed, start - 1)));
    if (lease >= 0 && plan.attempts === 'follow') {
      cursors.setAttempt(cursor, plan.committed + 1, cursors.attemptCount(cursor));
    }
  }
  if (plan.attempts === 'reset') cursors.setAttempt(cursor, -1, 0);
  if (plan.batchRetryCount !== state.batchRetryCount) {
    cursors.setBatchRetryCount(cursor, plan.batchRetryCount);
  }
  if (plan.settled) rememberReleased(context, cursor, lease);
  if (plan.released) cursors.clearLease(cursor);
  cursors.bump(cursor);
  context.cursorChanged(cursor);
}

/** For repeats of this call (§6.4): the id and range of the batch that is settled now. */
function rememberReleased(context: ApplyContext, cursor: number, lease: number): void {
  const { cursors, leases } = context.tables;
  const leaseId = leases.copyId(lease);
  cursors.setReleased(cursor, leaseId, leases.firstOffset(lease), leases.batchEnd(lease));
  context.digest.bytes(leaseId);
}

function unchanged(verdict: AckVerdict, committed = -1): AckTargetOutcome {
  return {
    verdict,
    committedBefore: committed,
    spanEnd: committed,
    committedAfter: committed,
    lowestSignal: committed + 1,
    releasedFirst: -1,
    releasedLast: -1,
    leaseReleased: false,
    filed: 0,
  };
}
