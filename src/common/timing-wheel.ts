/**
 * Hierarchical timing wheel (Varghese and Lauck, 1987) driven by the caller's clock: one timer of the
 * event loop serves any number of deadlines. Scheduling and cancelling are O(1) and allocate nothing:
 * the entries carry the links. Nothing is due early; entries of one tick come in the order they were
 * scheduled.
 *
 *   level 0: the 256 ticks of the current round        a round over, the next bucket of level 1 is
 *   level 1: the 255 rounds after it, 256 ticks each    spread over level 0, and so on upwards
 *   level 2 … 5: the same for 2^16, 2^24, 2^32, 2^40 ticks
 */

import { invariant } from './invariant.js';

/** What an entry carries. All four are the wheel's business; start with wheelBucket −1. */
export interface WheelEntry<E> {
  wheelBucket: number;
  wheelTick: number;
  wheelNext: E | undefined;
  wheelPrevious: E | undefined;
}

const LEVELS = 6;
const LEVEL_SHIFT = 8;
const LEVEL_BUCKETS = 1 << LEVEL_SHIFT;
const NOT_SCHEDULED = -1;
const MAX_TICK = 2 ** (LEVELS * LEVEL_SHIFT) - 1;

export class TimingWheel<E extends WheelEntry<E>> {
  private readonly heads = new Array<E | undefined>(LEVELS * LEVEL_BUCKETS).fill(undefined);
  private readonly tails = new Array<E | undefined>(LEVELS * LEVEL_BUCKETS).fill(undefined);
  private readonly counts = new Array<number>(LEVELS).fill(0);
  private count = 0;
  /** Everything up to and including this tick is over. */
  private tick: number;

  constructor(
    private readonly tickMs: number,
    nowMs: number,
  ) {
    this.tick = Math.floor(nowMs / tickMs);
  }

  /** Entries scheduled. */
  get size(): number {
    return this.count;
  }

  isScheduled(entry: E): boolean {
    return entry.wheelBucket !== NOT_SCHEDULED;
  }

  /** Schedules, or moves, an entry. A time that has passed is due at the next tick. */
  schedule(entry: E, dueMs: number): void {
    if (this.isScheduled(entry)) this.cancel(entry);
    entry.wheelTick = Math.min(MAX_TICK, Math.max(this.tick + 1, Math.ceil(dueMs / this.tickMs)));
    this.place(entry);
    this.count += 1;
  }

  /** False when the entry is not scheduled (due already, or cancelled). */
  cancel(entry: E): boolean {
    if (!this.isScheduled(entry)) return false;
    this.unlink(entry);
    this.count -= 1;
    return true;
  }

  /** Hands every entry due by `nowMs` to `onDue`, oldest tick first. `onDue` may schedule and cancel. */
  advance(nowMs: number, onDue: (entry: E) => void): void {
    const target = Math.floor(nowMs / this.tickMs);
    while (this.tick < target) {
      if (this.count === 0) {
        this.tick = target;
        return;
      }
      this.tick = Math.min(target, this.nextTick());
      if (this.tick % LEVEL_BUCKETS === 0) this.spread();
      const bucket = this.tick % LEVEL_BUCKETS;
      for (let entry = this.heads[bucket]; entry !== undefined; entry = this.heads[bucket]) {
        this.unlink(entry);
        this.count -= 1;
        onDue(entry);
      }
    }
  }

  /**
   * When to call `advance` next: never after the first entry is due, possibly before (then nothing is
   * due yet). Infinity when the wheel is empty.
   */
  nextWakeMs(): number {
    if (this.count === 0) return Infinity;
    if (this.counts[0] === 0) return this.nextTick() * this.tickMs;
    let tick = this.tick + 1;
    while (tick % LEVEL_BUCKETS !== 0 && this.heads[tick % LEVEL_BUCKETS] === undefined) tick += 1;
    return tick * this.tickMs;
  }

  /** The next tick worth a look: with level 0 empty, the next time a bucket above is spread. */
  private nextTick(): number {
    if (this.counts[0] !== 0) return this.tick + 1;
    return this.tick - (this.tick % LEVEL_BUCKETS) + LEVEL_BUCKETS;
  }

  /** Spreads the bucket that starts at the current tick, from the highest level that turned. */
  private spread(): void {
    let level = 1;
    let span = LEVEL_BUCKETS;
    while (level < LEVELS - 1 && this.tick % (span * LEVEL_BUCKETS) === 0) {
      level += 1;
      span *= LEVEL_BUCKETS;
    }
    for (; level >= 1; level--, span /= LEVEL_BUCKETS) {
      const bucket = level * LEVEL_BUCKETS + (Math.floor(this.tick / span) % LEVEL_BUCKETS);
      let entry = this.heads[bucket];
      while (entry !== undefined) {
        const next: E | undefined = entry.wheelNext;
        this.unlink(entry);
        this.place(entry);
        entry = next;
      }
    }
  }

  /** The lowest level whose current round holds the entry's tick. */
  private place(entry: E): void {
    let level = 0;
    let span = 1;
    let round = LEVEL_BUCKETS;
    while (Math.floor(entry.wheelTick / round) !== Math.floor(this.tick / round)) {
      level += 1;
      span = round;
      round *= LEVEL_BUCKETS;
    }
    this.link(entry, level * LEVEL_BUCKETS + (Math.floor(entry.wheelTick / span) % LEVEL_BUCKETS));
  }

  private link(entry: E, bucket: number): void {
    invariant(entry.wheelBucket === NOT_SCHEDULED, 'entry is scheduled already');
    const tail = this.tails[bucket];
    entry.wheelBucket = bucket;
    entry.wheelPrevious = tail;
    entry.wheelNext = undefined;
    if (tail === undefined) this.heads[bucket] = entry;
    else tail.wheelNext = entry;
    this.tails[bucket] = entry;
    this.counts[bucket >>> LEVEL_SHIFT] = this.counts[bucket >>> LEVEL_SHIFT]! + 1;
  }

  private unlink(entry: E): void {
    const bucket = entry.wheelBucket;
    const { wheelNext: next, wheelPrevious: previous } = entry;
    if (previous === undefined) this.heads[bucket] = next;
    else previous.wheelNext = next;
    if (next === undefined) this.tails[bucket] = previous;
    else next.wheelPrevious = previous;
    entry.wheelBucket = NOT_SCHEDULED;
    entry.wheelNext = undefined;
    entry.wheelPrevious = undefined;
    this.counts[bucket >>> LEVEL_SHIFT] = this.counts[bucket >>> LEVEL_SHIFT]! - 1;
  }
}
