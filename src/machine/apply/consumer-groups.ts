/**
 * Cursors and registrations changed by hand (spec §10): seek, delete, new subscription instant. The
 * commands name exact rows; what is gone meanwhile, or belongs to another tenant, does not count.
 */
import { CommandKind, StartMode } from '../commands/catalogue.js';
import type {
  CursorMove,
  DeleteCursorsCommand,
  DeleteCursorsOutcome,
  SeekCursorsCommand,
  SeekCursorsOutcome,
  UpdateSubscriptionCommand,
  UpdateSubscriptionOutcome,
} from '../commands/catalogue.js';
import type { ConsumerGroupId, PartitionId, QueueId, TenantId } from '../../common/ids.js';
import { QUEUE_MODE_GROUP } from '../tables/tables.js';
import type { QueueRow } from '../tables/tables.js';
import type { ApplyContext, LivePartition } from './context.js';
import { removeCursor } from './cursor-removal.js';
import { foldRegistration, groupNumber } from './register.js';

/** Creates missing cursors: the group need not exist, and it is not registered by this. */
export function applySeekCursors(
  context: ApplyContext,
  command: SeekCursorsCommand,
): SeekCursorsOutcome {
  const tenant = context.tenant();
  let moved = 0;
  if (tenant !== undefined) {
    let group: ConsumerGroupId | undefined;
    for (const move of command.moves) {
      const partition = ownPartition(context, tenant, move.partitionId);
      if (partition === undefined) continue;
      group ??= groupNumber(context, tenant, command.group);
      moveCursor(context, partition, { move, group });
      moved += 1;
    }
  }
  return { kind: CommandKind.SeekCursors, moved };
}

interface Moving {
  readonly move: CursorMove;
  readonly group: ConsumerGroupId;
}

/** Never below the log's start, never beyond its end; retries, attempts and the lease start over. */
function moveCursor(context: ApplyContext, partition: LivePartition, moving: Moving): void {
  const { cursors, partitions } = context.tables;
  const { slot } = partition;
  const lowest = partitions.logStart(slot) - 1;
  const target = Math.min(Math.max(moving.move.committed, lowest), partitions.lastOffset(slot));
  let cursor = cursors.find(slot, moving.group);
  if (cursor < 0) {
    cursor = cursors.create(slot, moving.group, target, context.now);
  } else {
    cursors.clearLease(cursor);
    cursors.setCommitted(cursor, target);
    cursors.setAttempt(cursor, -1, 0);
    cursors.setBatchRetryCount(cursor, 0);
    cursors.bump(cursor);
  }
  context.cursorChanged(cursor);
}

export function applyDeleteCursors(
  context: ApplyContext,
  command: DeleteCursorsCommand,
): DeleteCursorsOutcome {
  const { names, registrations } = context.tables;
  const queue = ownQueue(context, command.queueId);
  const group = queue === undefined ? undefined : names.group(queue.tenant, command.group);
  if (queue === undefined || group === undefined) {
    return { kind: CommandKind.DeleteCursors, deleted: 0, registrationDropped: false };
  }
  const deleted = deleteCursors(context, command, group);
  const registered = registrations.find(queue.id, group) !== undefined;
  const registrationDropped = command.dropRegistration && registered;
  if (registrationDropped) registrations.remove(queue.id, group);
  if (deleted > 0 || registrationDropped) {
    const { digest, effects } = context;
    digest.word(queue.id);
    digest.word(group);
    digest.word(registrationDropped ? 1 : 0);
    effects.registered(queue.id, group);
  }
  return { kind: CommandKind.DeleteCursors, deleted, registrationDropped };
}

function deleteCursors(
  context: ApplyContext,
  command: DeleteCursorsCommand,
  group: ConsumerGroupId,
): number {
  const { cursors } = context.tables;
  let deleted = 0;
  for (const id of command.partitions) {
    const partition = context.livePartition(id);
    if (partition?.queue.id !== command.queueId) continue;
    const cursor = cursors.find(partition.slot, group);
    if (cursor < 0) continue;
    removeCursor(context, cursor);
    context.digest.number(id);
    deleted += 1;
  }
  return deleted;
}

/** Queue mode keeps its start: it always begins at the oldest retained message. */
export function applyUpdateSubscription(
  context: ApplyContext,
  command: UpdateSubscriptionCommand,
): UpdateSubscriptionOutcome {
  const { names, registrations } = context.tables;
  const tenant = context.tenant();
  const group = tenant === undefined ? undefined : names.group(tenant, command.group);
  let updated = 0;
  if (group !== undefined && command.group !== QUEUE_MODE_GROUP) {
    for (const id of command.queues) {
      const queue = ownQueue(context, id);
      const row = queue === undefined ? undefined : registrations.find(queue.id, group);
      if (row === undefined) continue;
      row.mode = StartMode.Timestamp;
      row.instant = command.instant;
      registrations.touch(row);
      foldRegistration(context, row);
      context.effects.registered(row.queueId, group);
      updated += 1;
    }
  }
  return { kind: CommandKind.UpdateSubscription, updated };
}

/** The queue if it lives and belongs to the command's tenant. */
function ownQueue(context: ApplyContext, id: QueueId): QueueRow | undefined {
  const queue = context.tables.queues.byId(id);
  return queue === undefined || queue.tenant !== context.tenant() ? undefined : queue;
}

function ownPartition(
  context: ApplyContext,
  tenant: TenantId,
  id: PartitionId,
): LivePartition | undefined {
  const partition = context.livePartition(id);
  return partition?.queue.tenant === tenant ? partition : undefined;
}
