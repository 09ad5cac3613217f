/**
 * The result of scanning a push body, as columns: one row per item, one entry per distinct (queue,
 * partition). Payloads and ids are byte ranges of the body; nothing is copied, parsed or turned into
 * an object per item. Reused between requests through PushScanPool; the scanner writes it, everyone
 * else reads it. Ranges are valid until the scan is released.
 */

import { BinaryWriter } from '../binary-writer.js';
import { NameTable } from './name-table.js';

const EMPTY = new Uint8Array(0);
const INITIAL_ITEMS = 128;
/** A scan kept by the pool has room for at most this many items and arena bytes. */
const RETAINED_ITEMS = 16_384;
const RETAINED_SCANS = 64;

/** The item brought its own transactionId. */
export const ITEM_HAS_ID = 1;
/** Its transactionId had escapes: the range is in the arena, not in the body. */
export const ITEM_ID_IN_ARENA = 2;
/** It brought a traceId that is a UUID; 36 bytes from `traceStarts` in the body. */
export const ITEM_HAS_TRACE_ID = 4;

export class PushScan {
  body: Uint8Array = EMPTY;
  /** Items. */
  count = 0;
  /** Raw JSON of the payload: body[payloadStarts[i], payloadEnds[i]). */
  payloadStarts = new Uint32Array(INITIAL_ITEMS);
  payloadEnds = new Uint32Array(INITIAL_ITEMS);
  /** UTF-8 of the transactionId in `idSource(i)`; meaningful with ITEM_HAS_ID. */
  idStarts = new Uint32Array(INITIAL_ITEMS);
  idEnds = new Uint32Array(INITIAL_ITEMS);
  traceStarts = new Uint32Array(INITIAL_ITEMS);
  /** ITEM_… bits. */
  flags = new Uint8Array(INITIAL_ITEMS);
  /** Number of the item's (queue, partition) in `targets`. */
  targetOf = new Uint32Array(INITIAL_ITEMS);

  /** Bytes of names and of unescaped ids. */
  readonly arena = new BinaryWriter(1024);
  /** Distinct queue names, in first-seen order. */
  readonly queues = new NameTable(this.arena);
  /** Distinct (queue, partition) in first-seen order: partition names owned by a queue number. */
  readonly targets = new NameTable(this.arena);

  /** The bytes that the id range of item `i` refers to; take it after the scan is complete. */
  idSource(i: number): Uint8Array {
    return ((this.flags[i] ?? 0) & ITEM_ID_IN_ARENA) === 0 ? this.body : this.arena.bytes;
  }

  /** Number in `queues` of a target's queue. */
  queueOfTarget(target: number): number {
    return this.targets.ownerOf(target);
  }

  queueText(target: number): string {
    return this.queues.text(this.targets.ownerOf(target));
  }

  partitionText(target: number): string {
    return this.targets.text(target);
  }

  /** Bytes of the payloads of all items. */
  payloadBytes(): number {
    let sum = 0;
    for (let i = 0; i < this.count; i++) {
      sum += (this.payloadEnds[i] ?? 0) - (this.payloadStarts[i] ?? 0);
    }
    return sum;
  }

  /** Forgets the items and names, keeps the body. */
  clear(): void {
    this.count = 0;
    this.arena.clear();
    this.queues.clear();
    this.targets.clear();
  }

  /** Forgets everything and gives large columns back. */
  release(): void {
    this.clear();
    this.body = EMPTY;
    if (this.flags.length > RETAINED_ITEMS) this.resize(INITIAL_ITEMS);
  }

  /** Number of a new row; its columns are the scanner's to fill. */
  addItem(): number {
    if (this.count === this.flags.length) this.resize(this.count * 2);
    return this.count++;
  }

  private resize(items: number): void {
    const grow = (old: Uint32Array): Uint32Array<ArrayBuffer> => {
      const column = new Uint32Array(items);
      column.set(old.subarray(0, Math.min(items, this.count)));
      return column;
    };
    this.payloadStarts = grow(this.payloadStarts);
    this.payloadEnds = grow(this.payloadEnds);
    this.idStarts = grow(this.idStarts);
    this.idEnds = grow(this.idEnds);
    this.traceStarts = grow(this.traceStarts);
    this.targetOf = grow(this.targetOf);
    const flags = new Uint8Array(items);
    flags.set(this.flags.subarray(0, Math.min(items, this.count)));
    this.flags = flags;
  }
}

/** Scans at rest. Whoever acquires one releases it when the request is answered. */
export class PushScanPool {
  private readonly idle: PushScan[] = [];

  acquire(): PushScan {
    return this.idle.pop() ?? new PushScan();
  }

  release(scan: PushScan): void {
    scan.release();
    if (this.idle.length < RETAINED_SCANS) this.idle.push(scan);
  }
}
