/**
 * Hands leadership over before a node stops: to the most caught-up voter heard from within a second,
 * asked again every 100 ms, for at most 3 s (cluster.md §1.11). It stays with one voter, since a second
 * choice would begin anew, until that one had its time; then another has its turn.
 */
import type { NodeId } from '../../../common/ids.js';
import type { CoreStatus } from '../../core/index.js';
import type { GroupLog } from '../ports.js';
import type { RaftLoop } from './raft-loop.js';

const ASK_EVERY_MS = 100;
const POLL_MS = 5;
const GIVE_UP_MS = 3_000;
const FRESH_MS = 1_000;
/** A voter that did not take over within this time is passed by while there is another one. */
const PATIENCE_MS = 300;

export interface HandOffPort {
  readonly loop: Pick<RaftLoop, 'status' | 'transferLeadership'>;
  readonly log: GroupLog;
  readonly nowMs: () => number;
  readonly self: NodeId;
  readonly tickMs: number;
  /** Only these may take over; any voter when absent. */
  readonly candidates?: readonly NodeId[];
  /** Left leadership itself a moment ago: it takes over only when nobody else can. */
  leftRecently?(id: NodeId): boolean;
  leads(): boolean;
  leader(): NodeId;
}

export class HandOff {
  private target: NodeId | null = null;
  private targetSinceMs = 0;
  private readonly passedBy = new Set<NodeId>();

  constructor(private readonly port: HandOffPort) {}

  async run(): Promise<void> {
    const { port } = this;
    if (!port.leads()) return;
    const startMs = port.nowMs();
    let nextAskMs = startMs;
    while (port.leads() || port.leader() === 0) {
      const now = port.nowMs();
      if (now - startMs > GIVE_UP_MS) {
        port.log.warn('raft: no other node took leadership over in time', {});
        return;
      }
      if (port.leads() && now >= nextAskMs) {
        nextAskMs = now + ASK_EVERY_MS;
        const target = this.choose(now);
        if (target === null) {
          port.log.warn('raft: no live voter to hand leadership to', {});
          return;
        }
        port.loop.transferLeadership(target);
      }
      await pause();
    }
    const ms = Math.round(port.nowMs() - startMs);
    port.log.info('raft: leadership handed off', { to: port.leader(), ms });
  }

  private choose(nowMs: number): NodeId | null {
    const { loop, tickMs, candidates, leftRecently } = this.port;
    const status = loop.status();
    const allowed = candidates ?? status.config.voters;
    const best = (among: readonly NodeId[]): NodeId | null =>
      mostCaughtUp(status, FRESH_MS / tickMs, among);
    if (this.target !== null) {
      const isPatient = nowMs - this.targetSinceMs < PATIENCE_MS;
      if (isPatient && best([this.target]) !== null) return this.target;
      this.passedBy.add(this.target);
    }
    const open = allowed.filter((id) => !this.passedBy.has(id));
    let next = best(open.filter((id) => leftRecently?.(id) !== true)) ?? best(open);
    if (next === null) {
      this.passedBy.clear();
      next = best(allowed);
    }
    this.target = next;
    this.targetSinceMs = nowMs;
    return next;
  }
}

export function mostCaughtUp(
  status: CoreStatus,
  freshTicks: number,
  candidates: readonly NodeId[] = status.config.voters,
): NodeId | null {
  let best: { id: NodeId; match: number } | null = null;
  for (const peer of status.peers) {
    const voter = status.config.voters.includes(peer.id);
    const fresh = (peer.ticksSinceContact ?? Infinity) <= freshTicks;
    if (peer.id === status.id || !voter || !fresh || !candidates.includes(peer.id)) continue;
    if (best === null || peer.match > best.match) best = { id: peer.id, match: peer.match };
  }
  return best?.id ?? null;
}

function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, POLL_MS);
  });
}
