/**
 * Readiness of this node (cluster.md §1.10): a leader is known, applied state is fresh, a quorum was
 * heard from, storage works. Reads the groups' own status; never waits, never touches the log.
 */
import { Inject, Injectable } from '@nestjs/common';
import type { HealthIndicatorResult } from '@nestjs/terminus';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import type { GroupStatus } from '../raft/index.js';
import { Groups } from '../raft/index.js';

export interface RaftHealth {
  readonly role: string;
  readonly leader: boolean;
  readonly term: number;
  readonly applied: number;
  readonly commit: number;
  readonly lag: number;
  readonly quorumAckMs: number | null;
  readonly storageReady: boolean;
  readonly clusterVersion: number;
  readonly kinds: number;
  readonly apply: { readonly failure: unknown; readonly skipped: readonly unknown[] };
}

@Injectable()
export class BrokerIndicator {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
  ) {}

  /** Terminus result; `up` means ready to serve clients now. */
  check(): HealthIndicatorResult {
    const raft = this.raft();
    return { raft: { status: this.isReady(raft) ? 'up' : 'down', ...raft } };
  }

  /** The `raft` block: group 0, with readiness facts ANDed (or maximised) over all groups. */
  raft(): RaftHealth {
    const all = this.groups.all().map((group) => group.status());
    const first = all[0];
    if (first === undefined) throw new Error('no raft group is open');
    return {
      role: roleOf(all),
      leader: all.every((status) => status.leader !== null && status.role !== 'stopped'),
      term: first.term,
      applied: first.applied,
      commit: first.commit,
      lag: Math.max(...all.map((status) => status.lagMs)),
      quorumAckMs: slowestQuorum(all),
      storageReady: all.every((status) => status.storageReady),
      clusterVersion: first.clusterVersion,
      kinds: first.kinds,
      apply: {
        failure: all.find((status) => status.failure !== null)?.failure ?? null,
        skipped: [],
      },
    };
  }

  isReady(raft: RaftHealth): boolean {
    const { readyLagMs, readyQuorumMs } = this.config.raft;
    const quorumHeard =
      readyQuorumMs === 0 || raft.quorumAckMs === null || raft.quorumAckMs <= readyQuorumMs;
    return raft.leader && raft.storageReady && raft.lag <= readyLagMs && quorumHeard;
  }
}

function roleOf(all: readonly GroupStatus[]): string {
  const first = all[0];
  if (first === undefined) return 'stopped';
  const leadsAnother = all.some((status, i) => i > 0 && status.role === 'leader');
  return first.role !== 'leader' && leadsAnother ? `${first.role}+leader` : first.role;
}

function slowestQuorum(all: readonly GroupStatus[]): number | null {
  const known = all.map((status) => status.quorumAckMs).filter((ms) => ms !== null);
  return known.length === 0 ? null : Math.max(...known);
}
