/**
 * What this member is right now: who leads as far as it knows, in which term, and whether it serves as
 * leader. It serves ("established") only once it has applied an entry of its own term: before that it
 * may not know the newest committed state.
 */
import type { NodeId, Term } from '../../../common/ids.js';
import { nodeId as asNodeId } from '../../../common/ids.js';
import type { CoreStatus, SoftState } from '../../core/index.js';
import type { GroupStatus } from '../group.js';

const NOBODY = 0;

/** What a change of the core's soft state means for the group. */
export interface RoleChange {
  readonly steppedDown: boolean;
  /** The way to the leader is another one. */
  readonly reroute: boolean;
}

export class MemberRole {
  private soft: SoftState = { role: 'follower', leader: asNodeId(NOBODY) };
  private isEstablished = false;

  constructor(
    private readonly self: NodeId,
    public term: Term,
  ) {}

  get leader(): NodeId {
    return this.soft.leader;
  }

  get hasLeader(): boolean {
    return this.soft.leader !== NOBODY;
  }

  /** Holds the leader role in the core; it may not serve yet. */
  get leads(): boolean {
    return this.soft.role === 'leader';
  }

  get established(): boolean {
    return this.isEstablished;
  }

  /** Leader that can take work now; this node only once it serves; 0 when there is none. */
  get target(): NodeId | 0 {
    const { leader } = this.soft;
    if (leader === this.self && !this.isEstablished) return NOBODY;
    return leader;
  }

  changed(soft: SoftState, term: Term): RoleChange {
    const before = this.soft;
    const termMoved = term !== this.term;
    this.soft = soft;
    this.term = term;
    // A new term ends an own leadership even when the next one begins at once.
    const steppedDown = before.role === 'leader' && (soft.role !== 'leader' || termMoved);
    if (steppedDown) this.isEstablished = false;
    return { steppedDown, reroute: before.leader !== soft.leader || termMoved };
  }

  termMoved(term: Term): RoleChange {
    return this.changed(this.soft, term);
  }

  /** True when an applied entry of `entryTerm` makes this node serve. */
  establish(entryTerm: Term): boolean {
    if (!this.leads || this.isEstablished || entryTerm !== this.term) return false;
    this.isEstablished = true;
    return true;
  }

  resign(): void {
    this.isEstablished = false;
  }

  shown(status: CoreStatus): GroupStatus['role'] {
    if (this.leads) return this.isEstablished ? 'leader' : 'candidate';
    if (this.soft.role !== 'follower') return 'candidate';
    const { voters, outgoing } = status.config;
    // A node that waits to be added, or was removed, receives entries at most.
    return voters.includes(this.self) || outgoing.includes(this.self) ? 'follower' : 'learner';
  }
}
