/**
 * What this node knows of its cluster (admin.md §1.7): its own block, and the leader's observation of
 * the members, its own while it leads, else the copy the leader sent last, aged. Never waits.
 */
import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { Inject, Injectable } from '@nestjs/common';
import { nodeId as asNodeId } from '../common/ids.js';
import { BROKER_VERSION } from '../common/version.js';
import { formatHostPort } from '../config/addresses.js';
import { QUEEN_CONFIG, type QueenConfig } from '../config/index.js';
import { lenientInteger, type QueryValues } from '../http/query.js';
import { Groups, type Group, type GroupStatus, type MembersView } from '../raft/index.js';
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
const MAX_GROUP = 63;
/** This store maps no file into memory. */
const NO_MAP = {
  ...{ mapBytes: null, usedBytes: null, mapUsedPct: null, readersInUse: null, maxReaders: null },
};

interface Addresses {
  readonly raftAddr: string | null;
  readonly httpAddr: string | null;
}

const UNKNOWN: Addresses = { raftAddr: null, httpAddr: null };

/** Who the members are, as far as this node has applied. */
interface Membership {
  readonly voters: readonly number[];
  readonly addresses: ReadonlyMap<number, Addresses>;
}

@Injectable()
export class RaftViewService {
  /** As QUEEN_RAFT_PEERS names them. */
  private readonly listed = new Map<number, Addresses>();

  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(QUEEN_CONFIG) private readonly config: QueenConfig,
    @Inject(RowCollector) private readonly rows: RowCollector,
  ) {
    for (const { nodeId, raft, http } of config.raft.peers) {
      this.listed.set(nodeId, {
        raftAddr: formatHostPort(raft),
        httpAddr: formatHostPort(http),
      });
    }
  }

  /** Of raft group `id`, as every view here. */
  status(id: number): RaftStatusDto {
    const group = this.groupOf(id);
    const status = group.status();
    const view = group.membersView?.() ?? null;
    const { voters, addresses } = this.membership();
    return {
      ...this.block(id),
      ...this.groupsBlock(),
      replication: status.role === 'leader' ? replicationOf(view, status.nodeId) : null,
      ...{ engine: 'raft', clusterId: clusterIdOf(addresses), self: status.nodeId },
      voters: Math.max(1, voters.length),
      singleNode: addresses.size <= 1,
    };
  }

  /** What this node tells about itself. */
  block(id: number): NodeBlockDto {
    const status = this.groupOf(id).status();
    const figures = this.groups.figures()[id];
    const { storage, raft } = this.config;
    return {
      nodeId: status.nodeId,
      hostname: hostname(),
      ...this.addressesOf(status.nodeId, id),
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

  liveness(id: number): RaftLivenessDto {
    const group = this.groupOf(id);
    const status = group.status();
    const view = group.membersView?.() ?? null;
    return {
      engine: 'raft',
      nodeId: status.nodeId,
      leaderId: status.leader,
      term: status.term,
      viewAgeMs: view === null || view.leader === status.nodeId ? null : view.ageMs,
      viewLeaderId: view?.leader ?? null,
      members: view === null ? [] : this.liveMembers(view, { self: status.nodeId, id }),
    };
  }

  /** Where each of several groups stands on this node; nothing when there is one. */
  private groupsBlock(): Pick<RaftStatusDto, 'groups'> {
    const all = this.groups.all();
    if (all.length === 1) return {};
    return {
      groups: all.map((group) => {
        const status = group.status();
        return {
          ...{ group: group.id, state: stateOf(status), leaderId: status.leader },
          ...{ term: status.term, lastLogIndex: status.lastLog, committedIndex: status.commit },
          ...{ appliedIndex: status.applied, durableIndex: status.durable },
          error: status.failure?.error ?? null,
        };
      }),
    };
  }

  /** Group 0 where none, or an unknown one, is asked for. */
  groupIn(query: QueryValues): number {
    const id = lenientInteger(query, 'group', { fallback: 0, min: 0, max: MAX_GROUP });
    return id < this.groups.all().length ? id : 0;
  }

  private groupOf(id: number): Group {
    return this.groups.all()[id] ?? this.groups.first;
  }

  private liveMembers(
    view: MembersView,
    { self, id }: { readonly self: number; readonly id: number },
  ): LiveMemberDto[] {
    return view.members.map(({ nodeId, voter, lastAckMs, matched }) => {
      const other = voter ? 'follower' : 'learner';
      return {
        nodeId,
        role: voter ? 'voter' : 'learner',
        state: nodeId === view.leader ? 'leader' : other,
        ...liveAddresses(this.addressesOf(nodeId, id)),
        lastAckMs: lastAckMs === null ? null : lastAckMs + view.ageMs,
        matchIndex: matched,
        local: nodeId === self,
      };
    });
  }

  addressesOf(nodeId: number, id: number): Addresses {
    const known = this.groupOf(id).cluster?.members().addresses.get(asNodeId(nodeId));
    if (known !== undefined) return { raftAddr: known.raft, httpAddr: known.http };
    const { addresses } = this.membership();
    return addresses.get(nodeId) ?? this.listed.get(nodeId) ?? UNKNOWN;
  }

  /** A node that joins knows nobody yet: then those it was told of. */
  membership(): Membership {
    const members = this.groups.first.cluster?.members();
    if (members === undefined || members.addresses.size === 0) {
      return { voters: [...this.listed.keys()], addresses: this.listed };
    }
    const { voters, outgoing } = members.config;
    const addresses = new Map<number, Addresses>();
    for (const [id, { raft, http }] of members.addresses) {
      addresses.set(id, { raftAddr: raft, httpAddr: http });
    }
    return { voters: [...new Set([...voters, ...outgoing])], addresses };
  }
}

function clusterIdOf(addresses: ReadonlyMap<number, Addresses>): string {
  const named = JSON.stringify(
    [...addresses]
      .sort(([a], [b]) => a - b)
      .map(([id, { raftAddr: raft, httpAddr: http }]) => [id, { raft, http }]),
  );
  return createHash('sha256').update(named).digest('hex').slice(0, ID_DIGITS);
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
