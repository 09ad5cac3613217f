/**
 * What the apply functions share while an entry runs: the tables and ports, the entry's position and
 * effective time, the current command's tenant, and the collected effects. One per machine.
 */
import { micros } from '../../common/ids.js';
import type { Micros, PartitionId, TenantId } from '../../common/ids.js';
import { TENANT_BYTES } from '../commands/header.js';
import type { KvChange } from '../commands/kv.js';
import type { IdIndexPort, RowPort } from '../machine.js';
import type { QueueRow, Tables } from '../tables/tables.js';
import { Digest } from './digest.js';
import { Effects } from './effects.js';

export interface ApplyPorts {
  readonly tables: Tables;
  readonly rows: RowPort;
  readonly ids: IdIndexPort;
}

/** A partition of a live queue. */
export interface LivePartition {
  readonly slot: number;
  readonly queue: QueueRow;
}

export class ApplyContext {
  readonly tables: Tables;
  readonly rows: RowPort;
  readonly ids: IdIndexPort;
  readonly digest = new Digest();
  readonly effects = new Effects();

  /** Of the running entry. */
  index = 0;
  term = 0;
  /** Effective time: every instant of this entry except floored append stamps. */
  now: Micros = micros(0);
  lastStamp = 0;
  /** Key-value rows changed since a command of this entry asked for it; null = nobody did. */
  private kvChanges: KvChange[] | null = null;

  /** Of the running command; overwritten by the next one. */
  readonly tenantUuid = new Uint8Array(TENANT_BYTES);

  constructor(ports: ApplyPorts) {
    this.tables = ports.tables;
    this.rows = ports.rows;
    this.ids = ports.ids;
  }

  /**
   * Starts an entry. Effective time = max(its stamp, last stamp given out + 1 µs), so that no instant
   * of an entry lies at or before one of an earlier entry.
   */
  beginEntry(index: number, term: number, stamp: number): void {
    this.index = index;
    this.term = term;
    this.now = micros(Math.max(stamp, this.lastStamp + 1));
    this.lastStamp = this.now;
    this.kvChanges = null;
    this.digest.number(this.now);
  }

  /** Notes a stamp given out (append times may run ahead of `now`). */
  giveStamp(stamp: number): void {
    if (stamp > this.lastStamp) this.lastStamp = stamp;
  }

  /** From now to the end of the entry every change of a key-value row is noted here. */
  noteKvChanges(): readonly KvChange[] {
    this.kvChanges ??= [];
    return this.kvChanges;
  }

  kvChanged(rowKey: Uint8Array, before: Uint8Array | undefined): void {
    this.kvChanges?.push({ rowKey, before });
  }

  /** Number of the command's tenant, undefined when it never wrote anything. */
  tenant(): TenantId | undefined {
    return this.tables.names.tenant(this.tenantUuid);
  }

  /**
   * The partition if it and its queue live. Slots of deleted queues are purged node-locally at any
   * time, so nothing but the queue row may decide.
   */
  livePartition(id: PartitionId): LivePartition | undefined {
    const { partitions, queues } = this.tables;
    const slot = partitions.byId(id);
    if (slot < 0) return undefined;
    const queue = queues.byId(partitions.queueId(slot));
    return queue === undefined ? undefined : { slot, queue };
  }

  /** Folds a changed cursor and announces it. Call once per cursor and command, after the last setter. */
  cursorChanged(cursor: number): void {
    const { cursors, partitions, leases } = this.tables;
    const { digest } = this;
    digest.number(partitions.id(cursors.partitionSlot(cursor)));
    digest.word(cursors.groupId(cursor));
    digest.word(cursors.version(cursor));
    digest.number(cursors.committed(cursor));
    digest.number(cursors.attemptOffset(cursor));
    digest.word(cursors.attemptCount(cursor));
    digest.word(cursors.batchRetryCount(cursor));
    digest.number(cursors.totalConsumed(cursor));
    if (cursors.isStart(cursor)) digest.number(cursors.createdAt(cursor));
    const lease = cursors.lease(cursor);
    if (lease >= 0) {
      digest.number(leases.firstOffset(lease));
      digest.number(leases.batchEnd(lease));
      digest.number(leases.expiresAt(lease));
      digest.word(leases.conflated(lease) ? 1 : 0);
    }
    this.effects.cursorChanged(cursor);
  }
}
