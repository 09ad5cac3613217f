/**
 * How long ago a majority was heard, seen by the leader itself or told by it (cluster.md §1.10, §1.13).
 * The leader derives it from the core's contact ages; followers age the last view they received. Ticks
 * do not pass while the process is stopped, so a stall counts on top until fresh contacts replaced what
 * was heard before it.
 */
import { logIndex, nodeId, type LogIndex, type NodeId } from '../../../common/ids.js';
import type { CoreStatus, PeerStatus } from '../../core/index.js';
import type { LeaderView, MemberView } from './peer-port.js';

/** How long after a stall contacts are not trusted to be new: they may have lain in a socket. */
const DISTRUST_MS = 400;

export class QuorumWatch {
  private view: LeaderView | null = null;
  private receivedAtMs = 0;
  private lastTickMs: number;
  private stallMs = 0;
  private distrustUntilMs = 0;
  /** Term this node leads as far as it noticed, and since when. */
  private led = { term: 0, sinceMs: 0 };

  constructor(
    private readonly nowMs: () => number,
    private readonly tickMs: number,
  ) {
    this.lastTickMs = nowMs();
  }

  /** With each tick of the core; returns by how much it came late, ms. */
  ticked(): number {
    const lateMs = this.lateMs();
    this.lastTickMs = this.nowMs();
    if (lateMs > DISTRUST_MS) {
      this.stallMs = lateMs;
      this.distrustUntilMs = this.lastTickMs + DISTRUST_MS;
    }
    return lateMs;
  }

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

  /**
   * On the leader: ms of ticks since a majority was heard. A stall of this process is no silence of the
   * others: what they sent meanwhile is heard a moment later.
   */
  unheardMs(status: CoreStatus): number {
    const { voters, outgoing } = status.config;
    const halves = [voters, outgoing].filter((half) => half.length > 0);
    return Math.max(0, ...halves.map((half) => this.majorityAge(status, half)));
  }

  /** On the leader: ms since the member was heard. */
  memberAckMs(peer: PeerStatus | undefined): number {
    const ticks = peer?.ticksSinceContact;
    return ticks === undefined ? Infinity : Math.max(ticks * this.tickMs, this.stalledMs());
  }

  /** On the leader: ms since the member was heard, counted from the election when it never was. */
  silentMs(status: CoreStatus, peer: PeerStatus): number {
    if (this.led.term !== status.term) this.led = { term: status.term, sinceMs: this.nowMs() };
    const ageMs = this.memberAckMs(peer);
    return Number.isFinite(ageMs) ? ageMs : this.nowMs() - this.led.sinceMs;
  }

  /** The leader's own view; it is held like a received one, for the time after the leadership. */
  buildView(status: CoreStatus): LeaderView {
    const view: LeaderView = {
      term: status.term,
      leader: status.id,
      commit: status.commit,
      quorumAckMs: this.ownQuorumAckMs(status),
      members: status.peers.map((peer) => this.memberOf(status, peer)),
    };
    this.received(view);
    return view;
  }

  /** Time the process stood still that the ages in ticks do not know of. */
  private stalledMs(): number {
    const now = this.nowMs();
    const late = this.lateMs();
    const known = now < this.distrustUntilMs ? this.stallMs : 0;
    return Math.max(known, late > DISTRUST_MS ? late : 0);
  }

  private lateMs(): number {
    return this.nowMs() - this.lastTickMs - this.tickMs;
  }

  /** Age of the contact that completes the majority: voters sorted, the quorum-th freshest. */
  private ownQuorumAckMs(status: CoreStatus): number {
    const { voters, outgoing } = status.config;
    const halves = [voters, outgoing].filter((half) => half.length > 0);
    if (halves.every((half) => half.length === 1 && half[0] === status.id)) return 0;
    return Math.round(Math.max(this.stalledMs(), this.unheardMs(status)));
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

  private memberOf(status: CoreStatus, peer: PeerStatus): MemberView {
    const { config } = status;
    return {
      id: nodeId(peer.id),
      voter: config.voters.includes(peer.id) || config.outgoing.includes(peer.id),
      lastAckMs: Math.round(this.silentMs(status, peer)),
      matched: peer.match === 0 ? null : logIndex(peer.match),
    };
  }
}
