/**
 * All tables of one group's machine, wired together: dirty rows out, rows in at a restart, and the
 * node-local purge of deleted queues. Nothing here is visible in a verdict: whether a purge has run,
 * how slots are numbered and when rows are flushed differ between nodes.
 *
 *   delete queue (replicated, O(1)):  name unlinked, queue row − , garbage row +
 *   purgeStep (node-local, slices):   registrations, cursors, leases, partitions: slots freed, rows −
 *   the group, by key range:          append index rows −, dead letters −
 *   finishGarbage:                    garbage row −
 */
import { DecodeError } from '../../common/binary-reader.js';
import { invariant } from '../../common/invariant.js';
import type { QueueId, TenantId } from '../../common/ids.js';
import type { RowPort } from '../machine.js';
import { ControlTableImpl } from './control-table.js';
import { CursorTableImpl } from './cursor-table.js';
import { EncryptionTableImpl } from './encryption-table.js';
import { EphemeralTableImpl } from './ephemeral-table.js';
import type { TableCounters } from './header-row.js';
import { initialCounters } from './header-row.js';
import { KEYSPACE, keyspaceOf } from './keyspaces.js';
import { KvTableImpl } from './kv-table.js';
import { LeaseTableImpl } from './lease-table.js';
import { NameTableImpl } from './name-table.js';
import { PartitionTableImpl } from './partition-table.js';
import type { QueueState } from './queue-state.js';
import { LiveTotals } from './queue-state.js';
import { QueueTableImpl } from './queue-table.js';
import { RegistrationTableImpl } from './registration-table.js';
import { SessionTableImpl } from './session-table.js';
import { StreamTableImpl } from './stream-table.js';
import { TimerTableImpl } from './timer-table.js';
import type { Tables } from './tables.js';

export interface GarbageQueue {
  readonly queueId: QueueId;
  /** True when only rows the group purges by key range can be left. */
  readonly columnsFreed: boolean;
}

export class TablesImpl implements Tables {
  private readonly idCounters: TableCounters = initialCounters();
  readonly totals = new LiveTotals();
  readonly names = new NameTableImpl(this.idCounters);
  readonly queues = new QueueTableImpl(this.idCounters, this.totals);
  readonly registrations = new RegistrationTableImpl(this.queues);
  readonly partitions = new PartitionTableImpl(this.queues, this.idCounters, this.totals);
  readonly leases = new LeaseTableImpl(this.totals, (cursor) => this.cursors.isLive(cursor));
  readonly cursors: CursorTableImpl = new CursorTableImpl(
    this.partitions,
    this.leases,
    this.totals,
  );
  readonly sessions = new SessionTableImpl();
  readonly ephemeral = new EphemeralTableImpl();
  readonly encryption = new EncryptionTableImpl();
  readonly kv = new KvTableImpl();
  readonly controls = new ControlTableImpl();
  readonly timers = new TimerTableImpl();
  readonly streams = new StreamTableImpl();

  /** For the header row. */
  counters(): TableCounters {
    return { ...this.idCounters, messagesAppended: this.totals.messagesAppended };
  }

  /** From the header row, before any row is loaded. */
  restoreCounters(counters: Readonly<TableCounters>): void {
    Object.assign(this.idCounters, counters);
    this.totals.messagesAppended = counters.messagesAppended;
  }

  /** About how many rows the next flush writes: those of the tables that change in masses. */
  get dirtyRows(): number {
    return this.partitions.dirtyCount + this.cursors.dirtyCount;
  }

  /** Puts every row changed since the last call, each once; deletions go first. */
  flushDirty(rows: RowPort): void {
    this.names.flush(rows);
    this.queues.flush(rows);
    this.registrations.flush(rows);
    this.partitions.flush(rows);
    this.cursors.flush(rows);
    this.sessions.flush(rows);
    this.ephemeral.flush(rows);
    this.encryption.flush(rows);
    this.kv.flush(rows);
    this.controls.flush(rows);
    this.timers.flush(rows);
    this.streams.flush(rows);
  }

  /** Takes the rows of COLUMN_KEYSPACES in key order, after `restoreCounters`. */
  loadRow(key: Uint8Array, value: Uint8Array): void {
    switch (keyspaceOf(key)) {
      case KEYSPACE.tenants:
        return this.names.loadTenant(key, value);
      case KEYSPACE.queues:
        return this.queues.load(key, value);
      case KEYSPACE.groups:
        return this.names.loadGroup(key, value);
      case KEYSPACE.registrations:
        return this.registrations.load(key, value);
      case KEYSPACE.partitions:
        return this.partitions.load(key, value);
      case KEYSPACE.cursors:
        return this.cursors.load(key, value);
      case KEYSPACE.sessions:
        return this.sessions.load(key, value);
      case KEYSPACE.garbageQueues:
        return this.queues.loadGarbage(key, value);
      case KEYSPACE.encryption:
        return this.encryption.load(value);
      case KEYSPACE.ephemeralQueues:
        return this.ephemeral.load(key, value);
      case KEYSPACE.kvTotals:
        return this.kv.loadTotals(key, value);
      case KEYSPACE.quotas:
        return this.controls.loadQuota(key, value);
      case KEYSPACE.switches:
        return this.controls.loadSwitches(value);
      case KEYSPACE.kvVersion:
        return this.kv.loadVersion(value);
      case KEYSPACE.streamQueries:
        return this.streams.load(key, value);
      case KEYSPACE.garbageState:
        return this.streams.loadGarbage(key, value);
      case KEYSPACE.timerCounts:
        return this.timers.load(key, value);
      case KEYSPACE.garbageTenants:
        return this.names.loadGarbage(key, value);
      default:
        throw new DecodeError('not a row of the columns', 0);
    }
  }

  /** Chains, sums and counts stand already; checks that nothing points at a lost row. */
  finishLoad(): void {
    this.names.finishLoad();
    this.queues.finishLoad();
    this.partitions.finishLoad();
  }

  /** Frees at most `budget` slots of deleted queues; true when more remains. */
  purgeStep(budget: number): boolean {
    let left = budget;
    for (const queue of this.queues.garbageStates()) {
      left = this.purgeQueue(queue, left);
      if (left === 0) break;
    }
    return this.queues.garbageStates().some((queue) => !this.columnsFreed(queue));
  }

  /** Deleted queues with rows left, in id order. */
  garbageQueues(): GarbageQueue[] {
    return this.queues.garbageStates().map((queue) => ({
      queueId: queue.id,
      columnsFreed: this.columnsFreed(queue),
    }));
  }

  /** After the group purged the queue's key ranges: its last trace goes. Needs `columnsFreed`. */
  finishGarbage(queueId: QueueId): void {
    const queue = this.queues.state(queueId);
    invariant(this.columnsFreed(queue), 'queue still has columns', () => ({ queueId }));
    this.queues.forget(queue);
  }

  /** Purged tenants with rows left; the group names of one go with the last queue of any. */
  garbageTenants(): TenantId[] {
    return this.queues.garbageStates().length > 0 ? [] : this.names.garbageTenants();
  }

  /** Memory of the columns, indexes and names, bytes. */
  get sizeBytes(): number {
    return this.partitions.sizeBytes + this.cursors.sizeBytes + this.leases.sizeBytes;
  }

  private columnsFreed(queue: QueueState): boolean {
    return queue.firstPartition < 0 && !this.registrations.has(queue.id);
  }

  /** Frees what hangs on a deleted queue; returns what is left of the budget. */
  private purgeQueue(queue: QueueState, budget: number): number {
    let left = budget;
    while (left > 0 && this.registrations.freeFirst(queue.id)) left--;
    while (left > 0 && queue.firstPartition >= 0) {
      const slot = queue.firstPartition;
      while (left > 0 && this.partitions.firstCursor(slot) >= 0) {
        this.cursors.freeFirst(slot);
        left--;
      }
      if (left === 0) break;
      this.partitions.freeFirst(queue);
      left--;
    }
    return left;
  }
}

export function createTables(): TablesImpl {
  return new TablesImpl();
}
