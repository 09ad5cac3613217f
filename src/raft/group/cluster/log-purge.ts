/**
 * Lets the raft log forget what nobody needs (cluster.md §2.7): never past the durable index, never
 * what a live member still has to be sent, and always some entries fewer than could go, up to a bound in bytes. A member that
 * was silent for longer than the hold counts no more: it gets a snapshot when it is back.
 */
import type { LogIndex, NodeId } from '../../../common/ids.js';
import { logIndex } from '../../../common/ids.js';
import type { CoreStatus } from '../../core/index.js';
import type { QuorumWatch } from './quorum-watch.js';

const EVERY_MS = 500;
/** Fewer are not worth it. */
const LEAST_ENTRIES = 1024;
const PURGE_SHARE = 4;

export interface LogPurgePort {
  readonly self: NodeId;
  readonly keepEntries: number;
  /** How long the log is held for a member that is silent. */
  readonly holdMs: number;
  readonly watch: QuorumWatch;
  readonly nowMs: () => number;
  status(): CoreStatus;
  durableIndex(): LogIndex;
  /** An entry that is followed by the bytes to keep at most; 0: there is none. */
  indexBeforeKept(): number;
  firstIndex(): LogIndex;
  /** A snapshot in use: the entries after it are needed. */
  snapshotHold(): LogIndex | null;
  release(index: LogIndex): Promise<void>;
  failed(error: unknown): void;
}

export class LogPurge {
  private lastMs = -Infinity;
  private running = false;

  constructor(private readonly port: LogPurgePort) {}

  /** Called a few times a second. */
  tick(): void {
    const now = this.port.nowMs();
    if (this.running || now - this.lastMs < EVERY_MS) return;
    this.lastMs = now;
    const index = this.purgeable();
    if (index === null) return;
    this.running = true;
    this.port.release(index).then(
      () => {
        this.running = false;
      },
      (error: unknown) => {
        this.running = false;
        this.port.failed(error);
      },
    );
  }

  /** Last entry that may go; null when too few would. */
  purgeable(): LogIndex | null {
    const { port } = this;
    const floor = this.floor();
    if (floor === null) return null;
    const held = port.snapshotHold() ?? Infinity;
    const unneeded = Math.min(port.durableIndex() - 1, floor, held);
    const upTo = Math.max(unneeded - port.keepEntries, Math.min(unneeded, port.indexBeforeKept()));
    const least = Math.min(LEAST_ENTRIES, Math.max(1, Math.floor(port.keepEntries / PURGE_SHARE)));
    return upTo - port.firstIndex() + 1 < least ? null : logIndex(upTo);
  }

  /** What every live member has; null when this node cannot know. */
  private floor(): number | null {
    const { self, holdMs, watch } = this.port;
    const status = this.port.status();
    if (status.role !== 'leader') return this.toldFloor();
    let floor = Infinity;
    for (const peer of status.peers) {
      if (peer.id === self) continue;
      const caughtUp = peer.match >= status.lastIndex;
      if (caughtUp || watch.silentMs(status, peer) <= holdMs) floor = Math.min(floor, peer.match);
    }
    return floor;
  }

  private toldFloor(): number | null {
    const { self, holdMs, watch } = this.port;
    const view = watch.lastView;
    if (view === null) return null;
    let floor = Infinity;
    for (const { id, lastAckMs, matched } of view.members) {
      if (id === self) continue;
      const silentMs = (lastAckMs ?? 0) + watch.viewAgeMs;
      if (silentMs <= holdMs) floor = Math.min(floor, matched ?? 0);
    }
    return floor;
  }
}
