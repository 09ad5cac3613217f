/**
 * Reads waiting for proof of leadership. The leader numbers rounds monotonically for as long as it
 * lives; a heartbeat answer confirms every round up to its number and nothing newer. So a late answer
 * of an earlier round, or a context used twice, can never confirm a read that came after it.
 */
import type { LogIndex, NodeId } from '../../common/ids.js';
import { jointIndex, type VoterHalves } from './quorum.js';
import type { ReadContext } from './types.js';

export interface PendingRead {
  /** Who asked; the leader itself or a follower that forwarded the request. */
  readonly from: NodeId;
  readonly context: ReadContext;
  /** Commit index when the request arrived. */
  readonly index: LogIndex;
}

export interface PostponedRead {
  readonly from: NodeId;
  readonly context: ReadContext;
}

interface NumberedRead extends PendingRead {
  readonly round: number;
}

export class ReadQueue {
  private lastRound = 0;
  private waiting: NumberedRead[] = [];
  private acked = new Map<NodeId, number>();
  private postponed: PostponedRead[] = [];

  constructor(private readonly bound: number) {}

  /** Round to put on heartbeats: the newest one somebody waits for, 0 when nobody does. */
  get openRound(): number {
    return this.waiting.length > 0 ? this.lastRound : 0;
  }

  get size(): number {
    return this.waiting.length + this.postponed.length;
  }

  isFull(): boolean {
    return this.size >= this.bound;
  }

  /** Queues a read in a round of its own, which starts now. */
  add(read: PendingRead): void {
    this.lastRound += 1;
    this.waiting.push({ ...read, round: this.lastRound });
  }

  /** Reads that came before the leader knew what is committed. */
  postpone(read: PostponedRead): void {
    this.postponed.push(read);
  }

  takePostponed(): PostponedRead[] {
    const reads = this.postponed;
    this.postponed = [];
    return reads;
  }

  /** `peer` still followed this leader in `round`. Returns the reads a quorum has confirmed. */
  acknowledge(
    peer: NodeId,
    round: number,
    quorum: { halves: VoterHalves; self: NodeId },
  ): PendingRead[] {
    // A round of the future is no answer of ours.
    if (round <= 0 || round > this.lastRound) return [];
    this.acked.set(peer, Math.max(round, this.acked.get(peer) ?? 0));
    const confirmed = jointIndex(quorum.halves, (id) =>
      id === quorum.self ? this.lastRound : this.acked.get(id),
    );
    let count = 0;
    while (count < this.waiting.length && (this.waiting[count]?.round ?? 0) <= confirmed)
      count += 1;
    return this.waiting.splice(0, count);
  }

  /** New role or term: nobody here can confirm anything any more. Round numbers go on. */
  reset(): void {
    this.waiting = [];
    this.postponed = [];
    this.acked.clear();
  }
}
