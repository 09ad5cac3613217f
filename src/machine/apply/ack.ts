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
import type { ApplyContext, LivePartition } from './context.js';
import { planAck } from './ack-plan.js';
import type { AckPlan, AckState } from './ack-plan.js';
import { prepareDeadLetters, writeDeadLetters } from './dead-letters.js';
import { acceptsAck } from './lease-rules.js';

/** Rows the command can read: the appends of messages that may become dead letters. */
export function prefetchAck(context: ApplyContext, command: AckCommand, sink: PrefetchSink): void {
  for (const target of command.targets) {
    if (target.signals.length === 0) continue;
    const partition = context.livePartition(target.partitionId);
    if (partition === undefined) continue;
    for (const signal of target.signals) {
      sink.row(appendKey(partition.queue.id, target.partitionId, signal.baseOffset));
    }
  }
}

export function applyAck(context: ApplyContext, command: AckCommand): AckOutcome {
  const tenant = context.tenant();
  const group =
    tenant === undefined ? undefined : context.tables.names.group(tenant, command.group);
  const targets = command.targets.map((target) => {
    const partition = context.livePartition(target.partitionId);
    // A partition of another tenant is treated exactly as nonexistent.
    if (partition === undefined || partition.queue.tenant !== tenant) {
      return unchanged('no_partition');
    }
    const cursor = group === undefined ? -1 : context.tables.cursors.find(partition.slot, group);
    if (group === undefined || cursor < 0) return unchanged('no_cursor');
    return applyTarget(context, target, { partition, cursor, group });
  });
  return { kind: CommandKind.Ack, targets };
}

interface Place {
  readonly partition: LivePartition;
  readonly cursor: number;
  readonly group: ConsumerGroupId;
}

/**
 * Fencing (§6.2, §6.4). A lease id must be the live lease's, or that of the batch settled last: then
 * it is a repeat and changes nothing. Without a lease id the call acts on whatever the cursor holds.
 */
function applyTarget(context: ApplyContext, target: AckTarget, place: Place): AckTargetOutcome {
  const { cursors, leases } = context.tables;
  const { cursor } = place;
  const lease = cursors.lease(cursor);
  const live = lease >= 0 && acceptsAck(leases, lease, context);
  if (target.leaseId.length > 0 && !(live && leases.matches(lease, target.leaseId))) {
    return refuse(context, target, cursor);
  }
  const state = stateOf(context, place, live ? lease : -1);
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
  if (rows === undefined) return unchanged('stale', state.committed);
  writeDeadLetters(context, place.partition.slot, rows);
  if (plan.released || plan.committed !== state.committed) {
    writePlan(context, place, { plan, state, lease: live ? lease : -1 });
  }
  return {
    verdict: 'applied',
    committedBefore: state.committed,
    spanEnd: state.spanEnd,
    committedAfter: plan.committed,
    releasedFirst: -1,
    releasedLast: -1,
    leaseReleased: plan.released,
    filed: rows.length,
  };
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

function stateOf(context: ApplyContext, place: Place, lease: number): AckState {
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

interface Change {
  readonly plan: AckPlan;
  readonly state: AckState;
  readonly lease: number;
}

function writePlan(context: ApplyContext, place: Place, change: Change): void {
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
    releasedFirst: -1,
    releasedLast: -1,
    leaseReleased: false,
    filed: 0,
  };
}
