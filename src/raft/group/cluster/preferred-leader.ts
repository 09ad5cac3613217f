/**
 * Hands a group back to the member that is to lead it (cluster.md §1.12), so that the groups of a
 * process spread over the nodes. Only a serving leader acts, and only when the preferred voter answers,
 * has all but the newest entries and did not itself hand leadership away a moment ago. Losing an
 * attempt is harmless: the core ends it after one election timeout and this node leads on.
 */
import type { NodeId } from '../../../common/ids.js';
import type { CoreStatus } from '../../core/index.js';
import type { GroupLog } from '../ports.js';
import type { LeaveRecord } from './leave-record.js';
import type { MemberRole } from './member-role.js';
import type { RaftLoop } from './raft-loop.js';

const ATTEMPT_EVERY_MS = 10_000;
/** An attempt is asked for again meanwhile: the member may have to apply a change of members first. */
const ATTEMPT_MS = 500;
const FRESH_MS = 1_000;
const MAX_LAG_ENTRIES = 64;

export interface PreferredLeaderPort {
  readonly self: NodeId;
  readonly preferred: NodeId;
  readonly role: Pick<MemberRole, 'established'>;
  readonly leavers: Pick<LeaveRecord, 'isRecent'>;
  readonly log: GroupLog;
  readonly nowMs: () => number;
  readonly tickMs: number;
  loop(): Pick<RaftLoop, 'status' | 'transferLeadership'>;
}

export class PreferredLeader {
  private nextAttemptMs = 0;
  private attemptUntilMs = 0;

  constructor(private readonly port: PreferredLeaderPort) {}

  /** Called a few times a second. */
  tick(): void {
    const { self, preferred, role, leavers, nowMs, log } = this.port;
    if (preferred === self || !role.established) return;
    const now = nowMs();
    const isRunning = now < this.attemptUntilMs;
    if (!isRunning && now < this.nextAttemptMs) return;
    if (leavers.isRecent(preferred)) return;
    const loop = this.port.loop();
    if (!this.canLead(loop.status())) return;
    if (isRunning) {
      loop.transferLeadership(preferred);
      return;
    }
    this.nextAttemptMs = now + ATTEMPT_EVERY_MS;
    this.attemptUntilMs = now + ATTEMPT_MS;
    log.info("raft: handing leadership to this group's preferred node", { to: preferred });
    loop.transferLeadership(preferred);
  }

  /** Never while the voters change: the transfer would hold that up. */
  private canLead({ config, peers, lastIndex }: CoreStatus): boolean {
    const { preferred, tickMs } = this.port;
    const peer = peers.find(({ id }) => id === preferred);
    if (peer === undefined || !config.voters.includes(preferred)) return false;
    if (config.outgoing.length > 0) return false;
    const silentMs = (peer.ticksSinceContact ?? Infinity) * tickMs;
    return silentMs <= FRESH_MS && lastIndex - peer.match <= MAX_LAG_ENTRIES;
  }
}
