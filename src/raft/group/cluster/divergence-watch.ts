/**
 * Do all members hold the same state? Every 5 s the leader tells the digest of its state at an applied
 * index; each member answers to all with its own digest at that index. Where a majority of voters agree
 * and this node does not, this node must stop: its state is not what the log says. Digests of the last
 * entries stand in a ring, so that members at different indexes can be compared at equal ones.
 */
import type { LogIndex, NodeId } from '../../../common/ids.js';
import { logIndex } from '../../../common/ids.js';
import type { DigestReport } from './peer-port.js';

const RING = 4_096;
const DIGEST_BYTES = 8;
const EVERY_MS = 5_000;
/** Indexes under comparison; older ones are forgotten. */
const MAX_OPEN = 8;

export interface DivergencePort {
  readonly self: NodeId;
  readonly nowMs: () => number;
  leads(): boolean;
  leader(): number;
  voters(): readonly NodeId[];
  applied(): LogIndex;
  sendAll(report: DigestReport): void;
  /** This node is of the minority. */
  diverged(index: LogIndex): void;
  /** Others are; they stop by themselves. */
  othersDiverged(nodes: readonly NodeId[], index: LogIndex): void;
}

export class DivergenceWatch {
  private readonly digests = new Uint8Array(RING * DIGEST_BYTES);
  private readonly indexes = new Float64Array(RING);
  private readonly open = new Map<number, Map<NodeId, string>>();
  /** Indexes this node has not answered for yet: it has not applied them. */
  private readonly owed = new Set<number>();
  private lastMs: number;

  constructor(private readonly port: DivergencePort) {
    this.lastMs = port.nowMs();
  }

  /** After each applied entry. */
  applied(index: LogIndex, digest: Uint8Array): void {
    const slot = index % RING;
    this.indexes[slot] = index;
    this.digests.set(digest, slot * DIGEST_BYTES);
    if (this.owed.delete(index)) this.tellOwn(index);
  }

  /** Called a few times a second. */
  tick(): void {
    const { nowMs, leads, applied } = this.port;
    if (nowMs() - this.lastMs < EVERY_MS) return;
    this.lastMs = nowMs();
    if (leads() && this.own(applied()) !== null) this.tellOwn(applied());
  }

  received(from: NodeId, report: DigestReport): void {
    const { index } = report;
    this.note(index, from, hex(report.digest));
    if (from !== this.port.leader() || this.open.get(index)?.has(this.port.self) === true) return;
    if (index > this.port.applied()) this.owe(index);
    else this.tellOwn(index);
  }

  private owe(index: number): void {
    this.owed.add(index);
    if (this.owed.size <= MAX_OPEN) return;
    for (const oldest of this.owed) {
      this.owed.delete(oldest);
      return;
    }
  }

  private tellOwn(index: number): void {
    const digest = this.own(index);
    if (digest === null) return;
    this.port.sendAll({ index: logIndex(index), digest });
    this.note(index, this.port.self, hex(digest));
  }

  private own(index: number): Uint8Array | null {
    const slot = index % RING;
    if (index === 0 || this.indexes[slot] !== index) return null;
    return this.digests.slice(slot * DIGEST_BYTES, (slot + 1) * DIGEST_BYTES);
  }

  private note(index: number, node: NodeId, digest: string): void {
    let told = this.open.get(index);
    if (told === undefined) {
      told = new Map();
      this.open.set(index, told);
      for (const oldest of this.open.keys()) {
        if (this.open.size <= MAX_OPEN) break;
        this.open.delete(oldest);
      }
    }
    told.set(node, digest);
    this.judge(index, told);
  }

  private judge(index: number, told: ReadonlyMap<NodeId, string>): void {
    const own = told.get(this.port.self);
    if (own === undefined) return;
    const voters = this.port.voters();
    const count = (digest: string): number =>
      voters.filter((voter) => told.get(voter) === digest).length;
    const quorum = Math.floor(voters.length / 2) + 1;
    const agreed = [...told.values()].find((digest) => count(digest) >= quorum);
    if (agreed === undefined) return;
    if (agreed !== own) {
      this.port.diverged(logIndex(index));
      return;
    }
    const others = [...told].filter(([, digest]) => digest !== agreed).map(([node]) => node);
    if (others.length > 0) this.port.othersDiverged(others, logIndex(index));
  }
}

function hex(digest: Uint8Array): string {
  return Buffer.from(digest).toString('hex');
}
