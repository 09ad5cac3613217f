/**
 * What of an entry in a judged segment stays: all of it while it holds a retained message, else what
 * rows pin, a few messages out of perhaps hundreds.
 */
import type { ByteRange, ContentHolder, EntryContents, KeptBytes } from '../ports.js';

/** Kept ranges that make up more of an entry than this are not worth their own treatment. */
const WHOLE_SHARE = 0.5;

export class EntryJudge implements ContentHolder {
  private index = 0;
  private isLive = false;

  constructor(
    private readonly contents: EntryContents,
    /** First live entry per partition. */
    private readonly liveFrom: ReadonlyMap<number, number>,
    private readonly pinned: ReadonlyMap<number, readonly ByteRange[]>,
  ) {}

  kept(index: number, payload: Uint8Array): KeptBytes {
    this.index = index;
    this.isLive = false;
    this.contents.visit(payload, this);
    if (this.isLive) return true;
    const ranges = this.pinned.get(index);
    if (ranges === undefined) return false;
    return bytesOf(ranges) > payload.length * WHOLE_SHARE ? true : ranges;
  }

  messages(partitionId: number): void {
    const from = this.liveFrom.get(partitionId);
    if (from !== undefined && from <= this.index) this.isLive = true;
  }
}

export function bytesOf(ranges: readonly ByteRange[]): number {
  return ranges.reduce((sum, { length }) => sum + length, 0);
}
