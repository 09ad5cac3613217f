/**
 * Cursors in 96-byte records. Cursors of a partition are chained in descending group id: a new group
 * has the highest id, so linking is O(1) in practice and every node walks the same order. Chains of up
 * to four are searched directly and take no index; the cursors of longer ones all stand in an index
 * over (partition slot, group).
 *
 *   f64: committed attemptOffset totalConsumed createdAt releasedFirst releasedLast | 16B releasedId
 *   i32: partition groupId version attemptCount batchRetryCount lease nextOnPartition marks
 */
import { invariant } from '../../common/invariant.js';
import type { ConsumerGroupId, Micros } from '../../common/ids.js';
import { consumerGroupId, micros } from '../../common/ids.js';
import type { RowPort } from '../machine.js';
import { decodeCursorRow, emptyCursorRow, encodeCursorRow } from './cursor-row.js';
import { DirtySlots } from './dirty-slots.js';
import { cursorKey, keyCursorGroup, keyNumber, keyPartition } from './keyspaces.js';
import type { LeaseTableImpl } from './lease-table.js';
import type { PartitionTableImpl } from './partition-table.js';
import type { LiveTotals } from './queue-state.js';
import { RecordPages } from './record-pages.js';
import { mix, SegmentedIndex } from './segmented-index.js';
import type { CursorTable, NewLease } from './tables.js';

// In units of 8 bytes.
const COMMITTED = 0;
const ATTEMPT_OFFSET = 1;
const TOTAL_CONSUMED = 2;
const CREATED_AT = 3;
const RELEASED_FIRST = 4;
const RELEASED_LAST = 5;
const RELEASED_ID_BYTE = 48;
// In units of 4 bytes.
const PARTITION = 16;
const GROUP = 17;
const VERSION = 18;
const ATTEMPT_COUNT = 19;
const BATCH_RETRY_COUNT = 20;
const LEASE = 21;
const NEXT_ON_PARTITION = 22;
const MARKS = 23;
const STRIDE_BYTES = 96;

/** Bits of the marks. */
const HAS_METADATA = 1;
const IS_START = 2;

const MAX_U32 = 0xffff_ffff;
/** Cursors a partition may have before they are indexed. */
const SHORT_CHAIN = 4;

export class CursorTableImpl implements CursorTable {
  private readonly records = new RecordPages(STRIDE_BYTES, NEXT_ON_PARTITION);
  private readonly index = new SegmentedIndex();
  private readonly dirty = new DirtySlots();
  private readonly deletedRows: Uint8Array[] = [];
  private readonly row = emptyCursorRow();

  constructor(
    private readonly partitions: PartitionTableImpl,
    private readonly leases: LeaseTableImpl,
    private readonly totals: LiveTotals,
  ) {}

  /** Rows the next flush writes, deletions left out; never too few. */
  get dirtyCount(): number {
    return this.dirty.size;
  }

  get count(): number {
    return this.totals.cursors;
  }

  find(partitionSlot: number, groupId: ConsumerGroupId): number {
    const { records, partitions } = this;
    if (partitions.cursorCount(partitionSlot) > SHORT_CHAIN) {
      return this.findIndexed(partitionSlot, groupId);
    }
    let slot = partitions.firstCursor(partitionSlot);
    while (slot >= 0 && records.unsigned(slot, GROUP) > groupId) {
      slot = records.int(slot, NEXT_ON_PARTITION);
    }
    return slot >= 0 && records.unsigned(slot, GROUP) === groupId ? slot : -1;
  }

  create(
    partitionSlot: number,
    groupId: ConsumerGroupId,
    committed: number,
    createdAt: Micros,
  ): number {
    const slot = this.add(partitionSlot, groupId);
    const { records } = this;
    records.setDouble(slot, COMMITTED, committed);
    records.setDouble(slot, ATTEMPT_OFFSET, -1);
    records.setDouble(slot, CREATED_AT, createdAt);
    records.setDouble(slot, RELEASED_FIRST, -1);
    records.setDouble(slot, RELEASED_LAST, -1);
    records.setInt(slot, VERSION, 1);
    this.dirty.mark(slot);
    return slot;
  }

  partitionSlot(slot: number): number {
    return this.records.int(slot, PARTITION);
  }

  groupId(slot: number): ConsumerGroupId {
    return consumerGroupId(this.records.unsigned(slot, GROUP));
  }

  committed(slot: number): number {
    return this.records.double(slot, COMMITTED);
  }

  version(slot: number): number {
    return this.records.unsigned(slot, VERSION);
  }

  attemptOffset(slot: number): number {
    return this.records.double(slot, ATTEMPT_OFFSET);
  }

  attemptCount(slot: number): number {
    return this.records.unsigned(slot, ATTEMPT_COUNT);
  }

  batchRetryCount(slot: number): number {
    return this.records.unsigned(slot, BATCH_RETRY_COUNT);
  }

  totalConsumed(slot: number): number {
    return this.records.double(slot, TOTAL_CONSUMED);
  }

  createdAt(slot: number): Micros {
    return micros(this.records.double(slot, CREATED_AT));
  }

  lease(slot: number): number {
    return this.records.int(slot, LEASE);
  }

  releasedMatches(slot: number, leaseId: Uint8Array): boolean {
    if (this.releasedFirst(slot) < 0) return false;
    return this.records.idEquals(slot, RELEASED_ID_BYTE, leaseId);
  }

  releasedFirst(slot: number): number {
    return this.records.double(slot, RELEASED_FIRST);
  }

  releasedLast(slot: number): number {
    return this.records.double(slot, RELEASED_LAST);
  }

  hasMetadata(slot: number): boolean {
    return this.isMarked(slot, HAS_METADATA);
  }

  isStart(slot: number): boolean {
    return this.isMarked(slot, IS_START);
  }

  nextOnPartition(slot: number): number {
    return this.records.int(slot, NEXT_ON_PARTITION);
  }

  bump(slot: number): void {
    const version = this.version(slot);
    if (version < MAX_U32) this.records.setInt(slot, VERSION, version + 1);
    this.dirty.mark(slot);
  }

  setCommitted(slot: number, committed: number): void {
    this.records.setDouble(slot, COMMITTED, committed);
    this.mark(slot, IS_START, false);
    this.dirty.mark(slot);
  }

  markStart(slot: number): void {
    this.mark(slot, IS_START, true);
    this.dirty.mark(slot);
  }

  place(slot: number, committed: number, createdAt: Micros): void {
    this.setCommitted(slot, committed);
    this.records.setDouble(slot, CREATED_AT, createdAt);
  }

  setAttempt(slot: number, offset: number, count: number): void {
    this.records.setDouble(slot, ATTEMPT_OFFSET, offset);
    this.records.setInt(slot, ATTEMPT_COUNT, Math.min(count, MAX_U32));
    this.dirty.mark(slot);
  }

  setBatchRetryCount(slot: number, count: number): void {
    this.records.setInt(slot, BATCH_RETRY_COUNT, Math.min(count, MAX_U32));
    this.dirty.mark(slot);
  }

  addConsumed(slot: number, count: number): void {
    this.records.setDouble(slot, TOTAL_CONSUMED, this.totalConsumed(slot) + count);
    this.dirty.mark(slot);
  }

  setHasMetadata(slot: number, has: boolean): void {
    this.mark(slot, HAS_METADATA, has);
    this.dirty.mark(slot);
  }

  setReleased(slot: number, leaseId: Uint8Array, first: number, last: number): void {
    this.records.setId(slot, RELEASED_ID_BYTE, leaseId);
    this.records.setDouble(slot, RELEASED_FIRST, first);
    this.records.setDouble(slot, RELEASED_LAST, last);
    this.dirty.mark(slot);
  }

  /** Replaces whatever lease the cursor has. */
  setLease(slot: number, lease: NewLease): void {
    this.dropLease(slot);
    this.addLease(slot, lease);
    this.dirty.mark(slot);
  }

  extendLease(slot: number, expiresAt: Micros): void {
    const lease = this.lease(slot);
    invariant(lease >= 0, 'cursor has no lease to extend');
    this.leases.setExpiresAt(lease, expiresAt);
    this.dirty.mark(slot);
  }

  clearLease(slot: number): void {
    if (!this.dropLease(slot)) return;
    this.dirty.mark(slot);
  }

  remove(slot: number): void {
    const partitionSlot = this.partitionSlot(slot);
    invariant(this.partitions.isLive(partitionSlot), 'cursor of a deleted queue');
    this.unindex(partitionSlot, slot);
    this.unlink(partitionSlot, slot);
    this.totals.cursors--;
    this.free(partitionSlot, slot);
  }

  // Inside the tables -----------------------------------------------------------------------------

  get sizeBytes(): number {
    return this.records.sizeBytes + this.index.sizeBytes;
  }

  isLive(slot: number): boolean {
    return this.partitions.isLive(this.partitionSlot(slot));
  }

  /** Purge only: frees the first cursor of a partition of a deleted queue, with its lease. */
  freeFirst(partitionSlot: number): void {
    const { records, partitions } = this;
    const slot = partitions.firstCursor(partitionSlot);
    const state = partitions.state(partitionSlot);
    invariant(!state.live, 'cursor is in use');
    this.unindex(partitionSlot, slot);
    partitions.setFirstCursor(partitionSlot, records.int(slot, NEXT_ON_PARTITION));
    this.free(partitionSlot, slot);
  }

  flush(rows: RowPort): void {
    for (const key of this.deletedRows) rows.delete(key);
    this.deletedRows.length = 0;
    const { partitions } = this;
    this.dirty.drain((slot) => {
      const partitionSlot = this.partitionSlot(slot);
      if (!partitions.isLive(partitionSlot)) return;
      const queue = partitions.queueId(partitionSlot);
      const key = cursorKey(queue, partitions.id(partitionSlot), this.groupId(slot));
      rows.put(key, this.encode(slot));
    });
  }

  load(key: Uint8Array, value: Uint8Array): void {
    const { partitions, records, row } = this;
    const partitionSlot = partitions.anyById(keyPartition(key));
    const known = partitionSlot >= 0 && partitions.queueId(partitionSlot) === keyNumber(key);
    invariant(known, 'cursor of an unknown partition', () => ({ partition: keyPartition(key) }));
    decodeCursorRow(value, row);
    const slot = this.add(partitionSlot, consumerGroupId(keyCursorGroup(key)));
    records.setDouble(slot, COMMITTED, row.committed);
    records.setDouble(slot, ATTEMPT_OFFSET, row.attemptOffset);
    records.setDouble(slot, TOTAL_CONSUMED, row.totalConsumed);
    records.setDouble(slot, CREATED_AT, row.createdAt);
    records.setDouble(slot, RELEASED_FIRST, row.hasReleased ? row.releasedFirst : -1);
    records.setDouble(slot, RELEASED_LAST, row.hasReleased ? row.releasedLast : -1);
    if (row.hasReleased) records.setId(slot, RELEASED_ID_BYTE, row.releasedId);
    records.setInt(slot, VERSION, row.version);
    records.setInt(slot, ATTEMPT_COUNT, row.attemptCount);
    records.setInt(slot, BATCH_RETRY_COUNT, row.batchRetryCount);
    this.mark(slot, HAS_METADATA, row.hasMetadata);
    this.mark(slot, IS_START, row.isStart);
    if (row.hasLease) {
      const { leaseId, firstOffset, batchEnd, term, conflated } = row;
      const expiresAt = micros(row.expiresAt);
      const acquiredAt = micros(row.acquiredAt);
      const times = { expiresAt, acquiredAt, term };
      this.addLease(slot, { leaseId, firstOffset, batchEnd, conflated, ...times });
    }
  }

  private encode(slot: number): Uint8Array {
    const { row, records, leases } = this;
    row.createdAt = records.double(slot, CREATED_AT);
    row.committed = records.double(slot, COMMITTED);
    row.version = this.version(slot);
    row.attemptOffset = records.double(slot, ATTEMPT_OFFSET);
    row.attemptCount = this.attemptCount(slot);
    row.batchRetryCount = this.batchRetryCount(slot);
    row.totalConsumed = this.totalConsumed(slot);
    row.hasMetadata = this.hasMetadata(slot);
    row.isStart = this.isStart(slot);
    row.hasReleased = this.releasedFirst(slot) >= 0;
    if (row.hasReleased) {
      row.releasedId = records.copyId(slot, RELEASED_ID_BYTE);
      row.releasedFirst = this.releasedFirst(slot);
      row.releasedLast = this.releasedLast(slot);
    }
    const lease = this.lease(slot);
    row.hasLease = lease >= 0;
    if (row.hasLease) {
      row.leaseId = leases.copyId(lease);
      row.firstOffset = leases.firstOffset(lease);
      row.batchEnd = leases.batchEnd(lease);
      row.expiresAt = leases.expiresAt(lease);
      row.acquiredAt = leases.acquiredAt(lease);
      row.term = leases.term(lease);
      row.conflated = leases.conflated(lease);
    }
    return encodeCursorRow(row);
  }

  private isMarked(slot: number, bit: number): boolean {
    return (this.records.int(slot, MARKS) & bit) !== 0;
  }

  private mark(slot: number, bit: number, on: boolean): void {
    const marks = this.records.int(slot, MARKS);
    this.records.setInt(slot, MARKS, on ? marks | bit : marks & ~bit);
  }

  private add(partitionSlot: number, groupId: ConsumerGroupId): number {
    const { records, partitions } = this;
    const slot = records.allocate();
    records.setInt(slot, PARTITION, partitionSlot);
    records.setInt(slot, GROUP, groupId);
    records.setInt(slot, LEASE, -1);
    let previous = -1;
    let next = partitions.firstCursor(partitionSlot);
    while (next >= 0 && records.unsigned(next, GROUP) > groupId) {
      previous = next;
      next = records.int(next, NEXT_ON_PARTITION);
    }
    invariant(next < 0 || records.unsigned(next, GROUP) !== groupId, 'cursor exists');
    records.setInt(slot, NEXT_ON_PARTITION, next);
    if (previous < 0) partitions.setFirstCursor(partitionSlot, slot);
    else records.setInt(previous, NEXT_ON_PARTITION, slot);
    const count = partitions.countCursors(partitionSlot, 1);
    if (count > SHORT_CHAIN + 1) this.index.add(this.hashOf(slot), slot);
    else if (count === SHORT_CHAIN + 1) this.indexChain(partitionSlot);
    const state = partitions.state(partitionSlot);
    state.cursorCount++;
    if (state.live) this.totals.cursors++;
    return slot;
  }

  private unlink(partitionSlot: number, slot: number): void {
    const { records, partitions } = this;
    const next = records.int(slot, NEXT_ON_PARTITION);
    let at = partitions.firstCursor(partitionSlot);
    if (at === slot) {
      partitions.setFirstCursor(partitionSlot, next);
      return;
    }
    while (records.int(at, NEXT_ON_PARTITION) !== slot) at = records.int(at, NEXT_ON_PARTITION);
    records.setInt(at, NEXT_ON_PARTITION, next);
  }

  /** Gives the slot of an unindexed and unlinked cursor back and its row up. */
  private free(partitionSlot: number, slot: number): void {
    const { partitions } = this;
    const state = partitions.state(partitionSlot);
    this.dropLease(slot);
    state.cursorCount--;
    const partition = partitions.id(partitionSlot);
    this.deletedRows.push(cursorKey(state.id, partition, this.groupId(slot)));
    this.dirty.unmark(slot);
    this.records.release(slot);
  }

  private addLease(slot: number, lease: NewLease): void {
    const { partitions } = this;
    const partitionSlot = this.partitionSlot(slot);
    const state = partitions.state(partitionSlot);
    const added = this.leases.add(slot, partitions.id(partitionSlot), lease);
    this.records.setInt(slot, LEASE, added);
    state.leaseCount++;
    if (state.live) this.totals.leases++;
  }

  private dropLease(slot: number): boolean {
    const lease = this.lease(slot);
    if (lease < 0) return false;
    this.leases.release(lease);
    this.records.setInt(slot, LEASE, -1);
    const state = this.partitions.state(this.partitionSlot(slot));
    state.leaseCount--;
    if (state.live) this.totals.leases--;
    return true;
  }

  private findIndexed(partitionSlot: number, groupId: number): number {
    const { records, index } = this;
    const hash = mix(partitionSlot, groupId);
    for (let slot = index.first(hash); slot >= 0; slot = index.next()) {
      if (records.int(slot, PARTITION) !== partitionSlot) continue;
      if (records.unsigned(slot, GROUP) === groupId) return slot;
    }
    return -1;
  }

  private indexChain(partitionSlot: number): void {
    let slot = this.partitions.firstCursor(partitionSlot);
    for (; slot >= 0; slot = this.nextOnPartition(slot)) this.index.add(this.hashOf(slot), slot);
  }

  /** Before a cursor leaves its chain: takes it out of the index, all of them if the rest is short. */
  private unindex(partitionSlot: number, leaving: number): void {
    const left = this.partitions.countCursors(partitionSlot, -1);
    if (left > SHORT_CHAIN) this.index.remove(this.hashOf(leaving), leaving);
    if (left !== SHORT_CHAIN) return;
    let slot = this.partitions.firstCursor(partitionSlot);
    for (; slot >= 0; slot = this.nextOnPartition(slot)) {
      this.index.remove(this.hashOf(slot), slot);
    }
  }

  private hashOf(slot: number): number {
    return mix(this.records.int(slot, PARTITION), this.records.int(slot, GROUP));
  }
}
