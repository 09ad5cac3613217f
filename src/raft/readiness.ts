/**
 * Whether this node can serve clients now (cluster.md §1.10), read from the groups' own status: a leader
 * is known, applied state is fresh, a quorum was heard from, storage works. Shared by the health page
 * and the metrics. Never waits, never touches the log, keeps nothing.
 */
import type { Group, GroupStatus } from './group/group.js';

export interface ApplyFailure {
  readonly class: string;
  /** Kind, digest and effect of the failed command; null where this node does not know them. */
  readonly command: string | null;
  readonly digest: string | null;
  readonly effect: string | null;
  readonly error: string;
  readonly index: number;
  readonly term: number;
  /** Raft group, where a process has several. */
  readonly group?: number;
}

/** The `raft` block: group 0, with what decides readiness combined over all groups. */
export interface RaftHealth {
  readonly role: string;
  /** Every group knows a leader and none is stopped. */
  readonly leader: boolean;
  readonly term: number;
  readonly applied: number;
  readonly commit: number;
  /** Largest over the groups, ms. */
  readonly lag: number;
  /** Oldest over the groups, ms; null while one group does not know. */
  readonly quorumAckMs: number | null;
  readonly storageReady: boolean;
  readonly clusterVersion: number;
  readonly kinds: number;
  readonly apply: { readonly failure: ApplyFailure | null; readonly skipped: readonly unknown[] };
}

export interface ReadinessLimits {
  readonly readyLagMs: number;
  /** 0 = the quorum is not asked for. */
  readonly readyQuorumMs: number;
}

/** What is needed of `Groups`. */
export interface StatusSource {
  all(): readonly Pick<Group, 'status'>[];
}

export class Readiness {
  constructor(
    private readonly groups: StatusSource,
    private readonly limits: ReadinessLimits,
  ) {}

  raft(): RaftHealth {
    const all = this.groups.all().map((group) => group.status());
    const [first] = all;
    if (first === undefined) throw new Error('a process has at least one raft group');
    return {
      role: roleOf(first, all),
      leader: all.every((status) => status.leader !== null && status.role !== 'stopped'),
      term: first.term,
      applied: first.applied,
      commit: first.commit,
      lag: Math.max(...all.map((status) => status.lagMs)),
      quorumAckMs: oldestQuorum(all),
      storageReady: all.every((status) => status.storageReady),
      clusterVersion: first.clusterVersion,
      kinds: first.kinds,
      apply: {
        failure: firstFailure(all),
        skipped: all.flatMap(({ skipped }, group) =>
          (skipped ?? []).map((one) => ({ ...placeOf(group, all), ...one })),
        ),
      },
    };
  }

  /** A quorum nobody knows of counts as not heard. */
  isReady(raft: RaftHealth): boolean {
    const { readyLagMs, readyQuorumMs } = this.limits;
    const quorumHeard =
      readyQuorumMs === 0 || (raft.quorumAckMs !== null && raft.quorumAckMs <= readyQuorumMs);
    return raft.leader && raft.storageReady && raft.lag <= readyLagMs && quorumHeard;
  }
}

/** Group 0's role; with a suffix when another group is led here and group 0 is not. */
function roleOf(first: GroupStatus, all: readonly GroupStatus[]): string {
  const leadsAnother = all.some((status) => status !== first && status.role === 'leader');
  return first.role !== 'leader' && leadsAnother ? `${first.role}+leader` : first.role;
}

function oldestQuorum(all: readonly GroupStatus[]): number | null {
  let oldest = 0;
  for (const { quorumAckMs } of all) {
    if (quorumAckMs === null) return null;
    oldest = Math.max(oldest, quorumAckMs);
  }
  return oldest;
}

/** Which group it is, where a process has several. */
function placeOf(group: number, all: readonly GroupStatus[]): { readonly group?: number } {
  return all.length === 1 ? {} : { group };
}

function firstFailure(all: readonly GroupStatus[]): ApplyFailure | null {
  const group = all.findIndex((status) => status.failure !== null);
  const failed = all[group];
  if (failed === undefined || failed.failure === null) return null;
  // A stopped group stays in the term it stopped in.
  const unknown = { command: null, digest: null, effect: null, term: failed.term };
  return { ...placeOf(group, all), ...unknown, ...failed.failure };
}
