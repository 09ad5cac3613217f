/**
 * Partitions in 80-byte records, found by id (paged index) and by (queue, name) (open addressing over
 * the name arena). Partitions of a queue are chained in id order, which is the order of their rows.
 * A partition of a deleted queue is invisible at once, long before a purge frees its slot.
 *
 *   f64: id createdAt logStart lastOffset lastAppendAt retainedBytes
 *   i32: queueId name maxRecordBytes deadLetters firstCursor cursorCount nextInQueue previousInQueue
 */
import { ByteArena } from '../../common/byte-arena.js';
import { invariant } from '../../common/invariant.js';
import type { Micros, PartitionId, QueueId } from '../../common/ids.js';
import { micros, partitionId, queueId } from '../../common/ids.js';
import { murmur3x32 } from '../../common/murmur3-128.js';
import { writeUtf8 } from '../../common/utf8.js';
import type { RowPort } from '../machine.js';
import { DirtySlots } from './dirty-slots.js';
import type { TableCounters } from './header-row.js';
import { IdIndex } from './id-index.js';
import { keyNumber, keyPartition, partitionKey } from './keyspaces.js';
import { decodePartitionRow, emptyPartitionRow, encodePartitionRow } from './partition-row.js';
import type { LiveTotals, QueueState } from './queue-state.js';
import type { QueueTableImpl } from './queue-table.js';
import { RecordPages } from './record-pages.js';
import { SegmentedIndex } from './segmented-index.js';
import type { PartitionTable, QueueRow } from './tables.js';

// In units of 8 bytes.
const ID = 0;
const CREATED_AT = 1;
const LOG_START = 2;
const LAST_OFFSET = 3;
const LAST_APPEND_AT = 4;
const RETAINED_BYTES = 5;
// In units of 4 bytes.
const QUEUE_ID = 12;
const NAME = 13;
const MAX_RECORD = 14;
const DEAD_LETTERS = 15;
const FIRST_CURSOR = 16;
const CURSOR_COUNT = 17;
const NEXT_IN_QUEUE = 18;
const PREVIOUS_IN_QUEUE = 19;
const STRIDE_BYTES = 80;

const SHORT_NAME_BYTES = 1536;

export class PartitionTableImpl implements PartitionTable {
  private readonly records = new RecordPages(STRIDE_BYTES, NEXT_IN_QUEUE);
  private readonly names = new ByteArena();
  private readonly byName = new SegmentedIndex();
  private readonly ids = new IdIndex();
  private readonly dirty = new DirtySlots();
  private readonly deletedRows: Uint8Array[] = [];
  private readonly row = emptyPartitionRow();
  private scratch = new Uint8Array(SHORT_NAME_BYTES);
  private highestId = 0;

  constructor(
    private readonly queues: QueueTableImpl,
    private readonly counters: TableCounters,
    private readonly totals: LiveTotals,
  ) {}

  get count(): number {
    return this.totals.partitions;
  }

  /** Rows the next flush writes, deletions left out; never too few. */
  get dirtyCount(): number {
    return this.dirty.size;
  }

  find(queue: QueueId, name: string): number {
    return this.findBytes(queue, this.scratch, 0, this.encodeName(name));
  }

  /** As `find`, for a name that stands as UTF-8 in bytes[start, end). */
  findBytes(queue: QueueId, bytes: Uint8Array, start: number, end: number): number {
    if (!this.queues.isLive(queue)) return -1;
    const hash = murmur3x32(bytes, start, end, queue);
    const { records, byName } = this;
    for (let slot = byName.first(hash); slot >= 0; slot = byName.next()) {
      if (records.unsigned(slot, QUEUE_ID) !== queue) continue;
      if (this.names.equals(records.unsigned(slot, NAME), bytes, start, end)) return slot;
    }
    return -1;
  }

  byId(id: PartitionId): number {
    const slot = this.ids.find(id);
    return slot >= 0 && this.isLive(slot) ? slot : -1;
  }

  create(queue: QueueRow, name: string, createdAt: Micros): number {
    const state = this.queues.state(queue.id);
    invariant(state.live, 'partition of a deleted queue', () => ({ queue: queue.id }));
    const end = this.encodeName(name);
    const exists = this.findBytes(queue.id, this.scratch, 0, end) >= 0;
    invariant(!exists, 'partition exists', () => ({ queue: queue.id, name }));
    const slot = this.add(state, this.counters.nextPartitionId++, this.scratch.subarray(0, end));
    this.records.setDouble(slot, CREATED_AT, createdAt);
    this.records.setDouble(slot, LAST_OFFSET, -1);
    this.dirty.mark(slot);
    return slot;
  }

  id(slot: number): PartitionId {
    return partitionId(this.records.double(slot, ID));
  }

  queueId(slot: number): QueueId {
    return queueId(this.records.unsigned(slot, QUEUE_ID));
  }

  name(slot: number): string {
    return this.names.text(this.records.unsigned(slot, NAME));
  }

  createdAt(slot: number): Micros {
    return micros(this.records.double(slot, CREATED_AT));
  }

  logStart(slot: number): number {
    return this.records.double(slot, LOG_START);
  }

  lastOffset(slot: number): number {
    return this.records.double(slot, LAST_OFFSET);
  }

  lastAppendAt(slot: number): Micros {
    return micros(this.records.double(slot, LAST_APPEND_AT));
  }

  retainedBytes(slot: number): number {
    return this.records.double(slot, RETAINED_BYTES);
  }

  maxRecordBytes(slot: number): number {
    return this.records.unsigned(slot, MAX_RECORD);
  }

  deadLetters(slot: number): number {
    return this.records.unsigned(slot, DEAD_LETTERS);
  }

  firstCursor(slot: number): number {
    return this.records.int(slot, FIRST_CURSOR);
  }

  nextInQueue(slot: number): number {
    return this.records.int(slot, NEXT_IN_QUEUE);
  }

  append(
    slot: number,
    run: {
      readonly count: number;
      readonly bytes: number;
      readonly maxRecord: number;
      readonly createdAt: Micros;
    },
  ): void {
    const { records, totals } = this;
    records.setDouble(slot, LAST_OFFSET, records.double(slot, LAST_OFFSET) + run.count);
    records.setDouble(slot, LAST_APPEND_AT, run.createdAt);
    records.setDouble(slot, RETAINED_BYTES, records.double(slot, RETAINED_BYTES) + run.bytes);
    if (run.maxRecord > records.unsigned(slot, MAX_RECORD)) {
      records.setInt(slot, MAX_RECORD, run.maxRecord);
    }
    this.addRetained(this.state(slot), run.count, run.bytes);
    totals.messagesAppended += run.count;
    this.dirty.mark(slot);
  }

  /** Never moves back, nor beyond the next offset. An emptied log retains no bytes. */
  setLogStart(slot: number, offset: number, removedBytes = 0): void {
    const { records } = this;
    const start = records.double(slot, LOG_START);
    const next = records.double(slot, LAST_OFFSET) + 1;
    const target = Math.min(offset, next);
    if (target <= start) return;
    const retained = records.double(slot, RETAINED_BYTES);
    const removed = target === next ? retained : Math.min(removedBytes, retained);
    records.setDouble(slot, LOG_START, target);
    records.setDouble(slot, RETAINED_BYTES, retained - removed);
    this.addRetained(this.state(slot), start - target, -removed);
    this.dirty.mark(slot);
  }

  remove(slot: number): void {
    const state = this.state(slot);
    invariant(state.live && this.firstCursor(slot) < 0, 'partition is in use');
    this.addRetained(
      state,
      this.logStart(slot) - this.lastOffset(slot) - 1,
      -this.retainedBytes(slot),
    );
    state.deadLetters -= this.deadLetters(slot);
    state.partitionCount--;
    this.totals.partitions--;
    this.unlink(state, slot);
    this.free(state, slot);
  }

  addDeadLetters(slot: number, delta: number): void {
    const count = this.deadLetters(slot) + delta;
    invariant(count >= 0, 'dead letters below zero', () => ({ partition: this.id(slot) }));
    this.records.setInt(slot, DEAD_LETTERS, count);
    this.state(slot).deadLetters += delta;
    this.dirty.mark(slot);
  }

  // Inside the tables -----------------------------------------------------------------------------

  get sizeBytes(): number {
    const { records, names, byName, ids } = this;
    return records.sizeBytes + names.allocatedBytes + byName.sizeBytes + ids.sizeBytes;
  }

  /** Slot of a partition of a live or a deleted queue. */
  anyById(id: number): number {
    return this.ids.find(id);
  }

  isLive(slot: number): boolean {
    return this.queues.isLive(this.records.unsigned(slot, QUEUE_ID));
  }

  state(slot: number): QueueState {
    return this.queues.state(this.records.unsigned(slot, QUEUE_ID));
  }

  setFirstCursor(slot: number, cursor: number): void {
    this.records.setInt(slot, FIRST_CURSOR, cursor);
  }

  cursorCount(slot: number): number {
    return this.records.int(slot, CURSOR_COUNT);
  }

  /** Returns the new count. */
  countCursors(slot: number, delta: number): number {
    const count = this.records.int(slot, CURSOR_COUNT) + delta;
    this.records.setInt(slot, CURSOR_COUNT, count);
    return count;
  }

  /** Purge only: frees the first partition of a deleted queue's chain; it must have no cursors. */
  freeFirst(state: QueueState): void {
    const slot = state.firstPartition;
    invariant(!state.live && this.firstCursor(slot) < 0, 'partition is in use');
    this.unlink(state, slot);
    this.free(state, slot);
  }

  flush(rows: RowPort): void {
    for (const key of this.deletedRows) rows.delete(key);
    this.deletedRows.length = 0;
    this.dirty.drain((slot) => {
      if (!this.isLive(slot)) return;
      rows.put(partitionKey(this.queueId(slot), this.id(slot)), this.encode(slot));
    });
  }

  load(key: Uint8Array, value: Uint8Array): void {
    const state = this.queues.loadOwner(keyNumber(key));
    const { row, records } = this;
    decodePartitionRow(value, row);
    const id = keyPartition(key);
    const slot = this.add(state, id, row.name);
    records.setDouble(slot, CREATED_AT, row.createdAt);
    records.setDouble(slot, LOG_START, row.logStart);
    records.setDouble(slot, LAST_OFFSET, row.lastOffset);
    records.setDouble(slot, LAST_APPEND_AT, row.lastAppendAt);
    records.setDouble(slot, RETAINED_BYTES, row.retainedBytes);
    records.setInt(slot, MAX_RECORD, row.maxRecordBytes);
    records.setInt(slot, DEAD_LETTERS, row.deadLetters);
    state.deadLetters += row.deadLetters;
    this.addRetained(state, row.lastOffset + 1 - row.logStart, row.retainedBytes);
    if (id > this.highestId) this.highestId = id;
  }

  finishLoad(): void {
    invariant(this.highestId < this.counters.nextPartitionId, 'partition id above the counter');
  }

  private encode(slot: number): Uint8Array {
    const { row, records } = this;
    row.createdAt = records.double(slot, CREATED_AT);
    row.logStart = records.double(slot, LOG_START);
    row.lastOffset = records.double(slot, LAST_OFFSET);
    row.lastAppendAt = records.double(slot, LAST_APPEND_AT);
    row.retainedBytes = records.double(slot, RETAINED_BYTES);
    row.maxRecordBytes = records.unsigned(slot, MAX_RECORD);
    row.deadLetters = records.unsigned(slot, DEAD_LETTERS);
    row.name = this.nameBytes(records.unsigned(slot, NAME));
    return encodePartitionRow(row);
  }

  /** A view; valid until the name is released. */
  private nameBytes(name: number): Uint8Array {
    const at = this.names.bytesAt(name);
    return this.names.chunkOf(name).subarray(at, at + this.names.lengthAt(name));
  }

  private add(state: QueueState, id: number, name: Uint8Array): number {
    const { records } = this;
    const hash = murmur3x32(name, 0, name.length, state.id);
    const slot = records.allocate();
    records.setDouble(slot, ID, id);
    records.setInt(slot, QUEUE_ID, state.id);
    records.setInt(slot, NAME, this.names.append(name));
    records.setInt(slot, FIRST_CURSOR, -1);
    records.setInt(slot, NEXT_IN_QUEUE, -1);
    records.setInt(slot, PREVIOUS_IN_QUEUE, state.lastPartition);
    if (state.lastPartition < 0) state.firstPartition = slot;
    else records.setInt(state.lastPartition, NEXT_IN_QUEUE, slot);
    state.lastPartition = slot;
    state.partitionCount++;
    if (state.live) this.totals.partitions++;
    this.byName.add(hash, slot);
    this.ids.add(id, slot);
    return slot;
  }

  /** Takes the partition out of its queue's chain. */
  private unlink(state: QueueState, slot: number): void {
    const { records } = this;
    const next = records.int(slot, NEXT_IN_QUEUE);
    const previous = records.int(slot, PREVIOUS_IN_QUEUE);
    if (previous < 0) state.firstPartition = next;
    else records.setInt(previous, NEXT_IN_QUEUE, next);
    if (next < 0) state.lastPartition = previous;
    else records.setInt(next, PREVIOUS_IN_QUEUE, previous);
  }

  /** Gives the slot of an unlinked partition back, its name and its row up. */
  private free(state: QueueState, slot: number): void {
    const { records } = this;
    const id = this.id(slot);
    this.deletedRows.push(partitionKey(state.id, id));
    this.dirty.unmark(slot);
    const name = records.unsigned(slot, NAME);
    const bytes = this.nameBytes(name);
    this.byName.remove(murmur3x32(bytes, 0, bytes.length, state.id), slot);
    this.ids.remove(id);
    this.names.release(name);
    records.release(slot);
  }

  private addRetained(state: QueueState, messages: number, bytes: number): void {
    state.messagesRetained += messages;
    state.bytesRetained += bytes;
    if (!state.live) return;
    this.totals.messagesRetained += messages;
    this.totals.bytesRetained += bytes;
  }

  /** Writes the name to the scratch memory; returns its length in bytes. */
  private encodeName(name: string): number {
    if (name.length * 3 > this.scratch.length) this.scratch = new Uint8Array(name.length * 3);
    return writeUtf8(name, this.scratch, 0);
  }
}
