/**
 * Extend (spec §7): every live lease of one id within the tenant moves to max(current, now + seconds).
 * Unknown, expired, released and foreign leases are told apart nowhere: they just do not count.
 */
import { micros } from '../../common/ids.js';
import { CommandKind } from '../commands/catalogue.js';
import type { ExtendCommand, ExtendOutcome } from '../commands/catalogue.js';
import type { ApplyContext } from './context.js';
import { acceptsExtend, later } from './lease-rules.js';

const MICROS_PER_SECOND = 1_000_000;

export function applyExtend(context: ApplyContext, command: ExtendCommand): ExtendOutcome {
  const { cursors, leases } = context.tables;
  const wanted = later(context.now, command.seconds * MICROS_PER_SECOND);
  let renewed = 0;
  let earliest = 0;
  for (const cursor of liveCursors(context, command.leaseId)) {
    const lease = cursors.lease(cursor);
    const expiresAt = Math.max(leases.expiresAt(lease), wanted);
    renewed += 1;
    if (earliest === 0 || expiresAt < earliest) earliest = expiresAt;
    if (expiresAt === leases.expiresAt(lease)) continue;
    cursors.extendLease(cursor, micros(expiresAt));
    cursors.bump(cursor);
    context.cursorChanged(cursor);
  }
  return { kind: CommandKind.Extend, renewed, earliestExpiry: micros(earliest) };
}

/**
 * Cursors whose live lease has this id, in partition order: the chain of equal ids depends on how
 * this node loaded its rows, and the order of changes must not.
 */
function liveCursors(context: ApplyContext, leaseId: Uint8Array): number[] {
  const { cursors, leases, partitions, queues } = context.tables;
  const tenant = context.tenant();
  const found: number[] = [];
  if (tenant === undefined) return found;
  for (let lease = leases.firstWithId(leaseId); lease >= 0; lease = leases.nextWithId(lease)) {
    if (!acceptsExtend(leases, lease, context)) continue;
    const cursor = leases.cursorSlot(lease);
    const queue = queues.byId(partitions.queueId(cursors.partitionSlot(cursor)));
    if (queue !== undefined && queue.tenant === tenant) found.push(cursor);
  }
  const partitionOf = (cursor: number) => partitions.id(cursors.partitionSlot(cursor));
  return found.sort(
    (a, b) => partitionOf(a) - partitionOf(b) || cursors.groupId(a) - cursors.groupId(b),
  );
}
