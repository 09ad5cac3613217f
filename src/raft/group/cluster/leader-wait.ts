/**
 * Requests that come while no leader is known are held (QUEEN_RAFT_HOLD_MS), since an election takes a
 * second or two: whoever finds a leader in time goes on as if nothing had been, the others are told
 * `no_leader`. Deadlines of the requests count as well. A node that leaves waits for a leader only so
 * long: what went into the log without one can no longer commit (cluster.md §1.11).
 */
import { QueenError } from '../../../common/errors.js';

/** An election takes a second or two. */
const LEAVING_HOLD_MS = 3_000;

interface Held {
  readonly untilMs: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export interface LeaderWaitPort {
  readonly holdMs: number;
  readonly nowMs: () => number;
  hasLeader(): boolean;
}

export class LeaderWait {
  private held: Held[] = [];
  private isLeaving = false;
  private leaderlessSinceMs: number | null = null;

  constructor(private readonly port: LeaderWaitPort) {}

  /** Undefined when a leader is known. */
  until(deadlineMs: number): Promise<void> | undefined {
    if (this.port.hasLeader()) return undefined;
    const untilMs = Math.min(deadlineMs, this.port.nowMs() + this.port.holdMs);
    return new Promise((resolve, reject) => {
      this.held.push({ untilMs, resolve, reject });
    });
  }

  /** A leader is known again. */
  release(): void {
    const { held } = this;
    this.held = [];
    for (const { resolve } of held) resolve();
  }

  /** The node stops as soon as everybody in flight has an answer. */
  leaving(): void {
    this.isLeaving = true;
  }

  /** Leaving, and no leader for longer than an election takes: nobody in flight gets another answer. */
  get isHopeless(): boolean {
    const { leaderlessSinceMs } = this;
    if (!this.isLeaving || leaderlessSinceMs === null) return false;
    return this.port.nowMs() - leaderlessSinceMs >= LEAVING_HOLD_MS;
  }

  /** Called a few times a second. */
  tick(): void {
    const now = this.port.nowMs();
    const isAlone = this.isLeaving && !this.port.hasLeader();
    this.leaderlessSinceMs = isAlone ? (this.leaderlessSinceMs ?? now) : null;
    if (this.held.length === 0) return;
    const late = this.held.filter(({ untilMs }) => untilMs <= now);
    if (late.length === 0) return;
    this.held = this.held.filter(({ untilMs }) => untilMs > now);
    for (const { reject } of late) reject(new QueenError('no_leader'));
  }

  failAll(): void {
    const { held } = this;
    this.held = [];
    for (const { reject } of held) reject(new QueenError('retry'));
  }
}
