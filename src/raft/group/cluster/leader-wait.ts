/**
 * Requests that come while no leader is known are held (QUEEN_RAFT_HOLD_MS), since an election takes a
 * second or two: whoever finds a leader in time goes on as if nothing had been, the others are told
 * `no_leader`. Deadlines of the requests count as well.
 */
import { QueenError } from '../../../common/errors.js';

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

  /** Called a few times a second. */
  tick(): void {
    if (this.held.length === 0) return;
    const now = this.port.nowMs();
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
