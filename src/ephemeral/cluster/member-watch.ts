/**
 * Which other members take partitions: heard of by the leader within the member TTL, and admitted, that is
 * their HTTP port answered a probe of this node (cluster.md §6.1). A view that is old itself judges nobody.
 * A node that said it leaves stays out for 30 s or until it answers as a new process. A member that the
 * leader hears and whose answers do not come is silent after 30 s: somebody has to look at its addresses.
 */
import type { NodeId } from '../../common/ids.js';
import type { MembersView } from '../../raft/index.js';

const LEAVING_MS = 30_000;
const SILENT_MS = 30_000;
/** Progress of a contact time that shows that the leader really hears the member. */
const ADVANCE_MS = 200;

export interface PeerReport {
  readonly epoch: string;
  /** Partitions with contents, and messages in them. */
  readonly rings: number;
  readonly messages: number;
}

/** What became of a member's contents without a hand-over. */
export interface Loss {
  readonly node: NodeId;
  readonly rings: number;
  readonly messages: number;
}

interface Peer {
  heardMs: number;
  /** Newest contact time told by `leader`. */
  contactMs: number;
  leader: number;
  isLive: boolean;
  /** Last time it said that it serves, or since when the leader hears it. */
  readyMs: number;
  admitted: PeerReport | null;
  leavingEpoch: string;
  leavingUntilMs: number;
}

export class MemberWatch {
  private readonly peers = new Map<NodeId, Peer>();
  /** Reports of members that stopped answering, until it is known what became of them. */
  private readonly suspects = new Map<NodeId, PeerReport>();

  constructor(
    private readonly self: NodeId,
    private readonly ttlMs: number,
  ) {}

  /** Takes the leader's view; members it does not name are forgotten. Answers what was lost with them. */
  look(view: MembersView | null, nowMs: number, isConnected: (peer: NodeId) => boolean): Loss[] {
    if (view === null || view.ageMs > this.ttlMs) return [];
    const losses: Loss[] = [];
    const named = new Set<NodeId>();
    for (const { nodeId: id, lastAckMs } of view.members) {
      if (id === this.self) continue;
      named.add(id);
      const peer = this.peerOf(id);
      const silentMs = id === view.leader ? 0 : lastAckMs;
      if (silentMs !== null) {
        const contactMs = nowMs - view.ageMs - silentMs;
        this.contact(peer, { contactMs, leader: view.leader, isConnected: isConnected(id) });
      }
      const wasLive = peer.isLive;
      peer.isLive = nowMs - peer.heardMs <= this.ttlMs;
      if (!wasLive && peer.isLive) peer.readyMs = nowMs;
      if (wasLive && !peer.isLive) losses.push(...this.forgetContents(id, peer));
    }
    for (const [id, peer] of [...this.peers]) {
      if (named.has(id)) continue;
      losses.push(...this.forgetContents(id, peer));
      this.peers.delete(id);
    }
    return losses;
  }

  /** Members this node may ask whether they are ready. */
  live(): NodeId[] {
    return [...this.peers].filter(([, peer]) => peer.isLive).map(([id]) => id);
  }

  isAdmitted(id: NodeId): boolean {
    return (this.peers.get(id)?.admitted ?? null) !== null;
  }

  /** Members that own partitions. */
  owners(nowMs: number): NodeId[] {
    const owning = [...this.peers].filter(([, peer]) => {
      if (!peer.isLive || peer.admitted === null) return false;
      return peer.admitted.epoch !== peer.leavingEpoch || nowMs >= peer.leavingUntilMs;
    });
    return owning.map(([id]) => id);
  }

  /** Members that the leader hears and that did not say for 30 s that they serve. */
  silent(nowMs: number): NodeId[] {
    const silent = [...this.peers].filter(([, peer]) => {
      const leaves = nowMs < peer.leavingUntilMs;
      return peer.isLive && !leaves && nowMs - peer.readyMs > SILENT_MS;
    });
    return silent.map(([id]) => id);
  }

  /** The member answered the probe. Answers what an earlier process of it took with it. */
  ready(id: NodeId, report: PeerReport, nowMs: number): Loss[] {
    const peer = this.peers.get(id);
    if (peer === undefined) return [];
    peer.readyMs = nowMs;
    const before = peer.admitted ?? this.suspects.get(id) ?? null;
    const isNew = before !== null && before.epoch !== report.epoch;
    const losses = isNew ? this.forgetContents(id, peer) : [];
    this.suspects.delete(id);
    peer.admitted = report;
    return losses;
  }

  /** It does not serve now. Its contents are not lost by that. */
  notReady(id: NodeId): void {
    const peer = this.peers.get(id);
    if (peer === undefined || peer.admitted === null) return;
    if (peer.admitted.epoch !== peer.leavingEpoch) this.suspects.set(id, peer.admitted);
    peer.admitted = null;
  }

  leaving(id: NodeId, epoch: string, nowMs: number): void {
    const peer = this.peerOf(id);
    peer.leavingEpoch = epoch;
    peer.leavingUntilMs = nowMs + LEAVING_MS;
    this.suspects.delete(id);
  }

  private peerOf(id: NodeId): Peer {
    let peer = this.peers.get(id);
    if (peer === undefined) {
      peer = {
        ...{ heardMs: -Infinity, contactMs: -Infinity, leader: 0, isLive: false, admitted: null },
        ...{ readyMs: -Infinity, leavingEpoch: '', leavingUntilMs: 0 },
      };
      this.peers.set(id, peer);
    }
    return peer;
  }

  /**
   * A new leader counts every member as heard when it is elected. Without a connection of its own to the
   * member this node believes it only when the contact goes on.
   */
  private contact(
    peer: Peer,
    told: { readonly contactMs: number; readonly leader: NodeId; readonly isConnected: boolean },
  ): void {
    const { contactMs, leader, isConnected } = told;
    const advances = peer.leader === leader && contactMs > peer.contactMs + ADVANCE_MS;
    if (contactMs > peer.heardMs && (isConnected || advances)) peer.heardMs = contactMs;
    if (peer.leader !== leader || advances) peer.contactMs = contactMs;
    peer.leader = leader;
  }

  private forgetContents(id: NodeId, peer: Peer): Loss[] {
    const report = peer.admitted ?? this.suspects.get(id) ?? null;
    this.suspects.delete(id);
    peer.admitted = null;
    if (report === null || report.epoch === peer.leavingEpoch || report.rings === 0) return [];
    return [{ node: id, rings: report.rings, messages: report.messages }];
  }
}
