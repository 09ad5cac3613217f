/**
 * Registrations of consumer groups on queues. Few per queue: one object each, by queue and group.
 * Those of a deleted queue are invisible at once and are freed by the purge.
 */
import { invariant } from '../../common/invariant.js';
import type { ConsumerGroupId, QueueId } from '../../common/ids.js';
import type { RowPort } from '../machine.js';
import { keyNumber, keyRegistrationGroup, registrationKey } from './keyspaces.js';
import type { QueueTableImpl } from './queue-table.js';
import { decodeRegistrationRow, encodeRegistrationRow } from './small-rows.js';
import type { RegistrationRow, RegistrationTable } from './tables.js';

export class RegistrationTableImpl implements RegistrationTable {
  private readonly byQueue = new Map<number, Map<number, RegistrationRow>>();
  private readonly dirty = new Set<RegistrationRow>();
  private readonly deletedRows: Uint8Array[] = [];

  constructor(private readonly queues: QueueTableImpl) {}

  find(queueId: QueueId, groupId: ConsumerGroupId): RegistrationRow | undefined {
    if (!this.queues.isLive(queueId)) return undefined;
    return this.byQueue.get(queueId)?.get(groupId);
  }

  /** Keeps a copy; an existing registration is replaced. */
  create(row: RegistrationRow): void {
    invariant(this.queues.isLive(row.queueId), 'registration on an unknown queue');
    const replaced = this.find(row.queueId, row.groupId);
    if (replaced !== undefined) this.dirty.delete(replaced);
    const kept = { ...row };
    this.add(kept);
    this.dirty.add(kept);
  }

  /** In group id order. */
  ofQueue(queueId: QueueId): RegistrationRow[] {
    if (!this.queues.isLive(queueId)) return [];
    const rows = [...(this.byQueue.get(queueId)?.values() ?? [])];
    return rows.sort((a, b) => a.groupId - b.groupId);
  }

  remove(queueId: QueueId, groupId: ConsumerGroupId): void {
    const groups = this.byQueue.get(queueId);
    const row = groups?.get(groupId);
    if (groups === undefined || row === undefined) return;
    groups.delete(groupId);
    if (groups.size === 0) this.byQueue.delete(queueId);
    this.dirty.delete(row);
    this.deletedRows.push(registrationKey(queueId, groupId));
  }

  /** Marks the row dirty after a mutation of `mode` or `instant`; the row must come from `find`. */
  touch(row: RegistrationRow): void {
    invariant(this.find(row.queueId, row.groupId) === row, 'not a registration of the table');
    this.dirty.add(row);
  }

  // Inside the tables -----------------------------------------------------------------------------

  /** Whether any row is left, of a live or a deleted queue. */
  has(queueId: QueueId): boolean {
    return this.byQueue.has(queueId);
  }

  /** Purge only: removes one registration of a deleted queue; false when none is left. */
  freeFirst(queueId: QueueId): boolean {
    const row = this.byQueue.get(queueId)?.values().next().value;
    if (row === undefined) return false;
    this.remove(queueId, row.groupId);
    return true;
  }

  flush(rows: RowPort): void {
    for (const key of this.deletedRows) rows.delete(key);
    this.deletedRows.length = 0;
    for (const row of this.dirty) {
      if (!this.queues.isLive(row.queueId)) continue;
      rows.put(registrationKey(row.queueId, row.groupId), encodeRegistrationRow(row));
    }
    this.dirty.clear();
  }

  load(key: Uint8Array, value: Uint8Array): void {
    const ids = { queue: keyNumber(key), group: keyRegistrationGroup(key) };
    this.queues.loadOwner(ids.queue);
    this.add(decodeRegistrationRow(value, ids));
  }

  private add(row: RegistrationRow): void {
    let groups = this.byQueue.get(row.queueId);
    if (groups === undefined) {
      groups = new Map();
      this.byQueue.set(row.queueId, groups);
    }
    groups.set(row.groupId, row);
  }
}
