/**
 * What one group was told about one partition, and from that what it may and must be delivered:
 *
 *   settled     highest offset whose ack was answered with success: never delivered again
 *   attempted   highest offset that any ack, answered or not, may have settled: a delivery starts at or
 *               below attempted + 1, so nothing is skipped
 *   lease       of the last answered pop: nobody else gets the partition before it ends or is released
 */
import type { ViolationLog } from './violation-log.js';

export interface Delivery {
  readonly leaseId: string;
  readonly first: number;
  readonly last: number;
  readonly sentAtMs: number;
  readonly answeredAtMs: number;
  readonly leaseMs: number;
}

export interface OffsetSpan {
  readonly from: number;
  readonly to: number;
}

export class GroupCursor {
  settled = -1;
  private attempted = -1;
  private readonly delivered = new Set<number>();
  private held: { readonly leaseId: string; readonly untilMs: number } | null = null;
  redelivered = 0;
  /** The ack that settled a whole batch, as long as nothing happened since: it may be repeated. */
  released: string | null = null;

  constructor(
    private readonly name: string,
    private readonly violations: ViolationLog,
  ) {}

  deliver(delivery: Delivery, mayBeGone: (span: OffsetSpan) => boolean = () => false): void {
    const { first, last, leaseId, sentAtMs, answeredAtMs, leaseMs } = delivery;
    const where = `${this.name} ${first}..${last}`;
    this.released = null;
    if (first <= this.settled) {
      this.violations.add(`${where}: delivered again, settled is ${this.settled}`);
    }
    const next = this.attempted + 1;
    if (first > next && !mayBeGone({ from: next, to: first - 1 })) {
      this.violations.add(`${where}: skipped, attempted is ${this.attempted}`);
    }
    if (this.held !== null && answeredAtMs < this.held.untilMs) {
      this.violations.add(`${where}: lease ${leaseId} beside live lease ${this.held.leaseId}`);
    }
    // The lease began after the request was sent, so it lasts at least until then.
    this.held = { leaseId, untilMs: sentAtMs + leaseMs };
    for (let offset = first; offset <= last; offset += 1) {
      if (this.delivered.has(offset)) this.redelivered += 1;
      this.delivered.add(offset);
    }
  }

  /** An ack is about to be sent; whatever comes of it, it may settle up to `offset`. */
  attempt(offset: number, releases: boolean): void {
    this.attempted = Math.max(this.attempted, offset);
    this.released = null;
    if (releases) this.held = null;
  }

  /** The ack was answered with success. */
  settle(offset: number): void {
    this.settled = Math.max(this.settled, offset);
  }

  /** At the end: the group was not left stuck before what was acknowledged. */
  checkAttempted(acknowledgedEnd: number): void {
    if (this.attempted >= acknowledgedEnd) return;
    this.violations.add(
      `${this.name}: stuck after ${this.attempted}, acknowledged up to ${acknowledgedEnd}`,
    );
  }

  /** At the end: everything acknowledged was delivered to the group. */
  checkDelivered(acknowledgedEnd: number): void {
    for (let offset = 0; offset <= acknowledgedEnd; offset += 1) {
      if (!this.delivered.has(offset))
        this.violations.add(`${this.name}@${offset}: never delivered`);
    }
  }
}
