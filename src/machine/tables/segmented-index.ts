/**
 * Open-addressing index from a 32-bit hash to slots for tables of many millions; keys stay with the
 * caller, who compares the candidates. It keeps 16 bits of each hash, half of common/open-addressing,
 * and 4096 segments by the hash's top bits grow each on its own: the longest pause is the rehash of one
 * segment (4 K entries at 16 M, without touching a record), and growth never holds the index twice.
 *
 *   hash ─ top 12 bits ─► segment:  cells i32 = slot + 1, 0 = empty   linear probing from the tag's
 *        └ low 16 bits ─► tag       tags  u16                         home, removal shifts back
 *
 * A walk (`first`, `next`) lives in the index: finish one before starting another.
 */
import { invariant } from '../../common/invariant.js';

const SEGMENT_SHIFT = 20;
const SEGMENTS = 1 << (32 - SEGMENT_SHIFT);
const TAG_MASK = 0xffff;
const TAGS = TAG_MASK + 1;
const INITIAL_POSITIONS = 8;

class Segment {
  readonly cells: Int32Array;
  readonly tags: Uint16Array;
  readonly mask: number;
  count = 0;

  constructor(positions: number) {
    this.cells = new Int32Array(positions);
    this.tags = new Uint16Array(positions);
    this.mask = positions - 1;
  }

  /** Beyond 65,536 positions (crowded hashes only) the tags are spread over the segment. */
  home(tag: number): number {
    return this.mask <= TAG_MASK ? tag & this.mask : tag * ((this.mask + 1) / TAGS);
  }

  place(tag: number, cell: number): void {
    const { cells, mask } = this;
    let position = this.home(tag);
    while (cells[position] !== 0) position = (position + 1) & mask;
    cells[position] = cell;
    this.tags[position] = tag;
    this.count += 1;
  }

  locate(tag: number, slot: number): number {
    const { cells, mask } = this;
    let position = this.home(tag);
    while (cells[position] !== slot + 1) {
      invariant(cells[position] !== 0, 'slot is not in the index');
      position = (position + 1) & mask;
    }
    return position;
  }

  /** Closes the hole: an entry moves into it unless its home lies between the hole and itself. */
  shiftBack(removed: number): void {
    const { cells, tags, mask } = this;
    let hole = removed;
    for (let p = (hole + 1) & mask; cells[p] !== 0; p = (p + 1) & mask) {
      const home = this.home(tags[p]!);
      if (((p - home) & mask) < ((p - hole) & mask)) continue;
      cells[hole] = cells[p]!;
      tags[hole] = tags[p]!;
      hole = p;
    }
    cells[hole] = 0;
    this.count -= 1;
  }

  resized(positions: number): Segment {
    const grown = new Segment(positions);
    const { cells, tags } = this;
    for (let p = 0; p < cells.length; p++) if (cells[p] !== 0) grown.place(tags[p]!, cells[p]!);
    return grown;
  }
}

export class SegmentedIndex {
  private readonly segments: (Segment | null)[] = new Array<Segment | null>(SEGMENTS).fill(null);
  private walked = new Segment(1);
  private tag = 0;
  private position = 0;

  get sizeBytes(): number {
    let bytes = 0;
    for (const segment of this.segments) bytes += segment === null ? 0 : segment.cells.length * 6;
    return bytes;
  }

  /** First candidate slot for the hash, -1 when none. A candidate may still have another hash. */
  first(hash: number): number {
    const segment = this.segments[hash >>> SEGMENT_SHIFT]!;
    if (segment === null) return -1;
    this.walked = segment;
    this.tag = hash & TAG_MASK;
    this.position = segment.home(this.tag);
    return this.candidate();
  }

  /** Next candidate of the walk, -1 at its end. */
  next(): number {
    this.position = (this.position + 1) & this.walked.mask;
    return this.candidate();
  }

  /** Adds a slot that is not in the index. */
  add(hash: number, slot: number): void {
    const at = hash >>> SEGMENT_SHIFT;
    let segment = this.segments[at]!;
    if (segment === null) {
      segment = new Segment(INITIAL_POSITIONS);
      this.segments[at] = segment;
    } else if ((segment.count + 1) * 4 > segment.cells.length * 3) {
      segment = segment.resized(segment.cells.length * 2);
      this.segments[at] = segment;
    }
    segment.place(hash & TAG_MASK, slot + 1);
  }

  remove(hash: number, slot: number): void {
    const at = hash >>> SEGMENT_SHIFT;
    const segment = this.segments[at]!;
    invariant(segment !== null, 'slot is not in the index');
    segment.shiftBack(segment.locate(hash & TAG_MASK, slot));
    const positions = segment.cells.length;
    if (segment.count === 0) this.segments[at] = null;
    else if (positions > INITIAL_POSITIONS && segment.count * 8 < positions) {
      this.segments[at] = segment.resized(positions / 2);
    }
  }

  /** Puts another slot of the same hash in the place of one. */
  replace(hash: number, slot: number, by: number): void {
    const segment = this.segments[hash >>> SEGMENT_SHIFT]!;
    invariant(segment !== null, 'slot is not in the index');
    segment.cells[segment.locate(hash & TAG_MASK, slot)] = by + 1;
  }

  private candidate(): number {
    const { cells, tags, mask } = this.walked;
    const { tag } = this;
    let position = this.position;
    while (cells[position] !== 0) {
      if (tags[position] === tag) {
        this.position = position;
        return cells[position]! - 1;
      }
      position = (position + 1) & mask;
    }
    return -1;
  }
}

/** Spreads two 32-bit numbers over 32 bits (finalizer of MurmurHash3). */
export function mix(a: number, b: number): number {
  let h = Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0xcc9e2d51);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
