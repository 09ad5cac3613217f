/**
 * The distinct names of one request: each name's bytes are kept once, in an arena of the request, and
 * known by a small number in first-seen order. No string is made unless asked for.
 */

import { BinaryWriter } from '../binary-writer.js';
import { murmur3x32 } from '../murmur3-128.js';
import { SlotIndex, type SlotMatcher } from '../open-addressing.js';
import { readUtf8 } from '../utf8.js';

const INITIAL_NAMES = 16;
/** A cleared table keeps room for at most this many names. */
const RETAINED_NAMES = 4096;

export class NameTable implements SlotMatcher {
  private starts = new Uint32Array(INITIAL_NAMES);
  private ends = new Uint32Array(INITIAL_NAMES);
  /** A number that belongs to the name, e.g. the queue of a partition; part of its identity. */
  private owners = new Uint32Array(INITIAL_NAMES);
  private readonly index = new SlotIndex();
  private names = 0;
  private probeStart = 0;
  private probeEnd = 0;
  private probeOwner = 0;

  /** `arena` holds the bytes; it may be shared and must outlive the table's contents. */
  constructor(private readonly arena: BinaryWriter) {}

  get count(): number {
    return this.names;
  }

  clear(): void {
    if (this.names === 0) return;
    this.names = 0;
    this.index.clear();
    if (this.starts.length > RETAINED_NAMES) this.resize(INITIAL_NAMES);
  }

  /**
   * The number of the name that stands at the end of the arena from `start` on. A new name stays in
   * the arena; a known one is cut off again.
   */
  intern(start: number, owner: number): number {
    const end = this.arena.length;
    const hash = murmur3x32(this.arena.bytes, start, end, owner);
    this.probeStart = start;
    this.probeEnd = end;
    this.probeOwner = owner;
    const known = this.index.find(hash, this);
    if (known >= 0) {
      this.arena.truncate(start);
      return known;
    }
    const number = this.names++;
    if (number === this.starts.length) this.resize(number * 2);
    this.starts[number] = start;
    this.ends[number] = end;
    this.owners[number] = owner;
    this.index.insert(hash, number);
    return number;
  }

  /** Compares the name being interned with a known one (SlotMatcher). */
  matches(number: number): boolean {
    const start = this.starts[number] ?? 0;
    const size = this.probeEnd - this.probeStart;
    if ((this.ends[number] ?? 0) - start !== size) return false;
    if (this.owners[number] !== this.probeOwner) return false;
    const bytes = this.arena.bytes;
    for (let i = 0; i < size; i++) {
      if (bytes[start + i] !== bytes[this.probeStart + i]) return false;
    }
    return true;
  }

  /** Where the name's UTF-8 bytes start in the arena. */
  startOf(number: number): number {
    return this.starts[number] ?? 0;
  }

  endOf(number: number): number {
    return this.ends[number] ?? 0;
  }

  ownerOf(number: number): number {
    return this.owners[number] ?? 0;
  }

  text(number: number): string {
    return readUtf8(this.arena.bytes, this.startOf(number), this.endOf(number));
  }

  private resize(size: number): void {
    const grow = (old: Uint32Array): Uint32Array<ArrayBuffer> => {
      const column = new Uint32Array(size);
      column.set(old.subarray(0, Math.min(size, this.names)));
      return column;
    };
    this.starts = grow(this.starts);
    this.ends = grow(this.ends);
    this.owners = grow(this.owners);
  }
}
