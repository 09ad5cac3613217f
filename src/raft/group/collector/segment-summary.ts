/**
 * What a retired segment holds, per partition: the newest entry with messages of it, and their bytes.
 * Built once by reading the segment; typed arrays, no object per partition is kept.
 */
import { blankBytesOf } from '../../../common/blank-bytes.js';
import type { ContentHolder, EntryContents } from '../ports.js';

/** A segment with more partitions is not summarised: it would take too much memory. */
const MAX_PARTITIONS = 262_144;

export interface SegmentSummary {
  /** Distinct partitions, with the newest entry that holds messages of each and the bytes of all. */
  readonly partitions: Float64Array;
  readonly newest: Float64Array;
  readonly bytes: Float64Array;
  /** Payload bytes that an earlier rewrite left blank; they take no space. */
  readonly blankBytes: number;
}

export function summaryBytes(summary: SegmentSummary): number {
  return summary.partitions.length * 24;
}

export class SummaryBuilder implements ContentHolder {
  private readonly slots = new Map<number, number>();
  private readonly newest: number[] = [];
  private readonly bytes: number[] = [];
  private index = 0;
  private blankBytes = 0;

  constructor(private readonly contents: EntryContents) {}

  get isTooWide(): boolean {
    return this.slots.size > MAX_PARTITIONS;
  }

  add(index: number, payload: Uint8Array): void {
    if (this.isTooWide) return;
    this.index = index;
    this.blankBytes += blankBytesOf(payload);
    this.contents.visit(payload, this);
  }

  messages(partitionId: number, sizeBytes: number): void {
    const slot = this.slots.get(partitionId);
    if (slot === undefined) {
      this.slots.set(partitionId, this.newest.length);
      this.newest.push(this.index);
      this.bytes.push(sizeBytes);
    } else {
      this.newest[slot] = this.index;
      this.bytes[slot] = (this.bytes[slot] ?? 0) + sizeBytes;
    }
  }

  build(): SegmentSummary {
    return {
      partitions: Float64Array.from(this.slots.keys()),
      newest: Float64Array.from(this.newest),
      bytes: Float64Array.from(this.bytes),
      blankBytes: this.blankBytes,
    };
  }
}
