/**
 * Which node owns which partition: the highest random weight over the live, admitted members, this node
 * included unless it leaves (cluster.md §6.1). Score = xxh3(key, seed = xxh3(node name)), the greater name
 * wins a tie. Pure but for the time it is given.
 */
import { nodeId, type NodeId } from '../../common/ids.js';
import { encodeUtf8 } from '../../common/utf8.js';
import { uuidText } from '../../common/uuid-v7.js';
import { xxh3 } from '../../common/xxh3.js';
import type { PartitionPlace } from './neighbours.js';

/** Owners of partitions asked for lately; forgotten when the members change. */
const MAX_KNOWN = 20_000;

interface Weighed {
  readonly id: NodeId;
  readonly name: string;
  readonly seed: bigint;
}

export class Placement {
  private members: readonly Weighed[] = [];
  private readonly known = new Map<string, NodeId>();
  /** Grows with every change of the members. */
  version = 0;

  /** True when that changes anything. */
  setMembers(ids: readonly NodeId[]): boolean {
    const wanted = [...ids].sort((a, b) => a - b);
    const same =
      wanted.length === this.members.length && this.members.every(({ id }, i) => id === wanted[i]);
    if (same) return false;
    this.members = wanted.map((id) => {
      const name = String(id);
      return { id, name, seed: xxh3(encodeUtf8(name)) };
    });
    this.known.clear();
    this.version += 1;
    return true;
  }

  get ids(): readonly NodeId[] {
    return this.members.map(({ id }) => id);
  }

  /** Null when there are no members. */
  ownerOf({ tenant, queue, partition }: PartitionPlace): NodeId | null {
    const key = `${uuidText(tenant)}\x1feph:${queue}\x1f${partition}`;
    const known = this.known.get(key);
    if (known !== undefined) return known;
    const owner = this.weigh(encodeUtf8(key));
    if (owner === null) return null;
    if (this.known.size >= MAX_KNOWN) this.known.clear();
    this.known.set(key, owner);
    return owner;
  }

  private weigh(key: Uint8Array): NodeId | null {
    let best: Weighed | null = null;
    let most = -1n;
    for (const member of this.members) {
      const score = xxh3(key, member.seed);
      if (score < most || (score === most && best !== null && member.name < best.name)) continue;
      best = member;
      most = score;
    }
    return best === null ? null : nodeId(best.id);
  }
}
