/**
 * The result of scanning an acknowledgment body, as columns: one row per acknowledgment, texts as byte
 * ranges of the body. Reused between requests; the scanner writes it, everyone else reads it. Ranges
 * are valid until the scan is cleared.
 */

import { BinaryWriter } from '../binary-writer.js';
import { UUID_BYTES } from '../uuid-v7.js';

const EMPTY = new Uint8Array(0);
const INITIAL_ROWS = 128;
const RETAINED_ROWS = 16_384;

/** What the worker says about a message; a larger number wins at the same offset. */
export const STATUS_COMPLETED = 0;
export const STATUS_RETRY = 1;
export const STATUS_FAILED = 2;
export const STATUS_DLQ = 3;

/** The partitionId is a number below 2^53. */
export const PARTITION_VALID = 0;
/** It is missing or no string of digits: `partitionId is not a partition id`. */
export const PARTITION_NOT_A_NUMBER = 1;
/** It is a 64-bit number, too large for any partition: `no partition <id>`. */
export const PARTITION_UNKNOWN = 2;

export const LEASE_ABSENT = 0;
/** 16 bytes in `leases`. */
export const LEASE_UUID = 1;
/** A text that is no UUID, so no lease of ours. */
export const LEASE_FOREIGN = 2;

/** A byte range per row, in the body or (text with escapes) in the arena. */
export class TextColumn {
  starts = new Uint32Array(INITIAL_ROWS);
  ends = new Uint32Array(INITIAL_ROWS);
  /** 1 when the range is in the arena. */
  inArena = new Uint8Array(INITIAL_ROWS);

  set(row: number, start: number, end: number, inArena: boolean): void {
    this.starts[row] = start;
    this.ends[row] = end;
    this.inArena[row] = inArena ? 1 : 0;
  }

  isEmpty(row: number): boolean {
    return this.starts[row] === this.ends[row];
  }

  resize(rows: number, kept: number): void {
    const { starts, ends, inArena } = this;
    this.starts = new Uint32Array(rows);
    this.ends = new Uint32Array(rows);
    this.inArena = new Uint8Array(rows);
    this.starts.set(starts.subarray(0, kept));
    this.ends.set(ends.subarray(0, kept));
    this.inArena.set(inArena.subarray(0, kept));
  }
}

/** The rows: those of the batch, or the one of the single form. */
export class AckRows {
  count = 0;
  /** Empty when missing: such a row resolves to nothing. */
  readonly transactionIds = new TextColumn();
  /** As sent; for the error text. */
  readonly partitionTexts = new TextColumn();
  /** Empty when absent. */
  readonly errors = new TextColumn();
  /** Meaningful with PARTITION_VALID. */
  partitionIds = new Float64Array(INITIAL_ROWS);
  partitionStates = new Uint8Array(INITIAL_ROWS);
  /** 16 bytes per row; meaningful with LEASE_UUID. */
  leases = new Uint8Array(INITIAL_ROWS * UUID_BYTES);
  leaseKinds = new Uint8Array(INITIAL_ROWS);
  statuses = new Uint8Array(INITIAL_ROWS);

  /** Number of a new row, blank: completed, no lease, no valid partition. */
  add(): number {
    if (this.count === this.statuses.length) this.resize(this.count * 2);
    const row = this.count++;
    this.transactionIds.set(row, 0, 0, false);
    this.partitionTexts.set(row, 0, 0, false);
    this.errors.set(row, 0, 0, false);
    this.partitionIds[row] = 0;
    this.partitionStates[row] = PARTITION_NOT_A_NUMBER;
    this.leaseKinds[row] = LEASE_ABSENT;
    this.statuses[row] = STATUS_COMPLETED;
    return row;
  }

  clear(): void {
    this.count = 0;
    if (this.statuses.length > RETAINED_ROWS) this.resize(INITIAL_ROWS);
  }

  private resize(rows: number): void {
    const kept = Math.min(rows, this.count);
    const { partitionIds, partitionStates, leases, leaseKinds, statuses } = this;
    this.transactionIds.resize(rows, kept);
    this.partitionTexts.resize(rows, kept);
    this.errors.resize(rows, kept);
    this.partitionIds = new Float64Array(rows);
    this.partitionIds.set(partitionIds.subarray(0, kept));
    this.partitionStates = new Uint8Array(rows);
    this.partitionStates.set(partitionStates.subarray(0, kept));
    this.leases = new Uint8Array(rows * UUID_BYTES);
    this.leases.set(leases.subarray(0, kept * UUID_BYTES));
    this.leaseKinds = new Uint8Array(rows);
    this.leaseKinds.set(leaseKinds.subarray(0, kept));
    this.statuses = new Uint8Array(rows);
    this.statuses.set(statuses.subarray(0, kept));
  }
}

export class AckScan {
  body: Uint8Array = EMPTY;
  /** '' when absent: queue mode. */
  consumerGroup = '';
  /** True when the body had a non-empty `acknowledgments`. */
  isBatch = false;
  readonly batch = new AckRows();
  readonly single = new AckRows();
  readonly arena = new BinaryWriter(256);

  /** The rows that count, in input order. */
  get rows(): AckRows {
    return this.isBatch ? this.batch : this.single;
  }

  /** The bytes that a row's range refers to; take it after the scan is complete. */
  source(column: TextColumn, row: number): Uint8Array {
    return column.inArena[row] === 1 ? this.arena.bytes : this.body;
  }

  clear(): void {
    this.body = EMPTY;
    this.consumerGroup = '';
    this.isBatch = false;
    this.batch.clear();
    this.single.clear();
    this.arena.clear();
  }
}
