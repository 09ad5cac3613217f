/**
 * One partition of an ephemeral queue: messages first in, first out, by sequence. A message is stored
 * once however many groups read it and freed when every known group has passed it; without any group
 * only bounds and ttl free. Sequences of one process never repeat: each ring starts on a base of its own.
 * No object per message: three columns, and the bytes in a payload log.
 *
 *        first                     next
 *          │ 5 │ 6 │ 7 │ 8 │ 9 │ 10 │        columns are indexed by sequence & mask
 */
import type { EphemeralQueue } from '../queues/ephemeral-queue.js';
import type { GroupCursor } from './group-cursor.js';
import { RING_COST, type MemoryAccount } from './memory-account.js';
import { PayloadLog, type SegmentPool } from './payload-log.js';

const FIRST_CAPACITY = 4;
/** An empty ring gives columns beyond this capacity back. */
const KEPT_CAPACITY = 256;
const COLUMN_BYTES = 20;
/** What an empty ring costs. */
export const NEW_RING_COST = RING_COST + FIRST_CAPACITY * COLUMN_BYTES;

/** Where rings take what they need, and sequences come from. */
export class RingSource {
  /** Room for the sequences of one ring. */
  static readonly STRIDE = 2 ** 28;
  private rings = 0;

  constructor(
    readonly pool: SegmentPool,
    readonly account: MemoryAccount,
  ) {}

  nextBase(): number {
    const base = this.rings * RingSource.STRIDE;
    this.rings += 1;
    return base;
  }
}

export class Ring {
  /** Oldest retained sequence; `next` when the ring is empty. */
  first: number;
  /** Sequence of the next message. */
  next: number;
  /** Payload bytes retained. */
  bytes = 0;
  /** Last push or pop of this partition by name, monotonic ms. */
  touchedMs = 0;
  /** False once it left this node or its queue was deleted. */
  live = true;
  readonly cursors = new Map<string, GroupCursor>();
  private readonly payloads: PayloadLog;
  private capacity = FIRST_CAPACITY;
  private places = new Float64Array(FIRST_CAPACITY);
  private lengths = new Uint32Array(FIRST_CAPACITY);
  private times = new Float64Array(FIRST_CAPACITY);

  constructor(
    readonly queue: EphemeralQueue,
    readonly partition: string,
    private readonly source: RingSource,
  ) {
    this.payloads = new PayloadLog(source.pool, source.account);
    this.first = source.nextBase();
    this.next = this.first;
    source.account.addStructure(NEW_RING_COST);
  }

  get length(): number {
    return this.next - this.first;
  }

  /** Tells of `count` messages of `bytes` that are appended next. */
  expect(count: number, bytes: number): void {
    if (this.length + count > this.capacity) this.resize(this.length + count);
    this.payloads.expect(bytes);
  }

  append(source: Uint8Array, start: number, end: number, atMs: number): void {
    if (this.length === this.capacity) this.resize(this.capacity * 2);
    const slot = this.next & (this.capacity - 1);
    this.places[slot] = this.payloads.append(source, start, end);
    this.lengths[slot] = end - start;
    this.times[slot] = atMs;
    this.bytes += end - start;
    this.next += 1;
  }

  timeOf(sequence: number): number {
    return this.times[sequence & (this.capacity - 1)] ?? 0;
  }

  lengthOf(sequence: number): number {
    return this.lengths[sequence & (this.capacity - 1)] ?? 0;
  }

  /** The payload's bytes, as a view that is valid until the message is freed. */
  payloadOf(sequence: number): Uint8Array {
    const slot = sequence & (this.capacity - 1);
    this.payloads.locate(this.places[slot] ?? 0);
    const { bytes, at } = this.payloads;
    return bytes.subarray(at, at + (this.lengths[slot] ?? 0));
  }

  /** Frees what every known group has passed; answers the bytes freed. */
  trim(): number {
    if (this.cursors.size === 0) return 0;
    let passed = this.next;
    for (const cursor of this.cursors.values()) {
      if (cursor.low <= this.first) return 0;
      passed = Math.min(passed, cursor.low);
    }
    return this.freeBefore(passed);
  }

  /** Drops the messages before `sequence`, passed or not; answers the bytes freed. */
  drop(sequence: number, countsAsSkipped: boolean): number {
    for (const cursor of this.cursors.values()) cursor.lose(sequence, countsAsSkipped);
    return this.freeBefore(sequence);
  }

  /** Sequence of the first message that is not older than `beforeMs`. */
  firstSince(beforeMs: number): number {
    let sequence = this.first;
    while (sequence < this.next && this.timeOf(sequence) <= beforeMs) sequence += 1;
    return sequence;
  }

  /** The ring is dropped whole: what it held is given back to the node. */
  release(): void {
    this.live = false;
    for (const cursor of this.cursors.values()) cursor.release();
    this.payloads.release(this.bytes);
    this.first = this.next;
    this.bytes = 0;
    this.source.account.addStructure(-RING_COST - this.capacity * COLUMN_BYTES);
  }

  private freeBefore(sequence: number): number {
    let freed = 0;
    for (let at = this.first; at < sequence; at += 1) freed += this.lengthOf(at);
    this.first = sequence;
    this.bytes -= freed;
    if (this.length === 0) {
      this.payloads.free(freed, 0);
      this.payloads.clear();
      if (this.capacity > KEPT_CAPACITY) this.resize(FIRST_CAPACITY);
    } else {
      this.payloads.free(freed, this.places[sequence & (this.capacity - 1)] ?? 0);
    }
    return freed;
  }

  private resize(least: number): void {
    let capacity = FIRST_CAPACITY;
    while (capacity < least) capacity *= 2;
    const places = new Float64Array(capacity);
    const lengths = new Uint32Array(capacity);
    const times = new Float64Array(capacity);
    for (let sequence = this.first; sequence < this.next; sequence += 1) {
      const from = sequence & (this.capacity - 1);
      const to = sequence & (capacity - 1);
      places[to] = this.places[from] ?? 0;
      lengths[to] = this.lengths[from] ?? 0;
      times[to] = this.times[from] ?? 0;
    }
    this.source.account.addStructure((capacity - this.capacity) * COLUMN_BYTES);
    this.capacity = capacity;
    this.places = places;
    this.lengths = lengths;
    this.times = times;
  }
}
