/**
 * One consumer group on one ring: what it has passed, what is leased, what comes back. Everything below
 * `low` is passed. From `low` on each sequence has a state; sequences from `next` on are unread unless
 * they were marked when a moved ring was taken over.
 *
 *        low            next
 *         │ L │ D │ B │ · │ D │ · │ ·        L leased   D done   B comes back   · unread
 *
 * States, attempts and expiries are columns over that window; a group with nothing outstanding has none.
 */
import type { WheelEntry } from '../../common/timing-wheel.js';
import { CURSOR_COST, type MemoryAccount } from './memory-account.js';
import type { Ring } from './ring.js';

export const UNREAD = 0;
export const LEASED = 1;
export const BACK = 2;
export const DONE = 3;

const FIRST_WINDOW = 8;
/** A window with nothing in it is kept up to this capacity. */
const KEPT_WINDOW = 512;
const WINDOW_BYTES = 11;
const MAX_ATTEMPTS = 0xffff;
/** Expired leases of a cursor are looked for at most this often. */
const EXPIRY_QUANTUM_MS = 4;

export type AckVerdict = 'acked' | 'redelivered' | 'unknown';

/** What one pop took from the cursors, as columns; reused from pop to pop. */
export class Taken {
  count = 0;
  sequences = new Float64Array(64);
  attempts = new Uint16Array(64);

  clear(): void {
    this.count = 0;
  }

  add(sequence: number, attempts: number): void {
    if (this.count === this.sequences.length) this.grow();
    this.sequences[this.count] = sequence;
    this.attempts[this.count] = attempts;
    this.count += 1;
  }

  private grow(): void {
    const sequences = new Float64Array(this.count * 2);
    const attempts = new Uint16Array(this.count * 2);
    sequences.set(this.sequences);
    attempts.set(this.attempts);
    this.sequences = sequences;
    this.attempts = attempts;
  }
}

export interface TakeLimits {
  readonly nowMs: number;
  /** Lease, ms; 0 = commit on delivery. */
  readonly leaseMs: number;
  /** Messages of this age and older are passed over; 0 = none are. */
  readonly ttlMs: number;
  /** Room left in the answer. */
  messages: number;
  bytes: number;
  /** Delivered so far: the first message fits whatever its size. */
  delivered: number;
}

export class GroupCursor implements WheelEntry<GroupCursor> {
  low: number;
  next: number;
  skipped = 0;
  leased = 0;
  /** Waiting to be delivered again. */
  comingBack = 0;
  /** Since when something can be delivered; 0 while nothing can. */
  availableSinceMs = 0;
  /** No lease ends before this time. */
  earliestExpiryMs = Infinity;
  /** When the clock of leases looks next; whoever owns that clock keeps it. */
  watchedMs = Infinity;

  wheelBucket = -1;
  wheelTick = 0;
  wheelNext: GroupCursor | undefined;
  wheelPrevious: GroupCursor | undefined;

  /** Marked sequences at or above `next`. */
  private ahead = 0;
  /** End of the part of the window in use. */
  private high: number;
  /** No sequence below it comes back. */
  private backHint = 0;
  private capacity = 0;
  private states: Uint8Array = new Uint8Array(0);
  private attempts: Uint16Array = new Uint16Array(0);
  private expiries: Float64Array = new Float64Array(0);

  constructor(
    readonly group: string,
    readonly ring: Ring,
    private readonly account: MemoryAccount,
  ) {
    this.low = ring.first;
    this.next = ring.first;
    this.high = ring.first;
    account.addStructure(CURSOR_COST);
  }

  /** Messages a pop of this group could get now. */
  get available(): number {
    return this.comingBack + this.ring.next - this.next - this.ahead;
  }

  /** Messages of the ring that the group has not passed. */
  get pending(): number {
    let passed = 0;
    for (let sequence = this.low; sequence < this.high; sequence += 1) {
      if (this.stateOf(sequence) === DONE) passed += 1;
    }
    return this.ring.next - this.low - passed;
  }

  stateOf(sequence: number): number {
    if (sequence < this.low) return DONE;
    if (sequence >= this.high) return UNREAD;
    return this.states[sequence & (this.capacity - 1)] ?? UNREAD;
  }

  attemptsOf(sequence: number): number {
    if (sequence < this.low || sequence >= this.high) return 0;
    return this.attempts[sequence & (this.capacity - 1)] ?? 0;
  }

  /** Delivers what comes back first, then what is unread, both in sequence order. */
  take(limits: TakeLimits, taken: Taken): void {
    while (this.comingBack > 0 && limits.messages > 0) {
      this.deliver(this.nextBack(), limits, taken);
    }
    while (this.next < this.ring.next && limits.messages > 0) {
      this.deliver(this.next, limits, taken);
    }
  }

  /** Settles a leased message, or puts it back; gives up after `retryLimit` deliveries. */
  settle(sequence: number, completed: boolean, retryLimit: number): AckVerdict | 'given-up' {
    if (this.stateOf(sequence) !== LEASED) return 'unknown';
    if (completed) {
      this.finish(sequence);
      this.advance();
      return 'acked';
    }
    return this.failed(sequence, retryLimit) ? 'redelivered' : 'given-up';
  }

  /** The answer never arrived: the message comes back as if it had not been delivered. */
  undeliver(sequence: number, attempts: number): void {
    if (this.stateOf(sequence) !== LEASED || this.attemptsOf(sequence) !== attempts) return;
    this.attempts[sequence & (this.capacity - 1)] = attempts - 1;
    this.putBack(sequence);
  }

  /** Ends leases that are over; answers how many messages were given up. */
  expire(nowMs: number, retryLimit: number): number {
    if (nowMs < this.earliestExpiryMs) return 0;
    let givenUp = 0;
    let earliest = Infinity;
    for (let sequence = this.low; sequence < this.high && this.leased > 0; sequence += 1) {
      const slot = sequence & (this.capacity - 1);
      if (this.states[slot] !== LEASED) continue;
      const expiry = this.expiries[slot] ?? 0;
      if (expiry > nowMs) earliest = Math.min(earliest, expiry);
      else if (!this.failed(sequence, retryLimit)) givenUp += 1;
    }
    const quantum = Math.max(EXPIRY_QUANTUM_MS, this.capacity / 1000);
    this.earliestExpiryMs = Math.max(earliest, nowMs + quantum);
    if (this.leased === 0) this.earliestExpiryMs = Infinity;
    return givenUp;
  }

  /** The ring drops everything before `sequence`. Leased messages were delivered: not skipped. */
  lose(sequence: number, countsAsSkipped: boolean): void {
    let skipped = 0;
    while (this.low < sequence) {
      const state = this.low < this.high ? this.stateOf(this.low) : UNREAD;
      if (state === UNREAD || state === BACK) skipped += 1;
      if (state === LEASED) this.leased -= 1;
      if (state === BACK) this.comingBack -= 1;
      if (state !== UNREAD && this.low >= this.next) this.ahead -= 1;
      this.clearSlot(this.low);
      this.low += 1;
    }
    this.next = Math.max(this.next, this.low);
    this.high = Math.max(this.high, this.low);
    if (countsAsSkipped) this.skipped += skipped;
    this.advance();
  }

  /** Everything is passed: leases are void. */
  passAll(): void {
    this.lose(this.ring.next, false);
  }

  /** A moved ring brought the group's own record of a message just appended. */
  mark(sequence: number, state: typeof BACK | typeof DONE, attempts: number): void {
    this.cover(sequence);
    const slot = sequence & (this.capacity - 1);
    this.states[slot] = state;
    this.attempts[slot] = attempts;
    this.ahead += 1;
    if (state === BACK) {
      this.comingBack += 1;
      this.backHint = Math.min(this.backHint, sequence);
    }
    this.advance();
  }

  release(): void {
    this.account.addStructure(-CURSOR_COST);
    this.setCapacity(0);
  }

  /** Smallest sequence that comes back. */
  private nextBack(): number {
    let sequence = Math.max(this.backHint, this.low);
    while (this.stateOf(sequence) !== BACK) sequence += 1;
    this.backHint = sequence;
    return sequence;
  }

  /** Without room for it in the answer, nothing more is taken. */
  private deliver(sequence: number, limits: TakeLimits, taken: Taken): void {
    const { ring } = this;
    if (limits.ttlMs > 0 && ring.timeOf(sequence) + limits.ttlMs <= limits.nowMs) {
      // Older than the ttl behind newer ones (a moved ring): the head's drop did not reach it.
      this.finish(sequence);
      this.advance();
      return;
    }
    const size = ring.lengthOf(sequence);
    if (size > limits.bytes && limits.delivered > 0) {
      limits.messages = 0;
      return;
    }
    limits.bytes -= size;
    limits.messages -= 1;
    limits.delivered += 1;
    if (limits.leaseMs === 0) {
      taken.add(sequence, Math.min(MAX_ATTEMPTS, this.attemptsOf(sequence) + 1));
      this.finish(sequence);
    } else {
      taken.add(sequence, this.lease(sequence, limits.nowMs + limits.leaseMs));
    }
    this.advance();
  }

  private lease(sequence: number, expiresAtMs: number): number {
    this.cover(sequence);
    const slot = sequence & (this.capacity - 1);
    const attempts = Math.min(MAX_ATTEMPTS, (this.attempts[slot] ?? 0) + 1);
    if (this.states[slot] === BACK) this.comingBack -= 1;
    if (sequence >= this.next && this.states[slot] === UNREAD) this.ahead += 1;
    this.states[slot] = LEASED;
    this.attempts[slot] = attempts;
    this.expiries[slot] = expiresAtMs;
    this.leased += 1;
    this.earliestExpiryMs = Math.min(this.earliestExpiryMs, expiresAtMs);
    return attempts;
  }

  private finish(sequence: number): void {
    if (sequence === this.low && sequence === this.next && sequence >= this.high) {
      // The common case of commit on delivery: nothing is outstanding.
      this.low += 1;
      this.next += 1;
      this.high = this.low;
      return;
    }
    this.cover(sequence);
    const slot = sequence & (this.capacity - 1);
    const state = this.states[slot];
    if (state === LEASED) this.leased -= 1;
    if (state === BACK) this.comingBack -= 1;
    if (sequence >= this.next && state === UNREAD) this.ahead += 1;
    this.states[slot] = DONE;
  }

  /** True when it comes back, false when it was given up. */
  private failed(sequence: number, retryLimit: number): boolean {
    if (this.attemptsOf(sequence) >= retryLimit) {
      this.finish(sequence);
      this.advance();
      return false;
    }
    this.putBack(sequence);
    return true;
  }

  private putBack(sequence: number): void {
    this.states[sequence & (this.capacity - 1)] = BACK;
    this.leased -= 1;
    this.comingBack += 1;
    this.backHint = Math.min(this.backHint, sequence);
  }

  /** Moves `next` over marked sequences, then `low` over what is done. */
  private advance(): void {
    while (this.ahead > 0 && this.next < this.high && this.stateOf(this.next) !== UNREAD) {
      this.next += 1;
      this.ahead -= 1;
    }
    while (this.low < this.next && this.stateOf(this.low) === DONE) {
      this.clearSlot(this.low);
      this.low += 1;
    }
    if (this.high < this.low) this.high = this.low;
    if (this.low === this.high) {
      this.backHint = this.low;
      if (this.capacity > KEPT_WINDOW) this.setCapacity(0);
    }
  }

  /** Makes the window reach over `sequence`. */
  private cover(sequence: number): void {
    const needed = sequence + 1 - this.low;
    if (needed > this.capacity) this.setCapacity(needed);
    if (sequence >= this.high) this.high = sequence + 1;
  }

  private clearSlot(sequence: number): void {
    if (this.capacity === 0) return;
    const slot = sequence & (this.capacity - 1);
    this.states[slot] = UNREAD;
    this.attempts[slot] = 0;
  }

  private setCapacity(least: number): void {
    let capacity = least === 0 ? 0 : FIRST_WINDOW;
    while (capacity < least) capacity *= 2;
    const states = new Uint8Array(capacity);
    const attempts = new Uint16Array(capacity);
    const expiries = new Float64Array(capacity);
    for (let sequence = this.low; capacity > 0 && sequence < this.high; sequence += 1) {
      const from = sequence & (this.capacity - 1);
      const to = sequence & (capacity - 1);
      states[to] = this.states[from] ?? UNREAD;
      attempts[to] = this.attempts[from] ?? 0;
      expiries[to] = this.expiries[from] ?? 0;
    }
    this.account.addStructure((capacity - this.capacity) * WINDOW_BYTES);
    this.capacity = capacity;
    this.states = states;
    this.attempts = attempts;
    this.expiries = expiries;
  }
}
