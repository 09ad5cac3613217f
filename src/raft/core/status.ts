/** Plain snapshot of a core for health, metrics, placement of transfers, and tests. */
import type { LogIndex, NodeId, Term } from '../../common/ids.js';
import { isPromotable, progressStatus, type CoreState } from './state.js';
import type { ProgressStatus } from './trace.js';
import type { ConfigState, Role } from './types.js';

export interface PeerStatus extends ProgressStatus {
  readonly id: NodeId;
  /** Ticks since the last answer in this term; undefined = none yet. 0 for the leader itself. */
  readonly ticksSinceContact: number | undefined;
}

export interface CoreStatus {
  readonly id: NodeId;
  readonly term: Term;
  readonly vote: NodeId;
  readonly role: Role;
  readonly leader: NodeId;
  /** Leader that has applied an entry of its own term: only then is it shown as leader. */
  readonly established: boolean;
  readonly commit: LogIndex;
  readonly applied: LogIndex;
  readonly firstIndex: LogIndex;
  readonly lastIndex: LogIndex;
  readonly lastTerm: Term;
  readonly config: ConfigState;
  readonly promotable: boolean;
  readonly mayCampaign: boolean;
  readonly snapshotPending: boolean;
  /** On the leader: a membership entry is in the log that is not applied yet. */
  readonly changePending: boolean;
  /** Target of the running transfer, 0 = none. */
  readonly transferee: NodeId;
  /** Follower: ticks since the leader was heard. */
  readonly electionElapsed: number;
  readonly pendingReads: number;
  readonly uncommittedBytes: number;
  /** On the leader: every member in id order, itself included. */
  readonly peers: readonly PeerStatus[];
}

export function statusOf(state: CoreState): CoreStatus {
  const { log } = state;
  const last = log.last();
  return Object.freeze({
    id: state.id,
    term: state.term,
    vote: state.vote,
    role: state.role,
    leader: state.leader,
    established: state.role === 'leader' && log.applied >= state.termStart,
    commit: log.committed,
    applied: log.applied,
    firstIndex: log.firstIndex(),
    lastIndex: last.index,
    lastTerm: last.term,
    config: state.config,
    promotable: isPromotable(state),
    mayCampaign: state.mayCampaign,
    snapshotPending: log.snapshotPending(),
    changePending: state.role === 'leader' && state.pendingChangeIndex > log.applied,
    transferee: state.transferee,
    electionElapsed: state.electionElapsed,
    pendingReads: state.reads.size,
    uncommittedBytes: state.uncommittedBytes,
    peers: Object.freeze(state.role === 'leader' ? peersOf(state) : []),
  });
}

function peersOf(state: CoreState): PeerStatus[] {
  return [...state.progress].map(([id, progress]) =>
    Object.freeze({ id, ticksSinceContact: contactAge(state, id), ...progressStatus(progress) }),
  );
}

function contactAge(state: CoreState, id: NodeId): number | undefined {
  if (id === state.id) return 0;
  const tick = state.progress.get(id)?.lastContactTick;
  return tick === undefined ? undefined : state.ticks - tick;
}
