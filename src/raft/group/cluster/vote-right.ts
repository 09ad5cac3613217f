/**
 * Whether this node's vote counts. A removed member that comes back with an empty disk under its old
 * number still is a voter to a member that never heard of the removal. With two such votes that member
 * would lead without what was committed since; so a node that joins votes only when its own state binds
 * its number to this very directory, that is, once it was added again and holds everything up to there.
 */
import { hexText } from '../../../common/uuid-v7.js';
import type { NodeId } from '../../../common/ids.js';
import type { Tables } from '../../../machine/tables/tables.js';

export interface VoteRightParts {
  readonly nodeId: NodeId;
  readonly directoryId: Uint8Array;
}

export class VoteRight {
  /** This start found an empty directory and a cluster to join. */
  joins = false;

  constructor(
    private readonly parts: VoteRightParts,
    private readonly sessions: Pick<Tables['sessions'], 'directoryOf'>,
  ) {}

  get mayVote(): boolean {
    const bound = this.sessions.directoryOf(this.parts.nodeId);
    // Founders vote before anything is bound.
    if (bound === undefined) return !this.joins;
    return hexText(bound) === hexText(this.parts.directoryId);
  }
}
