/**
 * Who handed leadership to this node lately (cluster.md §1.12): such a node stops or makes room, so
 * leadership is not given back to it for a minute. Bounded by the number of members.
 */
import type { NodeId } from '../../../common/ids.js';

const FRESH_MS = 60_000;

export class LeaveRecord {
  private readonly leftAtMs = new Map<NodeId, number>();

  constructor(private readonly nowMs: () => number) {}

  handedOver(from: NodeId): void {
    this.leftAtMs.set(from, this.nowMs());
  }

  isRecent(node: NodeId): boolean {
    const at = this.leftAtMs.get(node);
    return at !== undefined && this.nowMs() - at < FRESH_MS;
  }
}
