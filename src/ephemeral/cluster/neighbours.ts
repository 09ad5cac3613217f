/** The other nodes as the routes of this node see them: who owns a partition, and how to ask there. */
import type { NodeId } from '../../common/ids.js';
import { QueenError } from '../../common/errors.js';

export interface PartitionPlace {
  readonly tenant: Uint8Array;
  readonly queue: string;
  readonly partition: string;
}

export type RelayVerb = 'push' | 'pop' | 'ack' | 'undeliver' | 'reset' | 'delete';

export interface RelayRequest {
  readonly verb: RelayVerb;
  readonly tenant: Uint8Array;
  readonly body: Uint8Array;
  /** How long the owner may take. */
  readonly timeoutMs: number;
}

export interface RelayAnswer {
  readonly status: number;
  /** Seconds; 0 = none. */
  readonly retryAfter: number;
  readonly body: Uint8Array;
}

/** The asked node does not own the partition (any more). */
export const MOVED: RelayAnswer = { status: 0, retryAfter: 0, body: new Uint8Array(0) };

export interface Neighbours {
  /** Null = this node. */
  ownerOf(place: PartitionPlace): NodeId | null;
  /**
   * Asks the owner once. Ships what this node still holds of the partition first. Throws
   * `ephemeral_forward_failed`, also when the signal ends it; MOVED = the other node sent it away.
   */
  relay(owner: NodeId, place: PartitionPlace, call: RelayCall): Promise<RelayAnswer>;
  /** Without waiting for an answer. */
  tell(to: NodeId, request: RelayRequest): void;
  /** To every other node, without waiting. */
  tellAll(request: RelayRequest): void;
  /** This node stops: it owns nothing any more. */
  readonly isLeaving: boolean;
  /** Requests sent on, and partitions whose contents were lost, since the start. */
  readonly forwarded: number;
  readonly wipes: number;
  /** Members that the leader hears and that do not answer this node. */
  readonly silentPeers: number;
}

export interface RelayCall extends RelayRequest {
  readonly signal?: AbortSignal;
}

/** A node without others. */
export const ALONE: Neighbours = {
  ownerOf: () => null,
  relay: () => Promise.reject(new QueenError('ephemeral_forward_failed')),
  tell: () => undefined,
  tellAll: () => undefined,
  isLeaving: false,
  forwarded: 0,
  wipes: 0,
  silentPeers: 0,
};

/**
 * Serves here or asks the owner; sent away once, it looks again who owns the partition (state.md §5.6).
 * Null = it is to be served here.
 */
export async function askOwner(
  neighbours: Neighbours,
  place: PartitionPlace,
  call: RelayCall,
): Promise<RelayAnswer | null> {
  const owner = neighbours.ownerOf(place);
  if (owner === null) return null;
  const answer = await neighbours.relay(owner, place, call);
  if (answer !== MOVED) return answer;
  const next = neighbours.ownerOf(place);
  if (next === null) return null;
  const again = next === owner ? MOVED : await neighbours.relay(next, place, call);
  if (again === MOVED) throw new QueenError('owner_moved');
  return again;
}
