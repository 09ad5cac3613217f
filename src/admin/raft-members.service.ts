/**
 * `GET /api/v1/raft/members` (admin.md §1.7): the block of every member, each asked with a bound. What
 * only the leader knows (match, heartbeat, lag) comes from its view; what nobody tells is null, never 0.
 */
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Groups, type MembersView } from '../raft/index.js';
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
    this.groups.members.answer(QUESTION, (body) =>
      Promise.resolve(JSON.stringify(this.view.block(readGroup(body)))),
    );
  }

  /** Of raft group `group`. */
  async members(group: number): Promise<RaftMembersDto> {
    const own = this.view.block(group);
    const blocks = new Map<number, NodeBlockDto>([[own.nodeId, own]]);
    const { members } = this.groups;
    await Promise.all(
      members.others().map(async (id) => {
        const question = {
          name: QUESTION,
          body: JSON.stringify({ group }),
          timeoutMs: PEER_TIMEOUT_MS,
        };
        const block = readBlock(await members.ask(id, question));
        if (block !== null) blocks.set(id, { ...block, local: false, reachable: true });
      }),
    );
    const { engine, clusterId, self, voters } = this.view.status(group);
    const seen = this.viewOf(group);
    const ids = new Set([...blocks.keys(), ...members.others()]);
    for (const { nodeId } of seen?.members ?? []) ids.add(nodeId);
    const rows = [...ids].sort((a, b) => a - b).map((id) => this.member(id, { group, blocks }));
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

  private viewOf(group: number): MembersView | null {
    return this.groups.all()[group]?.membersView?.() ?? null;
  }

  private member(
    id: number,
    {
      group,
      blocks,
    }: { readonly group: number; readonly blocks: ReadonlyMap<number, NodeBlockDto> },
  ): MemberDto {
    const block = blocks.get(id);
    const seen = this.viewOf(group);
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
    const { raftAddr, httpAddr } = this.view.addressesOf(id, group);
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

/** A member of an older build asks for no group and means group 0. */
function readGroup(body: string): number {
  const { group } = JSON.parse(body) as { group?: unknown };
  return typeof group === 'number' ? group : 0;
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
