/**
 * What must hold in every run, judged from outside the core: one leader per term, one entry per
 * committed index, committed entries in every new leader's log and on a quorum of disks, the same
 * sequence applied everywhere, reads that see what was committed when they were asked.
 */
import type { LogIndex, NodeId, Term } from '../../../src/common/ids.js';
import { jointIndex } from '../../../src/raft/core/quorum.js';
import type { CoreState } from '../../../src/raft/core/state.js';
import type { Entry } from '../../../src/raft/core/types.js';
import type { MemoryLog } from './memory-log.js';

export class SafetyViolation extends Error {}

export interface Observed {
  readonly id: NodeId;
  readonly state: CoreState;
  readonly disk: MemoryLog;
}

interface Committed {
  readonly term: Term;
  readonly digest: number;
}

export class Oracle {
  private readonly leaders = new Map<Term, NodeId>();
  private readonly committed = new Map<number, Committed>();
  private readonly applied = new Map<number, number>();
  private readonly seenCommit = new Map<NodeId, number>();
  private readonly storedTerm = new Map<NodeId, number>();
  private readonly reads = new Map<number, number>();
  maxCommit = 0;

  constructor(private readonly base: { index: number; term: Term }) {
    this.maxCommit = base.index;
    this.applied.set(base.index, 0);
  }

  /** After every event, for the node it touched. */
  check(node: Observed, all: () => readonly Observed[]): void {
    const { state, disk, id } = node;
    if (state.log.committed > state.log.lastIndex()) this.fail('commit above the last index', node);
    const term = disk.hardState.term as number;
    if (term < (this.storedTerm.get(id) ?? 0)) this.fail('stored term fell', node);
    this.storedTerm.set(id, term);
    if (state.role === 'leader') this.checkLeader(node);
    this.checkCommit(node, all);
  }

  /** A restarted node may start with a lower commit index than it had. */
  forgetCommit(id: NodeId): void {
    this.seenCommit.delete(id);
  }

  checkApplied(id: NodeId, entry: Entry, digestBefore: number): number {
    const known = this.committed.get(entry.index);
    if (known === undefined) {
      throw new SafetyViolation(`node ${id} applied uncommitted index ${entry.index}`);
    }
    const digest = foldDigest(digestBefore, entry);
    const other = this.applied.get(entry.index);
    if (other !== undefined && other !== digest) {
      throw new SafetyViolation(`node ${id} applied another sequence at ${entry.index}`);
    }
    this.applied.set(entry.index, digest);
    return digest;
  }

  digestAt(index: number): number {
    const digest = this.applied.get(index);
    if (digest === undefined) throw new SafetyViolation(`snapshot of unapplied index ${index}`);
    return digest;
  }

  readAsked(context: number): void {
    this.reads.set(context, this.maxCommit);
  }

  checkRead(context: number, index: LogIndex): void {
    const floor = this.reads.get(context);
    if (floor === undefined) throw new SafetyViolation(`read ${context} was never asked`);
    if (index < floor) {
      throw new SafetyViolation(`read ${context} answered at ${index}, committed was ${floor}`);
    }
  }

  /** Same (index, term) in two logs means the same log up to there. Costly: now and then. */
  checkLogMatching(nodes: readonly Observed[]): void {
    for (const a of nodes) {
      for (const b of nodes) {
        if (a.id < b.id) this.checkPair(a, b);
      }
    }
  }

  private checkPair(a: Observed, b: Observed): void {
    let matched = false;
    const low = Math.max(a.state.log.firstIndex(), b.state.log.firstIndex());
    for (let i = Math.min(a.state.log.lastIndex(), b.state.log.lastIndex()); i >= low; i -= 1) {
      const same = termAt(a, i) === termAt(b, i);
      if (matched && !same) this.fail(`log matching broken with ${b.id} at ${i}`, a);
      matched ||= same;
    }
  }

  private checkLeader(node: Observed): void {
    const { state, id } = node;
    const known = this.leaders.get(state.term);
    if (known === id) return;
    if (known !== undefined) this.fail(`second leader of the term beside ${known}`, node);
    this.leaders.set(state.term, id);
    for (let i = state.log.firstIndex() as number; i <= this.maxCommit; i += 1) {
      if (this.committed.has(i) && termAt(node, i) !== this.committed.get(i)?.term) {
        this.fail(`new leader lacks committed index ${i}`, node);
      }
    }
  }

  private checkCommit(node: Observed, all: () => readonly Observed[]): void {
    const { state, id } = node;
    const from = Math.max(this.seenCommit.get(id) ?? this.base.index, state.log.firstIndex() - 1);
    const to = state.log.committed as number;
    if (to <= from && this.seenCommit.has(id)) return;
    for (let i = from + 1; i <= to; i += 1) this.commitEntry(node, i);
    this.seenCommit.set(id, to);
    if (to <= this.maxCommit) return;
    this.maxCommit = to;
    if (state.role === 'leader') this.checkDurable(node, all());
  }

  private commitEntry(node: Observed, index: number): void {
    const found = node.state.log.slice({
      from: index as LogIndex,
      to: (index + 1) as LogIndex,
      maxBytes: 1,
    });
    const entry = typeof found === 'string' ? undefined : found[0];
    if (entry === undefined) return;
    const mine = { term: entry.term, digest: foldDigest(0, entry) };
    const known = this.committed.get(index);
    if (known === undefined) this.committed.set(index, mine);
    else if (known.term !== mine.term || known.digest !== mine.digest) {
      this.fail(`two entries committed at ${index}`, node);
    }
  }

  /** A leader commits only what a quorum has on disk. */
  private checkDurable(node: Observed, all: readonly Observed[]): void {
    const { log, config } = node.state;
    const disks = new Map(all.map((other) => [other.id, other.disk]));
    const reached = jointIndex(config, (id) => {
      const disk = disks.get(id);
      if (disk === undefined) return 0;
      const holds =
        disk.firstIndex() > log.committed ||
        disk.termOf(log.committed) === log.termOf(log.committed);
      return holds ? log.committed : 0;
    });
    if (reached < log.committed) this.fail('committed entry not durable on a quorum', node);
  }

  private fail(rule: string, node: Observed): never {
    const { state } = node;
    throw new SafetyViolation(
      `${rule}: node ${node.id} ${state.role} term ${state.term} ${JSON.stringify(state.log.dump())}`,
    );
  }
}

function termAt(node: Observed, index: number): Term | string {
  return node.state.log.termOf(index as LogIndex);
}

function foldDigest(before: number, entry: Entry): number {
  let digest = Math.imul(before ^ entry.term, 16777619) ^ entry.index;
  for (const byte of entry.data) digest = Math.imul(digest ^ byte, 16777619);
  return digest >>> 0;
}
