/**
 * Before a member votes or serves: do the others know its id under another directory, or know more of
 * its log than it has? Either means acknowledged entries are gone from this disk; voting with such a
 * log could lose them for good, so the node refuses and says how to replace it.
 */
import type { LogIndex, NodeId, Term } from '../../../common/ids.js';
import { hexText } from '../../../common/uuid-v7.js';
import type { GroupLog } from '../ports.js';
import type { PeerPort, StateAnswer } from './peer-port.js';

const ASK_TIMEOUT_MS = 1_000;
const CURE =
  'Remove the member first (DELETE /api/v1/system/raft/membership/members/<id>), empty its data ' +
  'directory, start it with QUEEN_RAFT_JOIN=true and add it again.';

export class IdentityRefusal extends Error {
  override readonly name = 'IdentityRefusal';
}

export interface IdentityParts {
  readonly nodeId: NodeId;
  readonly directoryId: Uint8Array;
  readonly lastIndex: LogIndex;
  /** Term of this directory's hard state. */
  readonly term: Term;
  readonly others: readonly NodeId[];
  readonly peers: PeerPort;
  readonly log: GroupLog;
}

/** Peers that do not answer cannot object; a majority that is up will. */
export async function checkIdentity(parts: IdentityParts): Promise<void> {
  const { nodeId, directoryId, lastIndex, others, peers } = parts;
  const answers = await Promise.all(
    others.map((peer) =>
      peers.queryState(peer, { nodeId, directoryId, lastIndex }, ASK_TIMEOUT_MS),
    ),
  );
  for (const answer of answers) if (answer !== null) judge(parts, answer);
}

function judge(parts: IdentityParts, answer: StateAnswer): void {
  const { nodeId, directoryId, lastIndex, term } = parts;
  const bound = answer.boundDirectoryId;
  if (bound !== null && hexText(bound) !== hexText(directoryId)) {
    throw new IdentityRefusal(
      `node ${nodeId} is bound to data directory ${hexText(bound)}, this one is ` +
        `${hexText(directoryId)}: a voter must not come back with an empty or other disk. ${CURE}`,
    );
  }
  // A leader of an older term may remember entries that a later one replaced with our consent.
  if (answer.term >= term && answer.acknowledged > lastIndex) {
    throw new IdentityRefusal(
      `this log ends at index ${lastIndex}, but node ${nodeId} had acknowledged entry ` +
        `${answer.acknowledged}: it is an older copy. ${CURE}`,
    );
  }
}
