/**
 * Open-addressing index from a 32-bit hash to slots for tables of many millions. It keeps neither keys
 * nor hashes (the caller has both in its records), so it takes a third of common/open-addressing and a
 * cursor stays within its memory budget. 4096 segments by the hash's top bits grow each on its own: the
 * longest pause is the rehash of one segment (4 K entries at 16 M), and growth never holds the whole
 * index twice. Linear probing, removal shifts back: no tombstones.
 *
 *   hash ─ top 12 bits ─► segment ─ low bits ─► position …    entry = slot + 1, 0 = empty
 *
 * A walk (`first`, `next`) lives in the index: finish one before starting another.
 */

import { invariant } from '../../common/invariant.js';

const SEGMENT_SHIFT = 20;
const SEGMENTS = 1 << (32 - SEGMENT_SHIFT);
const INITIAL_POSITIONS = 8;

export class SegmentedIndex {
  private readonly segments: (Int32Array | null)[] = new Array<Int32Array | null>(SEGMENTS).fill(
    null,
  );
  private readonly counts = new Int32Array(SEGMENTS);
  private walked: Int32Array | null = null;
  private position = 0;

  /** `hashOf` gives the hash a slot was added with. */
  constructor(private readonly hashOf: (slot: number) => number) {}

  get sizeBytes(): number {
    let bytes = 0;
    for (const segment of this.segments) bytes += segment === null ? 0 : segment.length * 4;
    return bytes;
  }

  /** First candidate slot for the hash, -1 when none. Candidates may have another hash. */
  first(hash: number): number {
    const segment = this.segments[hash >>> SEGMENT_SHIFT]!;
    if (segment === null) return -1;
    const position = hash & (segment.length - 1);
    this.walked = segment;
    this.position = position;
    return segment[position]! - 1;
  }

  /** Next candidate of the walk, -1 at its end. */
  next(): number {
    const segment = this.walked!;
    const position = (this.position + 1) & (segment.length - 1);
    this.position = position;
    return segment[position]! - 1;
  }

  /** Adds a slot that is not in the index. */
  add(hash: number, slot: number): void {
    const at = hash >>> SEGMENT_SHIFT;
    let segment = this.segments[at]!;
    const count = this.counts[at]! + 1;
    if (segment === null) {
      segment = new Int32Array(INITIAL_POSITIONS);
      this.segments[at] = segment;
    } else if (count * 4 > segment.length * 3) {
      segment = this.resize(at, segment.length * 2);
    }
    this.counts[at] = count;
    place(segment, hash, slot);
  }

  remove(hash: number, slot: number): void {
    const at = hash >>> SEGMENT_SHIFT;
    const segment = this.segments[at]!;
    invariant(segment !== null, 'slot is not in the index');
    this.shiftBack(segment, locate(segment, hash, slot));
    const count = this.counts[at]! - 1;
    this.counts[at] = count;
    if (count === 0) this.segments[at] = null;
    else if (segment.length > INITIAL_POSITIONS && count * 8 < segment.length) {
      this.resize(at, segment.length / 2);
    }
  }

  /** Puts another slot of the same hash in the place of one. */
  replace(hash: number, slot: number, by: number): void {
    const segment = this.segments[hash >>> SEGMENT_SHIFT]!;
    invariant(segment !== null, 'slot is not in the index');
    segment[locate(segment, hash, slot)] = by + 1;
  }

  private resize(at: number, positions: number): Int32Array {
    const from = this.segments[at]!;
    const to = new Int32Array(positions);
    for (const entry of from) if (entry !== 0) place(to, this.hashOf(entry - 1), entry - 1);
    this.segments[at] = to;
    return to;
  }

  /** Closes the hole: an entry moves into it unless its home lies between the hole and itself. */
  private shiftBack(segment: Int32Array, removed: number): void {
    const mask = segment.length - 1;
    let hole = removed;
    for (let p = (hole + 1) & mask; segment[p] !== 0; p = (p + 1) & mask) {
      const home = this.hashOf(segment[p]! - 1) & mask;
      if (((p - home) & mask) < ((p - hole) & mask)) continue;
      segment[hole] = segment[p]!;
      hole = p;
    }
    segment[hole] = 0;
  }
}

function place(segment: Int32Array, hash: number, slot: number): void {
  const mask = segment.length - 1;
  let position = hash & mask;
  while (segment[position] !== 0) position = (position + 1) & mask;
  segment[position] = slot + 1;
}

function locate(segment: Int32Array, hash: number, slot: number): number {
  const mask = segment.length - 1;
  let position = hash & mask;
  while (segment[position] !== slot + 1) {
    invariant(segment[position] !== 0, 'slot is not in the index');
    position = (position + 1) & mask;
  }
  return position;
}

/** Spreads two 32-bit numbers over 32 bits (finalizer of MurmurHash3). */
export function mix(a: number, b: number): number {
  let h = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0xcc9e2d51);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
