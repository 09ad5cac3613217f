/**
 * The messages between cores, one shape per kind. `term` is the sender's term, except for the three
 * forwarded requests (propose, read-request, transfer-request) which carry 0 and are judged by the
 * receiver in whatever term it is. Local events (tick, storage acknowledgements) are methods, not
 * messages, so nothing from the network can imitate them.
 */
import type { LogIndex, NodeId, Term } from '../../common/ids.js';
import type { Entry, ReadContext, SnapshotMeta } from './types.js';

interface Envelope {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly term: Term;
}

/** Rule D3: what the sender knows to be committed. Zero when it says nothing. */
export interface CommitHint {
  readonly commitIndex: LogIndex;
  readonly commitTerm: Term;
}

export interface VoteRequest extends Envelope, CommitHint {
  readonly kind: 'vote-request';
  /** A pre-vote asks "would you", in the term after the sender's, and changes nothing. */
  readonly preVote: boolean;
  readonly lastIndex: LogIndex;
  readonly lastTerm: Term;
  /** Election ordered by the current leader: leases do not protect that leader. */
  readonly transfer: boolean;
}

/** A granted pre-vote carries the request's term, every other answer the voter's own. */
export interface VoteResponse extends Envelope, CommitHint {
  readonly kind: 'vote-response';
  readonly preVote: boolean;
  readonly granted: boolean;
}

export interface AppendRequest extends Envelope {
  readonly kind: 'append-request';
  readonly prevIndex: LogIndex;
  readonly prevTerm: Term;
  readonly entries: readonly Entry[];
  readonly commit: LogIndex;
}

/** Accepted: `index` is durable and matches. Rejected: `index` is the refused prevIndex. */
export interface AppendResponse extends Envelope {
  readonly kind: 'append-response';
  readonly index: LogIndex;
  readonly rejected: boolean;
  /** Last place the follower's log may still agree, and its term there. */
  readonly hintIndex: LogIndex;
  readonly hintTerm: Term;
}

/** `commit` never exceeds what the receiver is known to hold. `readRound` 0 = no read waits. */
export interface Heartbeat extends Envelope {
  readonly kind: 'heartbeat';
  readonly commit: LogIndex;
  readonly readRound: number;
}

export interface HeartbeatResponse extends Envelope {
  readonly kind: 'heartbeat-response';
  readonly readRound: number;
}

export interface SnapshotRequest extends Envelope {
  readonly kind: 'snapshot';
  readonly snapshot: SnapshotMeta;
}

export interface TimeoutNow extends Envelope {
  readonly kind: 'timeout-now';
}

export interface ProposeRequest extends Envelope {
  readonly kind: 'propose';
  /** Term and index of the entries are 0 until the leader places them. */
  readonly entries: readonly Entry[];
}

export interface ReadRequest extends Envelope {
  readonly kind: 'read-request';
  readonly context: ReadContext;
}

export interface ReadResponse extends Envelope {
  readonly kind: 'read-response';
  readonly context: ReadContext;
  readonly index: LogIndex;
}

export interface TransferRequest extends Envelope {
  readonly kind: 'transfer-request';
  readonly target: NodeId;
}

export type Message =
  | VoteRequest
  | VoteResponse
  | AppendRequest
  | AppendResponse
  | Heartbeat
  | HeartbeatResponse
  | SnapshotRequest
  | TimeoutNow
  | ProposeRequest
  | ReadRequest
  | ReadResponse
  | TransferRequest;

export type MessageKind = Message['kind'];

/** Answers are refused from nodes the receiver keeps no progress for. */
export function isResponse(message: Message): boolean {
  return (
    message.kind === 'append-response' ||
    message.kind === 'vote-response' ||
    message.kind === 'heartbeat-response'
  );
}
