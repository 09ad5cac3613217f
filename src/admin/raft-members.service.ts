/**
 * `GET /api/v1/raft/members` (admin.md §1.7): the block of every member, each asked with a bound. What
 * only the leader knows (match, heartbeat, lag) comes from its view; what nobody tells is null, never 0.
 */
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { nodeId as asNodeId } from '../common/ids.js';
import { Groups } from '../raft/index.js';
import type { MemberDto, NodeBlockDto, RaftMembersDto } from './raft-view.dto.js';
import { RaftViewService } from './raft-view.service.js';

const QUESTION = 'node';
const PEER_TIMEOUT_MS = 1_500;
const SILENT = 'did not answer in time';

@Injectable()
export class RaftMembersService implements OnModuleInit {
  constructor(
    @Inject(Groups) private readonly groups: Groups,
    @Inject(RaftViewService) private readonly view: RaftViewService,
  ) {}

  onModuleInit(): void {
    this.groups.members.answer(QUESTION, () => Promise.resolve(JSON.stringify(this.view.block())));
  }

  async members(): Promise<RaftMembersDto> {
    const own = this.view.block();
    const blocks = new Map<number, NodeBlockDto>([[own.nodeId, own]]);
    const { members } = this.groups;
    await Promise.all(
      members.others().map(async (id) => {
        const question = { name: QUESTION, body: '{}', timeoutMs: PEER_TIMEOUT_MS };
        const block = readBlock(await members.ask(id, question));
        if (block !== null) blocks.set(id, { ...block, local: false, reachable: true });
      }),
    );
    const { engine, clusterId, self, voters } = this.view.status();
    const seen = this.groups.first.membersView?.() ?? null;
    const ids = new Set([...blocks.keys(), ...members.others()]);
    for (const { nodeId } of seen?.members ?? []) ids.add(nodeId);
    const rows = [...ids].sort((a, b) => a - b).map((id) => this.member(id, blocks));
    return {
      engine,
      clusterId,
      leaderId: own.leaderId,
      term: own.term,
      self,
      voters,
      members: rows,
    };
  }

  private member(id: number, blocks: ReadonlyMap<number, NodeBlockDto>): MemberDto {
    const block = blocks.get(id);
    const seen = this.groups.first.membersView?.() ?? null;
    const row = seen?.members.find(({ nodeId }) => nodeId === id);
    const leaderLog = seen === null ? null : (blocks.get(seen.leader)?.lastLogIndex ?? null);
    const leads = seen !== null ? seen.leader === id : block?.state === 'leader';
    const matchIndex = leads ? (block?.lastLogIndex ?? null) : (row?.matched ?? null);
    const ackMs = row?.lastAckMs ?? null;
    const known = {
      matchIndex,
      heartbeatAgeMs: leads || ackMs === null ? null : ackMs + (seen?.ageMs ?? 0),
      lagEntries: leads ? 0 : lagBetween(leaderLog, matchIndex),
    };
    if (block !== undefined) return { ...block, ...known };
    const { raftAddr, httpAddr } = this.view.addressesOf(asNodeId(id));
    const role = row?.voter === false ? 'learner' : 'voter';
    return {
      ...{ nodeId: id, role, state: 'unreachable', local: false, reachable: false },
      ...{ raftAddr, httpAddr, hostname: null, error: SILENT },
      ...known,
    };
  }
}

function lagBetween(leaderLog: number | null, matchIndex: number | null): number | null {
  return leaderLog === null || matchIndex === null ? null : Math.max(leaderLog - matchIndex, 0);
}

function readBlock(text: string | null): NodeBlockDto | null {
  if (text === null) return null;
  try {
    const block = JSON.parse(text) as NodeBlockDto;
    return typeof block.nodeId === 'number' ? block : null;
  } catch {
    // Not an answer of this build; the member counts as silent.
    return null;
  }
}
