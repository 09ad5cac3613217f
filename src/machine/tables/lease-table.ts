/**
 * Leases in pooled 80-byte records, one only while its cursor has a lease; found by lease id. Leases
 * of one id (one pop may take many partitions) are chained in ascending partition id, so that a walk
 * visits them in the same order on every node. Leases of a deleted queue are skipped.
 *
 *   f64: firstOffset batchEnd expiresAt acquiredAt term partitionId | 16B leaseId
 *   i32: cursor next previous conflated
 */
import { invariant } from '../../common/invariant.js';
import type { Micros } from '../../common/ids.js';
import { micros } from '../../common/ids.js';
import { littleWord, RecordPages } from './record-pages.js';
import { mix, SegmentedIndex } from './segmented-index.js';
import type { LeaseTable, NewLease } from './tables.js';
import type { LiveTotals } from './queue-state.js';

// In units of 8 bytes.
const FIRST_OFFSET = 0;
const BATCH_END = 1;
const EXPIRES_AT = 2;
const ACQUIRED_AT = 3;
const TERM = 4;
const PARTITION_ID = 5;
const LEASE_ID_BYTE = 48;
// In units of 4 bytes.
const CURSOR = 16;
const NEXT = 17;
const PREVIOUS = 18;
const CONFLATED = 19;
const STRIDE_BYTES = 80;

export class LeaseTableImpl implements LeaseTable {
  private readonly records = new RecordPages(STRIDE_BYTES, NEXT);
  private readonly byLeaseId = new SegmentedIndex();

  constructor(
    private readonly totals: LiveTotals,
    private readonly isLiveCursor: (cursor: number) => boolean,
  ) {}

  get count(): number {
    return this.totals.leases;
  }

  matches(lease: number, leaseId: Uint8Array): boolean {
    return this.records.idEquals(lease, LEASE_ID_BYTE, leaseId);
  }

  copyId(lease: number): Uint8Array {
    return this.records.copyId(lease, LEASE_ID_BYTE);
  }

  firstOffset(lease: number): number {
    return this.records.double(lease, FIRST_OFFSET);
  }

  batchEnd(lease: number): number {
    return this.records.double(lease, BATCH_END);
  }

  expiresAt(lease: number): Micros {
    return micros(this.records.double(lease, EXPIRES_AT));
  }

  acquiredAt(lease: number): Micros {
    return micros(this.records.double(lease, ACQUIRED_AT));
  }

  term(lease: number): number {
    return this.records.double(lease, TERM);
  }

  conflated(lease: number): boolean {
    return this.records.int(lease, CONFLATED) !== 0;
  }

  cursorSlot(lease: number): number {
    return this.records.int(lease, CURSOR);
  }

  firstWithId(leaseId: Uint8Array): number {
    return this.skipDead(this.headOf(leaseId));
  }

  nextWithId(lease: number): number {
    return this.skipDead(this.records.int(lease, NEXT));
  }

  // Inside the tables -----------------------------------------------------------------------------

  get sizeBytes(): number {
    return this.records.sizeBytes + this.byLeaseId.sizeBytes;
  }

  add(cursor: number, partition: number, lease: NewLease): number {
    const { records } = this;
    const slot = records.allocate();
    records.setId(slot, LEASE_ID_BYTE, lease.leaseId);
    records.setDouble(slot, FIRST_OFFSET, lease.firstOffset);
    records.setDouble(slot, BATCH_END, lease.batchEnd);
    records.setDouble(slot, EXPIRES_AT, lease.expiresAt);
    records.setDouble(slot, ACQUIRED_AT, lease.acquiredAt);
    records.setDouble(slot, TERM, lease.term);
    records.setDouble(slot, PARTITION_ID, partition);
    records.setInt(slot, CURSOR, cursor);
    records.setInt(slot, CONFLATED, lease.conflated ? 1 : 0);
    this.link(slot, this.headOf(lease.leaseId));
    return slot;
  }

  setExpiresAt(lease: number, expiresAt: Micros): void {
    this.records.setDouble(lease, EXPIRES_AT, expiresAt);
  }

  release(lease: number): void {
    const { records } = this;
    const next = records.int(lease, NEXT);
    const previous = records.int(lease, PREVIOUS);
    if (next >= 0) records.setInt(next, PREVIOUS, previous);
    if (previous >= 0) records.setInt(previous, NEXT, next);
    else if (next >= 0) this.byLeaseId.replace(this.hashOf(lease), lease, next);
    else this.byLeaseId.remove(this.hashOf(lease), lease);
    records.release(lease);
  }

  private hashOf(lease: number): number {
    const { records } = this;
    return mix(records.word(lease, LEASE_ID_BYTE + 8), records.word(lease, LEASE_ID_BYTE + 12));
  }

  private headOf(leaseId: Uint8Array): number {
    if (leaseId.length !== 16) return -1;
    const hash = mix(littleWord(leaseId, 8), littleWord(leaseId, 12));
    const { byLeaseId } = this;
    for (let slot = byLeaseId.first(hash); slot >= 0; slot = byLeaseId.next()) {
      if (this.matches(slot, leaseId)) return slot;
    }
    return -1;
  }

  private link(slot: number, head: number): void {
    const { records } = this;
    const partition = records.double(slot, PARTITION_ID);
    let previous = -1;
    let next = head;
    while (next >= 0 && records.double(next, PARTITION_ID) < partition) {
      previous = next;
      next = records.int(next, NEXT);
    }
    records.setInt(slot, NEXT, next);
    records.setInt(slot, PREVIOUS, previous);
    if (next >= 0) records.setInt(next, PREVIOUS, slot);
    if (previous >= 0) records.setInt(previous, NEXT, slot);
    else if (head >= 0) this.byLeaseId.replace(this.hashOf(slot), head, slot);
    else this.byLeaseId.add(this.hashOf(slot), slot);
  }

  private skipDead(lease: number): number {
    let live = lease;
    while (live >= 0 && !this.isLiveCursor(this.cursorSlot(live))) {
      live = this.records.int(live, NEXT);
    }
    invariant(live >= -1, 'broken lease chain');
    return live;
  }
}
