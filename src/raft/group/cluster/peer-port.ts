/**
 * The other members as a group sees them: messages of the core, forwarded commands and pops, small
 * reports. Everything is fire and forget over long-lived streams: what cannot be queued or is lost
 * with a connection is sent again by whoever needs it, under the same numbers. The implementation
 * (src/raft/transport) knows sockets, frames and the token; it knows nothing about roles.
 */
import type { LogIndex, NodeId, Term } from '../../../common/ids.js';
import type { PopTicket } from '../../../machine/commands/catalogue.js';
import type { Message } from '../../core/index.js';
import type { PopRequest } from '../group.js';
import type { DispatchAnswer } from '../ports.js';
import type { AddressBook } from './members.js';
import type { SharedEntry } from '../../wal/index.js';
import type { SnapshotOffer, SnapshotStream, SnapshotVerdict } from './snapshot-port.js';

export type { SharedEntry };

/** A pop on its way to the leader. Time travels as what is left of it, never as an instant. */
export interface ForwardedPop {
  readonly ticket: PopTicket;
  readonly request: PopRequest;
  readonly remainingMs: number;
}

/** What the leader tells about a forwarded pop; `refused` = ask again, not the leader any more. */
export type PopReply =
  | { readonly kind: 'answer'; readonly answer: DispatchAnswer }
  | { readonly kind: 'refused'; readonly code: 'retry' | 'overloaded' };

/** One member in the leader's view. */
export interface MemberView {
  readonly id: NodeId;
  readonly voter: boolean;
  readonly lastAckMs: number | null;
  readonly matched: LogIndex | null;
}

/** Sent by the leader to everybody, a few times a second. */
export interface LeaderView {
  readonly term: Term;
  readonly leader: NodeId;
  readonly commit: LogIndex;
  /** Age of the newest acknowledgement that completes a majority, ms. */
  readonly quorumAckMs: number;
  readonly members: readonly MemberView[];
}

/** Digest of the machine at an applied index, for the divergence check. */
export interface DigestReport {
  readonly index: LogIndex;
  readonly digest: Uint8Array;
}

/** Asked at boot, before this node votes or serves. */
export interface StateQuery {
  readonly nodeId: NodeId;
  readonly directoryId: Uint8Array;
  readonly lastIndex: LogIndex;
}

export interface StateAnswer {
  /** Who answers: a wrong address is noticed. */
  readonly nodeId: NodeId;
  /** Highest cluster version the peer's build reads. */
  readonly kinds: number;
  /** The peer holds cluster state (its log is not empty). */
  readonly holdsState: boolean;
  /** Directory bound to the asking node's id in the replicated state, null when none. */
  readonly boundDirectoryId: Uint8Array | null;
  /** Highest index the asking node's directory acknowledged, as far as this peer knows; 0 = unknown. */
  readonly acknowledged: LogIndex;
  readonly term: Term;
}

/** Where a node that is no member (yet) can be reached. */
export interface NodeAddress {
  readonly nodeId: NodeId;
  /** `host:port` of its raft port. */
  readonly raft: string;
}

export interface PeerHandlers {
  message(message: Message): void;
  /** A complete command (bytes begin with its length); false = not the leader, tell the sender. */
  command(from: NodeId, bytes: Uint8Array): boolean;
  /** The peer refused commands sent to it: it does not lead. */
  commandRefused(from: NodeId): void;
  pop(from: NodeId, pop: ForwardedPop, reply: (reply: PopReply) => void): void;
  popCancelled(from: NodeId, ticket: PopTicket): void;
  popReply(from: NodeId, ticket: PopTicket, reply: PopReply): void;
  leaderView(view: LeaderView): void;
  digest(from: NodeId, report: DigestReport): void;
  /** The stream to or from a peer broke: its parked pops are gone, what we sent may be lost. */
  disconnected(peer: NodeId): void;
  connected(peer: NodeId): void;
  state(query: StateQuery): StateAnswer;
  /** Why a stream of the node with this directory is refused; null when it is welcome. */
  objection(node: NodeId, directoryId: Uint8Array): string | null;
  /** Takes a snapshot to the disk, or tells why not; the bytes must be read to their end. */
  snapshot(offer: SnapshotOffer, bytes: AsyncIterable<Uint8Array>): Promise<SnapshotVerdict>;
  /** Committed entries for a member that repairs its log, ascending; a text says why not. */
  entries(indexes: readonly number[]): AsyncIterable<SharedEntry> | string;
}

/** Who listens to the frames of a feature; see PeerChannel. */
export interface ChannelListener {
  /** `body` belongs to the listener. */
  received(from: NodeId, body: Uint8Array): void;
  /** What was sent to the peer may be lost. */
  disconnected(peer: NodeId): void;
}

/**
 * Frames between members that are none of the group's business (relays and hand-overs of ephemeral
 * queues). Fire and forget over the same authenticated streams.
 */
export interface PeerChannel {
  /** False when there is no connection to the peer or its window is full. */
  send(to: NodeId, parts: readonly Uint8Array[]): boolean;
  isConnected(peer: NodeId): boolean;
  listen(listener: ChannelListener): void;
}

export interface PeerPort {
  /** Absent where nobody needs it (tests). */
  readonly channel?: PeerChannel;
  /** Binds the raft port and starts dialling; resolves when the port is bound. */
  start(handlers: PeerHandlers): Promise<void>;
  /** Drops the message when the peer is unreachable or its queue is full. */
  send(message: Message): void;
  /** False when there is no connection to the peer or its window is full. */
  forwardCommand(to: NodeId, bytes: Uint8Array): boolean;
  forwardPop(to: NodeId, pop: ForwardedPop): boolean;
  cancelPop(to: NodeId, ticket: PopTicket): void;
  broadcastView(view: LeaderView): void;
  sendDigest(to: NodeId, report: DigestReport): void;
  /** Null when the peer did not answer in time. */
  queryState(to: NodeId, query: StateQuery, timeoutMs: number): Promise<StateAnswer | null>;
  /** A node that may not be a member: asked before it is added. */
  probe(node: NodeAddress, query: StateQuery, timeoutMs: number): Promise<StateAnswer | null>;
  /** The members from now on, this node included; streams to others end. */
  setMembers(addresses: AddressBook): void;
  /** Highest cluster version the build of a connected peer reads, null while it is not connected. */
  kindsOf(node: NodeId): number | null;
  /** A small question outside the log; null when there was no answer in time. */
  ask(
    to: NodeId,
    question: { readonly name: string; readonly body: string; readonly timeoutMs: number },
  ): Promise<string | null>;
  /** Who answers questions of this name here. */
  answer(name: string, answer: (body: string) => Promise<string>): void;
  /** Streams a snapshot; resolves with what the receiver said, or 'failed' (lost, too slow). */
  sendSnapshot(to: NodeId, stream: SnapshotStream): Promise<SnapshotVerdict | 'failed'>;
  stop(): Promise<void>;
}
