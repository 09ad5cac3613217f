/**
 * Takes each command of this node to whoever leads: into the own packer, or over the raft port. Until a
 * command is applied here it may be sent again under the same session and sequence (leader change,
 * broken stream, silence); the machine lets it have its effect once.
 */
import type { NodeId } from '../../../common/ids.js';
import type { Call } from '../call.js';

const RESEND_MS = 1_000;

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

export class CommandRoutes {
  /** When each open call was last sent, by call; forgotten with it. */
  private readonly sentAt = new WeakMap<Call, number>();

  constructor(private readonly port: CommandRoutesPort) {}

  /** True when the call went out at least once: its outcome may be unknown. */
  wasSent(call: Call): boolean {
    return this.sentAt.has(call);
  }

  route(call: Call): void {
    const leader = this.port.leader();
    if (leader === 0 || call.settled) return;
    if (leader === this.port.self) {
      if (this.port.enqueue(call)) this.sentAt.set(call, this.port.nowMs());
      return;
    }
    this.port.stampCall(call);
    if (this.port.forward(leader, call.bytes)) this.sentAt.set(call, this.port.nowMs());
  }

  /** A new leader, or the way to it is new: everything open goes there. */
  rerouteAll(): void {
    this.port.eachOpen((call) => this.route(call));
  }

  /** Called a few times a second: what is silent for long goes out again. */
  tick(): void {
    const before = this.port.nowMs() - RESEND_MS;
    this.port.eachOpen((call) => {
      if ((this.sentAt.get(call) ?? -Infinity) < before) this.route(call);
    });
  }
}
