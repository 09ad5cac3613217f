/**
 * What this node knows of its cluster (admin.md §1.7): its own block, and the leader's observation of
 * the members, its own while it leads, else the copy the leader sent last, aged. Never waits.
 */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { Inject, Injectable } from '@nestjs/common';
import { BROKER_VERSION } from '../common/version.js';
import { formatHostPort } from '../config/addresses.js';
import { QUEEN_CONFIG, type QueenConfig } from '../config/index.js';
import { Groups, type GroupStatus, type MembersView } from '../raft/index.js';
import { hostBlock } from './host-block.js';
import type {
  LiveMemberDto,
  NodeBlockDto,
  RaftLivenessDto,
  RaftStatusDto,
  ReplicationDto,
} from './raft-view.dto.js';
import { RowCollector } from './rows/row-collector.service.js';

const ID_DIGITS = 16;
/** This store maps no file into memory. */
const NO_MAP = {
  ...{ mapBytes: null, usedBytes: null, mapUsedPct: null, readersInUse: null, maxReaders: null },
};

interface Addresses {
  readonly raftAddr: string | null;
  readonly httpAddr: string | null;
}

@Injectable()
export class RaftViewService {
  private readonly addresses = new Map<number, Addresses>();
  private readonly clusterId: string;

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(RowCollector) private readonly rows: RowCollector,
  ) {
    for (const { nodeId, raft, http } of config.raft.peers) {
      this.addresses.set(nodeId, {
        raftAddr: formatHostPort(raft),
        httpAddr: formatHostPort(http),
      });
    }
    const named = JSON.stringify(
      [...this.addresses]
        .sort(([a], [b]) => a - b)
        .map(([id, { raftAddr: raft, httpAddr: http }]) => [id, { raft, http }]),
    );
    this.clusterId = createHash('sha256').update(named).digest('hex').slice(0, ID_DIGITS);
  }

  status(): RaftStatusDto {
    const status = this.groups.first.status();
    const view = this.groups.first.membersView?.() ?? null;
    return {
      ...this.block(),
      replication: status.role === 'leader' ? replicationOf(view, status.nodeId) : null,
      ...{ engine: 'raft', clusterId: this.clusterId, self: status.nodeId },
      voters: Math.max(1, this.addresses.size),
      singleNode: this.addresses.size === 0,
    };
  }

  /** What this node tells about itself. */
  block(): NodeBlockDto {
    const status = this.groups.first.status();
    const [figures] = this.groups.figures();
    const { storage, raft } = this.config;
    return {
      nodeId: status.nodeId,
      hostname: hostname(),
      ...this.addressesOf(status.nodeId),
      role: status.role === 'learner' ? 'learner' : 'voter',
      state: stateOf(status),
      ...{ local: true, reachable: true },
      leaderId: status.leader,
      term: status.term,
      lastLogIndex: status.lastLog,
      committedIndex: status.commit,
      appliedIndex: status.applied,
      durableIndex: status.durable,
      inflight: status.inflight,
      proposals: status.proposals,
      log: figures?.logUsage ?? { files: 0, bytes: 0 },
      version: BROKER_VERSION,
      uptimeSeconds: Math.floor(process.uptime()),
      error: status.failure?.error ?? null,
      store: NO_MAP,
      host: hostBlock(this.rows.frames.last, {
        directory: raft.dir,
        highPct: storage.diskHighPct,
        lowPct: storage.diskLowPct,
        writesRefused: status.storageFull,
      }),
    };
  }

  liveness(): RaftLivenessDto {
    const status = this.groups.first.status();
    const view = this.groups.first.membersView?.() ?? null;
    return {
      engine: 'raft',
      nodeId: status.nodeId,
      leaderId: status.leader,
      term: status.term,
      viewAgeMs: view === null || view.leader === status.nodeId ? null : view.ageMs,
      viewLeaderId: view?.leader ?? null,
      members: view === null ? [] : this.liveMembers(view, status.nodeId),
    };
  }

  private liveMembers(view: MembersView, self: number): LiveMemberDto[] {
    return view.members.map(({ nodeId, voter, lastAckMs, matched }) => {
      const other = voter ? 'follower' : 'learner';
      return {
        nodeId,
        role: voter ? 'voter' : 'learner',
        state: nodeId === view.leader ? 'leader' : other,
        ...liveAddresses(this.addressesOf(nodeId)),
        lastAckMs: lastAckMs === null ? null : lastAckMs + view.ageMs,
        matchIndex: matched,
        local: nodeId === self,
      };
    });
  }

  addressesOf(nodeId: number): Addresses {
    return this.addresses.get(nodeId) ?? { raftAddr: null, httpAddr: null };
  }
}

function liveAddresses({ raftAddr, httpAddr }: Addresses): Pick<LiveMemberDto, 'http' | 'raft'> {
  return { http: httpAddr, raft: raftAddr };
}

function replicationOf(view: MembersView | null, self: number): ReplicationDto[] {
  return (view?.members ?? [])
    .filter(({ nodeId }) => nodeId !== self)
    .map(({ nodeId, lastAckMs, matched }) => ({
      nodeId,
      matchIndex: matched,
      heartbeatAgeMs: lastAckMs,
    }));
}

function stateOf({ role }: GroupStatus): string {
  return role === 'stopped' ? 'shutdown' : role;
}
