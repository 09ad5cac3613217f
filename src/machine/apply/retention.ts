/**
 * Retention and cleanup (spec §2.9): the log of a partition starts later, an idle partition goes, a
 * cursor behind an emptied log moves to the tail. Age was judged by the leader on immutable facts; here
 * only what can have changed is judged again. Index rows below the start stay for recognition; they
 * are removed node-locally, so no verdict may depend on them (see recognition.ts).
 */
import { CommandKind } from '../commands/catalogue.js';
import { TrimRule } from '../commands/retention.js';
import type {
  CursorSeal,
  DropPartitionsCommand,
  DropPartitionsOutcome,
  PartitionDrop,
  PartitionTrim,
  SealCursorsCommand,
  SealCursorsOutcome,
  TrimPartitionsCommand,
  TrimPartitionsOutcome,
} from '../commands/retention.js';
import { encodeGarbagePartition } from '../tables/garbage-partition.js';
import { garbagePartitionKey } from '../tables/keyspaces.js';
import { settledBy, settledByAll } from '../tables/settled.js';
import type { QueueRow } from '../tables/tables.js';
import type { ApplyContext, LivePartition } from './context.js';
import { removeCursor } from './cursor-removal.js';

export function applyTrimPartitions(
  context: ApplyContext,
  command: TrimPartitionsCommand,
): TrimPartitionsOutcome {
  let trimmed = 0;
  let messages = 0;
  for (const trim of command.trims) {
    const partition = context.livePartition(trim.partitionId);
    if (partition === undefined || !mayTrim(context, partition, trim)) continue;
    trimmed += 1;
    messages += trim.next - trim.logStart;
    moveStart(context, partition.slot, trim);
  }
  return { kind: CommandKind.TrimPartitions, trimmed, messages };
}

function mayTrim(context: ApplyContext, partition: LivePartition, trim: PartitionTrim): boolean {
  const { partitions } = context.tables;
  const { slot, queue } = partition;
  const asSeen =
    queue.id === trim.queueId &&
    queue.optionsVersion === trim.optionsVersion &&
    partitions.logStart(slot) === trim.logStart;
  if (!asSeen || trim.next <= trim.logStart) return false;
  if (trim.next - 1 > partitions.lastOffset(slot)) return false;
  if (trim.rule === TrimRule.MaxWait) return true;
  if (trim.rule === TrimRule.Completed && settledByAll(context.tables, slot) < trim.next - 1)
    return false;
  return trim.next <= trim.unheldBelow || sinkSettled(context, partition) >= trim.next - 1;
}

/** What the sink of the queue has committed here; above every offset when no sink is named. */
function sinkSettled(context: ApplyContext, { slot, queue }: LivePartition): number {
  const { names } = context.tables;
  const { retentionSinkHold } = queue.options;
  if (retentionSinkHold === '') return Infinity;
  const group = names.group(queue.tenant, retentionSinkHold);
  return group === undefined ? -1 : settledBy(context.tables, slot, group);
}

function moveStart(context: ApplyContext, slot: number, trim: PartitionTrim): void {
  const { digest, effects, tables } = context;
  tables.partitions.setLogStart(slot, trim.next, trim.removedBytes);
  digest.number(trim.partitionId);
  digest.number(trim.next);
  digest.number(tables.partitions.retainedBytes(slot));
  effects.trimmed(slot, { messages: trim.next - trim.logStart, rule: trim.rule });
}

export function applyDropPartitions(
  context: ApplyContext,
  command: DropPartitionsCommand,
): DropPartitionsOutcome {
  let dropped = 0;
  for (const drop of command.drops) {
    const partition = context.livePartition(drop.partitionId);
    if (partition === undefined || partition.queue.id !== drop.queueId) continue;
    if (!isIdle(context, partition.slot, { drop, since: command.idleSince })) continue;
    dropPartition(context, partition.slot, partition.queue);
    dropped += 1;
  }
  return { kind: CommandKind.DropPartitions, dropped };
}

function isIdle(
  context: ApplyContext,
  slot: number,
  seen: { readonly drop: PartitionDrop; readonly since: number },
): boolean {
  const { partitions, cursors, leases } = context.tables;
  const { drop, since } = seen;
  if (partitions.lastOffset(slot) !== drop.lastOffset) return false;
  if (partitions.logStart(slot) <= drop.lastOffset || partitions.deadLetters(slot) > 0)
    return false;
  if (Math.max(partitions.createdAt(slot), partitions.lastAppendAt(slot)) >= since) return false;
  for (let c = partitions.firstCursor(slot); c >= 0; c = cursors.nextOnPartition(c)) {
    const lease = cursors.lease(c);
    if (cursors.createdAt(c) >= since) return false;
    if (lease >= 0 && leases.expiresAt(lease) >= since) return false;
  }
  return true;
}

/** Rows of its appends may be left: a garbage row remembers them until they are removed. */
function dropPartition(context: ApplyContext, slot: number, queue: QueueRow): void {
  const { partitions } = context.tables;
  const id = partitions.id(slot);
  for (let c = partitions.firstCursor(slot); c >= 0; c = partitions.firstCursor(slot)) {
    removeCursor(context, c);
  }
  partitions.remove(slot);
  context.rows.put(garbagePartitionKey(queue.id, id), encodeGarbagePartition());
  context.digest.word(queue.id);
  context.digest.number(id);
  context.effects.partitionDropped(queue.id, slot);
}

export function applySealCursors(
  context: ApplyContext,
  command: SealCursorsCommand,
): SealCursorsOutcome {
  let sealed = 0;
  for (const seal of command.seals) if (sealCursor(context, seal)) sealed += 1;
  return { kind: CommandKind.SealCursors, sealed };
}

function sealCursor(context: ApplyContext, seal: CursorSeal): boolean {
  const { partitions, cursors } = context.tables;
  const partition = context.livePartition(seal.partitionId);
  if (partition === undefined) return false;
  const { slot } = partition;
  const cursor = cursors.find(slot, seal.groupId);
  if (cursor < 0 || cursors.version(cursor) !== seal.cursorVersion) return false;
  const last = partitions.lastOffset(slot);
  if (partitions.logStart(slot) <= last || cursors.committed(cursor) >= last) return false;
  cursors.clearLease(cursor);
  cursors.setCommitted(cursor, last);
  cursors.setAttempt(cursor, -1, 0);
  cursors.bump(cursor);
  context.cursorChanged(cursor);
  return true;
}
