/**
 * Payload bytes of one ring, appended at the end and freed from the head, in segments of at most 64 KiB
 * (a larger payload has one of its own). A payload never crosses segments. Its position counts over all
 * segments ever taken, so it names the same bytes until they are freed. Full segments go through a pool:
 * a ring in steady state allocates nothing.
 */
import type { MemoryAccount } from './memory-account.js';

const MAX_SEGMENT_BYTES = 64 * 1024;
const MIN_SEGMENT_BYTES = 128;
/** An empty ring keeps a segment up to this size. */
const KEPT_BYTES = 1024;
const MAX_SPARE = 64;

/** Full-size segments between rings. */
export class SegmentPool {
  private readonly spare: Uint8Array[] = [];

  take(size: number): Uint8Array {
    if (size === MAX_SEGMENT_BYTES) return this.spare.pop() ?? new Uint8Array(size);
    return new Uint8Array(size);
  }

  give(bytes: Uint8Array): void {
    if (bytes.length === MAX_SEGMENT_BYTES && this.spare.length < MAX_SPARE) this.spare.push(bytes);
  }
}

interface Segment {
  readonly bytes: Uint8Array;
  /** Position of its first byte. */
  readonly base: number;
}

const NO_BYTES = new Uint8Array(0);

export class PayloadLog {
  private segments: Segment[] = [];
  /** Position of the next payload in the last segment. */
  private end = 0;
  private expected = 0;
  /** Where the payload located last lies. */
  bytes: Uint8Array = NO_BYTES;
  at = 0;

  constructor(
    private readonly pool: SegmentPool,
    private readonly account: MemoryAccount,
  ) {}

  /** Tells that `size` bytes come in one go, so that they get fitting segments. */
  expect(size: number): void {
    this.expected = size;
  }

  /** Copies source[start, end) and answers its position. */
  append(source: Uint8Array, start: number, end: number): number {
    const size = end - start;
    let last = this.segments[this.segments.length - 1];
    if (last === undefined || last.base + last.bytes.length - this.end < size) {
      last = this.open(this.nextSize(last, size));
    }
    const position = this.end;
    last.bytes.set(source.subarray(start, end), position - last.base);
    this.end += size;
    this.expected -= size;
    this.account.addPayload(size);
    this.account.addStructure(-size);
    return position;
  }

  /** Sets `bytes` and `at` to where the payload at `position` lies. */
  locate(position: number): void {
    let low = 0;
    let high = this.segments.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((this.segments[middle]?.base ?? Infinity) <= position) low = middle;
      else high = middle - 1;
    }
    const segment = this.segments[low];
    this.bytes = segment?.bytes ?? NO_BYTES;
    this.at = position - (segment?.base ?? 0);
  }

  /** `size` bytes of payloads are no more; what lies before `position` is not read again. */
  free(size: number, position: number): void {
    this.account.addPayload(-size);
    this.account.addStructure(size);
    let dead = 0;
    while (dead < this.segments.length - 1) {
      const next = this.segments[dead + 1];
      if (next === undefined || next.base > position) break;
      dead += 1;
    }
    if (dead === 0) return;
    for (const segment of this.segments.splice(0, dead)) this.giveBack(segment);
  }

  /** Nothing is left: the last segment starts over, or goes when it is large. */
  clear(): void {
    const last = this.segments.pop();
    for (const segment of this.segments) this.giveBack(segment);
    this.segments = [];
    this.bytes = NO_BYTES;
    if (last === undefined) return;
    if (last.bytes.length <= KEPT_BYTES) {
      this.segments.push(last);
      this.end = last.base;
    } else {
      this.giveBack(last);
    }
  }

  /** The ring goes: `size` bytes of payloads are still in it. */
  release(size: number): void {
    this.account.addPayload(-size);
    this.account.addStructure(size);
    for (const segment of this.segments) this.giveBack(segment);
    this.segments = [];
  }

  /** Twice the last one, or what is expected; never beyond the largest but for a single payload. */
  private nextSize(last: Segment | undefined, size: number): number {
    const wanted = Math.max((last?.bytes.length ?? 0) * 2, this.expected, MIN_SEGMENT_BYTES);
    return Math.max(size, Math.min(MAX_SEGMENT_BYTES, wanted));
  }

  private open(size: number): Segment {
    const last = this.segments[this.segments.length - 1];
    const base = last === undefined ? this.end : last.base + last.bytes.length;
    const segment = { bytes: this.pool.take(size), base };
    this.segments.push(segment);
    this.end = base;
    this.account.addStructure(size);
    return segment;
  }

  private giveBack(segment: Segment): void {
    this.account.addStructure(-segment.bytes.length);
    this.pool.give(segment.bytes);
  }
}
