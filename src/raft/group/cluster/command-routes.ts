/**
 * Takes each command of this node to whoever leads: into the own packer, or over the raft port. Until a
 * command is applied here it may be sent again under the same session and sequence (leader or term
 * changed, broken stream, refusal, long silence); the machine lets it have its effect once. What stands
 * in the own packer or log is not sent again while this node leads the same term: it cannot be lost.
 */
import type { NodeId } from '../../../common/ids.js';
import type { Call } from '../call.js';

/** Streams lose nothing while they stand, so silence alone is a rare reason. */
const RESEND_MS = 2_000;
const REFUSED_RETRY_MS = 200;
/** Commands sent again for silence in one sweep. */
const MAX_RESENT = 2_048;

export interface CommandRoutesPort {
  readonly self: NodeId;
  readonly nowMs: () => number;
  /** Leader to send to now: this node itself only once it serves; 0 when none is known. */
  leader(): NodeId | 0;
  /** Into the own packer; false when this node does not lead after all. */
  enqueue(call: Call): boolean;
  stampCall(call: Call): void;
  forward(to: NodeId, bytes: Uint8Array): boolean;
  /** Calls that wait for their outcome, in sequence order. */
  eachOpen(visit: (call: Call) => void): void;
}

interface Sent {
  readonly atMs: number;
  readonly to: number;
  readonly epoch: number;
}

export class CommandRoutes {
  /** How each open call was last sent; forgotten with it. */
  private readonly sent = new WeakMap<Call, Sent>();
  /** Grows with every change of the way to the leader. */
  private epoch = 0;
  private retryAtMs = Infinity;

  constructor(private readonly port: CommandRoutesPort) {}

  route(call: Call): void {
    const { self, leader: leaderNow, enqueue, forward, nowMs } = this.port;
    const leader = leaderNow();
    if (leader === 0 || call.settled) return;
    if (leader === self) {
      if (!enqueue(call)) return;
    } else {
      this.port.stampCall(call);
      // A full window or a broken stream: the next sweep tries again.
      if (!forward(leader, call.bytes)) return;
    }
    call.sent = true;
    this.sent.set(call, { atMs: nowMs(), to: leader, epoch: this.epoch });
  }

  /** A new leader or term, or the way to it is new: everything open goes there. */
  rerouteAll(): void {
    this.epoch += 1;
    this.retryAtMs = Infinity;
    this.port.eachOpen((call) => this.route(call));
  }

  /** A peer we sent commands to does not lead, or has no room for them. */
  refused(): void {
    this.retryAtMs = Math.min(this.retryAtMs, this.port.nowMs() + REFUSED_RETRY_MS);
  }

  /** Called a few times a second: what found no way, or is silent for long, goes out again. */
  tick(): void {
    const now = this.port.nowMs();
    if (now >= this.retryAtMs) {
      this.rerouteAll();
      return;
    }
    let budget = MAX_RESENT;
    this.port.eachOpen((call) => {
      if (budget === 0 || !this.isDue(call, now)) return;
      budget -= 1;
      this.route(call);
    });
  }

  private isDue(call: Call, now: number): boolean {
    const sent = this.sent.get(call);
    if (sent === undefined || sent.epoch !== this.epoch) return true;
    return sent.to !== this.port.self && sent.atMs + RESEND_MS <= now;
  }
}
