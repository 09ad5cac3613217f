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
const AGAIN_MS = 1_500;
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
  readonly peers: Pick<PeerPort, 'queryState'>;
  readonly log: GroupLog;
}

/**
 * Peers that do not answer cannot object; a majority that is up will. A refusal is heard twice: a peer
 * may be a moment behind the entry that released this node's directory.
 */
export async function checkIdentity(parts: IdentityParts): Promise<void> {
  for (const answer of await askAll(parts)) {
    try {
      judge(parts, answer);
    } catch (error) {
      if (!(error instanceof IdentityRefusal)) throw error;
      await pause(AGAIN_MS);
      for (const again of await askAll(parts)) judge(parts, again);
      return;
    }
  }
}

/** A peer that is asked holds state of a cluster: this fresh node joins it and never starts one. */
export async function clusterExists(parts: Omit<IdentityParts, 'term' | 'log'>): Promise<boolean> {
  return (await askAll(parts)).some((answer) => answer.holdsState);
}

async function askAll(parts: Omit<IdentityParts, 'term' | 'log'>): Promise<StateAnswer[]> {
  const { nodeId, directoryId, lastIndex, others, peers } = parts;
  const query = { nodeId, directoryId, lastIndex };
  const answers = await Promise.all(
    others.map((peer) => peers.queryState(peer, query, ASK_TIMEOUT_MS)),
  );
  return answers.filter((answer) => answer !== null);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
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
