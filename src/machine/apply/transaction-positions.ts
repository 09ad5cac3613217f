/**
 * Positions of a transaction (spec messages.md §8.1, §10): where a group reads on, by offset. A position
 * beyond the end is kept as it is: the messages below it are skipped when they come. Setting the position
 * a cursor has already changes nothing, not even its lease.
 */
import { BinaryReader } from '../../common/binary-reader.js';
import { TransactionSection } from '../commands/catalogue-transactions.js';
import type {
  TransactionOutcomes,
  TransactionPosition,
  TransactionRollback,
} from '../commands/catalogue-transactions.js';
import { decodePositions } from '../commands/transaction.js';
import type { PrefetchSink } from '../machine.js';
import { cursorMetadataKey } from '../tables/keyspaces.js';
import { decodeMetadataRow, encodeMetadataRow } from '../tables/metadata-row.js';
import type { QueueRow } from '../tables/tables.js';
import type { ApplyContext } from './context.js';
import { metadataKeyOf, removeCursor } from './cursor-removal.js';
import { groupNumber, registerGroup } from './register.js';
import type { PartBody, TransactionDraft, TransactionPart } from './transaction-part.js';

export class PositionsPart implements TransactionPart {
  readonly section = TransactionSection.Positions;
  private positions: TransactionPosition[] = [];

  constructor(private readonly context: ApplyContext) {}

  /** Metadata is compared with what is stored. */
  prefetch(body: PartBody, sink: PrefetchSink): void {
    const { cursors, partitions } = this.context.tables;
    for (const position of this.decode(body)) {
      const cursor = this.cursorOf(position);
      if (cursor < 0 || !cursors.hasMetadata(cursor)) continue;
      const slot = cursors.partitionSlot(cursor);
      const group = cursors.groupId(cursor);
      sink.row(cursorMetadataKey(partitions.queueId(slot), partitions.id(slot), group));
    }
  }

  judge(body: PartBody, draft: TransactionDraft): TransactionRollback | null {
    this.positions = this.decode(body);
    for (const { queue } of this.positions) {
      if (draft.newQueues.has(queue) || this.queue(queue) !== undefined) continue;
      const text = `position on queue ${queue}: no such queue`;
      return { section: this.section, reason: 'queue_not_found', text, detail: null };
    }
    return null;
  }

  execute(_body: PartBody, outcomes: TransactionOutcomes): void {
    outcomes.positions = this.positions.map((position) => this.set(position));
    this.positions = [];
  }

  private set(position: TransactionPosition): boolean {
    if (position.offset === null) return this.forget(position);
    const queue = this.queue(position.queue);
    if (queue === undefined) return false;
    return this.move(queue, position, position.offset - 1);
  }

  /** The next read starts by the group's policy again. */
  private forget(position: TransactionPosition): boolean {
    const { context } = this;
    const { cursors, partitions } = context.tables;
    const cursor = this.cursorOf(position);
    if (cursor < 0) return false;
    const slot = cursors.partitionSlot(cursor);
    const group = cursors.groupId(cursor);
    removeCursor(context, cursor);
    context.digest.number(partitions.id(slot));
    context.digest.word(group);
    context.effects.registered(partitions.queueId(slot), group);
    return true;
  }

  private move(queue: QueueRow, position: TransactionPosition, committed: number): boolean {
    const { context } = this;
    const { cursors } = context.tables;
    const group = groupNumber(context, queue.tenant, position.group);
    registerGroup(
      context,
      { queue, group },
      {
        ...position,
        conflation: false,
        namespace: '',
        task: '',
      },
    );
    const slot = this.ensurePartition(queue, position.partition);
    let cursor = cursors.find(slot, group);
    if (cursor >= 0) {
      const same = cursors.committed(cursor) === committed && !cursors.isStart(cursor);
      if (same && this.metadataOf(cursor) === position.metadata) return false;
      cursors.clearLease(cursor);
      cursors.setCommitted(cursor, committed);
      cursors.setAttempt(cursor, -1, 0);
      cursors.setBatchRetryCount(cursor, 0);
      cursors.bump(cursor);
    } else {
      cursor = cursors.create(slot, group, committed, context.now);
    }
    this.keepMetadata(cursor, position.metadata);
    context.cursorChanged(cursor);
    return true;
  }

  private ensurePartition(queue: QueueRow, name: string): number {
    const { context } = this;
    const { partitions } = context.tables;
    const known = partitions.find(queue.id, name);
    if (known >= 0) return known;
    const slot = partitions.create(queue, name, context.now);
    context.digest.number(partitions.id(slot));
    context.digest.text(name);
    return slot;
  }

  private metadataOf(cursor: number): string | null {
    const { context } = this;
    if (!context.tables.cursors.hasMetadata(cursor)) return null;
    const row = context.rows.get(metadataKeyOf(context, cursor));
    return row === undefined ? null : decodeMetadataRow(row);
  }

  private keepMetadata(cursor: number, metadata: string | null): void {
    const { context } = this;
    const { cursors } = context.tables;
    const key = metadataKeyOf(context, cursor);
    if (metadata !== null) context.rows.put(key, encodeMetadataRow(metadata));
    else if (cursors.hasMetadata(cursor)) context.rows.delete(key);
    cursors.setHasMetadata(cursor, metadata !== null);
    context.digest.text(metadata ?? '');
  }

  private cursorOf(position: TransactionPosition): number {
    const { names, partitions, cursors } = this.context.tables;
    const queue = this.queue(position.queue);
    if (queue === undefined) return -1;
    const group = names.group(queue.tenant, position.group);
    const slot = partitions.find(queue.id, position.partition);
    return group === undefined || slot < 0 ? -1 : cursors.find(slot, group);
  }

  private queue(name: string): QueueRow | undefined {
    const { context } = this;
    const tenant = context.tenant();
    return tenant === undefined ? undefined : context.tables.queues.find(tenant, name);
  }

  private decode(body: PartBody): TransactionPosition[] {
    return decodePositions(new BinaryReader(body.bytes, body.start, body.end));
  }
}
