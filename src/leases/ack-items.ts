/** The scanned rows of an ack body behind the shape the plan works on; hashes are computed once. */
import type { AckRows, AckScan, TextColumn } from '../common/json/ack-scan.js';
import {
  LEASE_ABSENT,
  LEASE_UUID,
  PARTITION_UNKNOWN,
  PARTITION_VALID,
  STATUS_DLQ,
  STATUS_FAILED,
  STATUS_RETRY,
} from '../common/json/ack-scan.js';
import { murmur3x128Into } from '../common/murmur3-128.js';
import { readUtf8 } from '../common/utf8.js';
import { AckStatus } from '../machine/commands/catalogue.js';
import type { AckItems } from '../preparation/ack-plan.js';

const UNFENCED = new Uint8Array(0);
const HASH_BYTES = 16;

export class ScannedAcks implements AckItems {
  readonly count: number;
  readonly partitionIds: Float64Array;
  readonly statuses: Uint8Array;
  readonly hashes: Uint8Array;
  private readonly rows: AckRows;

  constructor(private readonly scan: AckScan) {
    this.rows = scan.rows;
    this.count = this.rows.count;
    this.partitionIds = new Float64Array(this.count);
    this.statuses = new Uint8Array(this.count);
    this.hashes = new Uint8Array(this.count * HASH_BYTES);
    for (let i = 0; i < this.count; i += 1) this.take(i);
  }

  leaseId(item: number): Uint8Array | null {
    const kind = this.rows.leaseKinds[item];
    if (kind === LEASE_ABSENT) return UNFENCED;
    if (kind !== LEASE_UUID) return null;
    return this.rows.leases.slice(item * HASH_BYTES, item * HASH_BYTES + HASH_BYTES);
  }

  error(item: number): string | null {
    const { errors } = this.rows;
    return errors.isEmpty(item) ? null : this.text(errors, item);
  }

  /** A missing transactionId names no message. */
  hasId(item: number): boolean {
    return !this.rows.transactionIds.isEmpty(item);
  }

  /** The partitionId as it was sent. */
  partitionText(item: number): string {
    return this.text(this.rows.partitionTexts, item);
  }

  /** The bytes of the item's transactionId. */
  transactionId(item: number): { readonly bytes: Uint8Array; start: number; end: number } {
    const column = this.rows.transactionIds;
    return {
      bytes: this.scan.source(column, item),
      start: column.starts[item] ?? 0,
      end: column.ends[item] ?? 0,
    };
  }

  private take(i: number): void {
    const { rows } = this;
    const state = rows.partitionStates[i];
    this.partitionIds[i] =
      state === PARTITION_VALID
        ? (rows.partitionIds[i] ?? NaN)
        : state === PARTITION_UNKNOWN
          ? Infinity
          : NaN;
    this.statuses[i] = statusOf(rows.statuses[i] ?? 0);
    const id = this.transactionId(i);
    murmur3x128Into(id.bytes, id.start, id.end, this.hashes, i * HASH_BYTES);
  }

  private text(column: TextColumn, row: number): string {
    return readUtf8(this.scan.source(column, row), column.starts[row] ?? 0, column.ends[row] ?? 0);
  }
}

function statusOf(scanned: number): AckStatus {
  if (scanned === STATUS_FAILED) return AckStatus.Failed;
  if (scanned === STATUS_DLQ) return AckStatus.Dlq;
  return scanned === STATUS_RETRY ? AckStatus.Retry : AckStatus.Completed;
}
