/**
 * Whether this node's vote counts. A removed member that comes back with an empty disk under its old
 * number still is a voter to a member that never heard of the removal. With two such votes that member
 * would lead without what was committed since; so a node that was told to join votes only when its own
 * state binds its number to this very directory, that is, once it was added again and holds everything up
 * to there. A founder votes before anything is bound, also one whose first start comes late: the others
 * may need it for their majority.
 */
import { hexText } from '../../../common/uuid-v7.js';
import type { NodeId } from '../../../common/ids.js';
import type { Tables } from '../../../machine/tables/tables.js';

export interface VoteRightParts {
  readonly nodeId: NodeId;
  readonly directoryId: Uint8Array;
}

export class VoteRight {
  /** Was told to join (QUEEN_RAFT_JOIN); it stays a joining node until its number is bound. */
  joins = false;

  constructor(
    private readonly parts: VoteRightParts,
    private readonly sessions: Pick<Tables['sessions'], 'directoryOf'>,
  ) {}

  get mayVote(): boolean {
    const bound = this.sessions.directoryOf(this.parts.nodeId);
    if (bound === undefined) return !this.joins;
    return hexText(bound) === hexText(this.parts.directoryId);
  }
}
