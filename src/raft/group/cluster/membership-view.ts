/** The membership as one node shows it: the leader from what it hears, others from its last view. */
import type { NodeId } from '../../../common/ids.js';
import { isJoint } from '../../core/index.js';
import type { MemberBook } from './member-book.js';
import type { MemberRole } from './member-role.js';
import type { MembershipMember, MembershipView } from './membership-port.js';
import type { QuorumWatch } from './quorum-watch.js';
import type { RaftLoop } from './raft-loop.js';

export interface MembershipViewPort {
  readonly self: NodeId;
  readonly loop: Pick<RaftLoop, 'status'>;
  readonly book: MemberBook;
  readonly role: MemberRole;
  readonly watch: QuorumWatch;
  readonly liveWithinMs: number;
  readonly promoteMaxLag: number;
  lastIndex(): number;
  isStopped(): boolean;
}

export function membershipView(port: MembershipViewPort, running: boolean): MembershipView {
  const { self, loop, book, role, liveWithinMs, promoteMaxLag } = port;
  const status = loop.status();
  const { config } = book;
  const leads = role.leads && !port.isStopped();
  const joint = isJoint(config);
  const uncommitted = leads && status.changePending;
  return {
    nodeId: self,
    source: port.isStopped() ? 'stopped' : leads ? 'leader' : 'follower',
    viewAgeMs: leads ? 0 : ageOf(port),
    leader: port.isStopped() || !role.hasLeader ? null : role.leader,
    term: status.term,
    voters: config.voters,
    learners: config.learners,
    joint: joint ? [config.outgoing, config.voters] : null,
    membershipIndex: book.index,
    // The one shown is committed, for it takes effect when its entry is applied; the log may hold a next.
    membershipCommitted: !uncommitted,
    changeInFlight: running || joint || uncommitted,
    lastLogIndex: port.lastIndex(),
    committedIndex: status.commit,
    ...{ liveWithinMs, promoteMaxLag },
    members: leads ? ownMembers(port) : toldMembers(port),
  };
}

function ageOf({ watch }: MembershipViewPort): number | null {
  return Number.isFinite(watch.viewAgeMs) ? Math.round(watch.viewAgeMs) : null;
}

function ownMembers(port: MembershipViewPort): MembershipMember[] {
  const { loop, watch, self, book, liveWithinMs } = port;
  const status = loop.status();
  return book.ids.map((id) => {
    const peer = status.peers.find((one) => one.id === id);
    const ackMs = id === self ? 0 : watch.memberAckMs(peer);
    const match = peer?.match ?? 0;
    return member(port, id, {
      matched: match === 0 ? null : match,
      lag: match === 0 ? null : Math.max(0, status.lastIndex - match),
      lastAckMs: Number.isFinite(ackMs) ? Math.round(ackMs) : null,
      live: ackMs <= liveWithinMs,
    });
  });
}

function toldMembers(port: MembershipViewPort): MembershipMember[] {
  const { watch, book, liveWithinMs } = port;
  const view = watch.lastView;
  return book.ids.map((id) => {
    const told = view?.members.find((one) => one.id === id);
    const matched = told?.matched ?? null;
    const ackMs = told?.lastAckMs ?? null;
    const aged = ackMs === null ? null : Math.round(ackMs + watch.viewAgeMs);
    return member(port, id, {
      matched,
      lag: matched === null ? null : Math.max(0, watch.leaderCommit - matched),
      lastAckMs: aged,
      live: aged !== null && aged <= liveWithinMs,
    });
  });
}

function member(
  { book }: MembershipViewPort,
  id: NodeId,
  seen: Pick<MembershipMember, 'matched' | 'lag' | 'lastAckMs' | 'live'>,
): MembershipMember {
  const { raft, http } = book.addresses.get(id) ?? { raft: null, http: null };
  return { nodeId: id, voter: !book.config.learners.includes(id), raft, http, ...seen };
}
