/**
 * Quorum arithmetic of one majority and of a joint pair of majorities. Pure functions over sorted
 * voter lists. The naive sort is deliberate: voter sets are tiny, and clever scans of public
 * implementations have lost their ordering invariant before.
 */
import type { NodeId } from '../../common/ids.js';

export type VoteResult = 'pending' | 'won' | 'lost';

/** Both halves of a membership; `outgoing` is empty outside the joint state. */
export interface VoterHalves {
  readonly voters: readonly NodeId[];
  readonly outgoing: readonly NodeId[];
}

/**
 * Highest value that a majority has reached; an unknown voter counts as 0. An empty majority is no
 * obstacle: infinity, so that the minimum with the other half is that half.
 */
export function majorityIndex(
  voters: readonly NodeId[],
  reached: (id: NodeId) => number | undefined,
): number {
  if (voters.length === 0) return Number.POSITIVE_INFINITY;
  const values = voters.map((id) => reached(id) ?? 0).sort((a, b) => b - a);
  // Of n values in descending order, floor(n/2) + 1 voters hold at least the one at floor(n/2).
  return values[Math.floor(voters.length / 2)] ?? 0;
}

export function majorityVote(
  voters: readonly NodeId[],
  votes: (id: NodeId) => boolean | undefined,
): VoteResult {
  if (voters.length === 0) return 'won';
  const needed = Math.floor(voters.length / 2) + 1;
  let yes = 0;
  let open = 0;
  for (const id of voters) {
    const vote = votes(id);
    if (vote === undefined) open += 1;
    else if (vote) yes += 1;
  }
  if (yes >= needed) return 'won';
  return yes + open >= needed ? 'pending' : 'lost';
}

/** Reached by both halves. */
export function jointIndex(
  halves: VoterHalves,
  reached: (id: NodeId) => number | undefined,
): number {
  return Math.min(majorityIndex(halves.voters, reached), majorityIndex(halves.outgoing, reached));
}

/** Won only when both halves are won, lost as soon as one is lost. */
export function jointVote(
  halves: VoterHalves,
  votes: (id: NodeId) => boolean | undefined,
): VoteResult {
  const incoming = majorityVote(halves.voters, votes);
  const outgoing = majorityVote(halves.outgoing, votes);
  if (incoming === outgoing) return incoming;
  if (incoming === 'lost' || outgoing === 'lost') return 'lost';
  return 'pending';
}

/** All voters of both halves, ascending. */
export function voterIds(halves: VoterHalves): NodeId[] {
  return sortedIds(new Set([...halves.voters, ...halves.outgoing]));
}

export function sortedIds(ids: Iterable<NodeId>): NodeId[] {
  return [...ids].sort((a, b) => a - b);
}
