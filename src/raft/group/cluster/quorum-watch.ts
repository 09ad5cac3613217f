/**
 * How long ago a majority was heard, seen by the leader itself or told by it (cluster.md §1.10, §1.13).
 * The leader derives it from the core's contact ages; followers age the last view they received.
 */
import { logIndex, nodeId, type LogIndex, type NodeId } from '../../../common/ids.js';
import type { CoreStatus } from '../../core/index.js';
import type { LeaderView, MemberView } from './peer-port.js';

export class QuorumWatch {
  private view: LeaderView | null = null;
  private receivedAtMs = 0;

  constructor(
    private readonly nowMs: () => number,
    private readonly tickMs: number,
  ) {}

  /** A view of an older term than the one held is ignored. */
  received(view: LeaderView): void {
    if (this.view !== null && view.term < this.view.term) return;
    this.view = view;
    this.receivedAtMs = this.nowMs();
  }

  get leaderCommit(): LogIndex {
    return this.view?.commit ?? logIndex(0);
  }

  get lastView(): LeaderView | null {
    return this.view;
  }

  get viewAgeMs(): number {
    return this.view === null ? Infinity : this.nowMs() - this.receivedAtMs;
  }

  /** ms since a majority was heard; null before anything is known. */
  quorumAckMs(status: CoreStatus): number | null {
    if (status.role === 'leader') return this.ownQuorumAckMs(status);
    return this.view === null ? null : Math.round(this.view.quorumAckMs + this.viewAgeMs);
  }

  buildView(status: CoreStatus): LeaderView {
    return {
      term: status.term,
      leader: status.id,
      commit: status.commit,
      quorumAckMs: this.ownQuorumAckMs(status),
      members: status.peers.map((peer) => this.memberOf(status, peer)),
    };
  }

  /** Age of the contact that completes the majority: voters sorted, the quorum-th freshest. */
  private ownQuorumAckMs(status: CoreStatus): number {
    const ages = [status.config.voters, status.config.outgoing]
      .filter((half) => half.length > 0)
      .map((half) => this.majorityAge(status, half));
    return Math.max(0, ...ages);
  }

  private majorityAge(status: CoreStatus, voters: readonly NodeId[]): number {
    const ages = voters
      .map((id) => status.peers.find((peer) => peer.id === id)?.ticksSinceContact)
      .map((ticks) => (ticks === undefined ? Infinity : ticks * this.tickMs))
      .sort((a, b) => a - b);
    const age = ages[Math.floor(voters.length / 2)] ?? Infinity;
    // Nobody heard since the election: as old as the leadership is, which the core bounds itself.
    return Number.isFinite(age) ? age : status.electionElapsed * this.tickMs;
  }

  private memberOf(status: CoreStatus, peer: CoreStatus['peers'][number]): MemberView {
    const { config } = status;
    return {
      id: nodeId(peer.id),
      voter: config.voters.includes(peer.id) || config.outgoing.includes(peer.id),
      lastAckMs: peer.ticksSinceContact === undefined ? null : peer.ticksSinceContact * this.tickMs,
      matched: peer.match === 0 ? null : logIndex(peer.match),
    };
  }
}
