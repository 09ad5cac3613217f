/** Bodies of `GET /api/v1/raft/*` (admin.md §1.7) as the API document shows them. */
import { ApiExtraModels, ApiProperty } from '@nestjs/swagger';
import { COUNT } from '../docs-api/index.js';

const TEXT_OR_NULL = { type: 'string', nullable: true } as const;
const COUNT_OR_NULL = { ...COUNT, nullable: true } as const;
const NUMBER_OR_NULL = { type: 'number', nullable: true } as const;
const ENGINE = { type: 'string', enum: ['raft'] } as const;

export class ReplicationDto {
  @ApiProperty(COUNT) readonly nodeId!: number;
  @ApiProperty(COUNT_OR_NULL) readonly matchIndex!: number | null;
  @ApiProperty(NUMBER_OR_NULL) readonly heartbeatAgeMs!: number | null;
}

export class LogUsageDto {
  @ApiProperty(COUNT) readonly files!: number;
  @ApiProperty(COUNT) readonly bytes!: number;
}

export class StoreUsageDto {
  @ApiProperty(NUMBER_OR_NULL) readonly mapBytes!: number | null;
  @ApiProperty(NUMBER_OR_NULL) readonly usedBytes!: number | null;
  @ApiProperty(NUMBER_OR_NULL) readonly mapUsedPct!: number | null;
  @ApiProperty(NUMBER_OR_NULL) readonly readersInUse!: number | null;
  @ApiProperty(NUMBER_OR_NULL) readonly maxReaders!: number | null;
}

export class DiskUsageDto {
  @ApiProperty(NUMBER_OR_NULL) readonly usedPct!: number | null;
  @ApiProperty(NUMBER_OR_NULL) readonly usedBytes!: number | null;
  @ApiProperty(NUMBER_OR_NULL) readonly totalBytes!: number | null;
  @ApiProperty({ type: 'boolean', description: 'A full disk refuses writes.' })
  readonly gate!: boolean;
  @ApiProperty({ type: 'number' }) readonly highPct!: number;
  @ApiProperty({ type: 'number' }) readonly lowPct!: number;
  @ApiProperty({ type: 'boolean' }) readonly writesRefused!: boolean;
}

export class HostUsageDto {
  @ApiProperty({ ...NUMBER_OR_NULL, description: 'Percent of one core.' })
  readonly cpuPct!: number | null;
  @ApiProperty(NUMBER_OR_NULL) readonly cpuWindowSeconds!: number | null;
  @ApiProperty(COUNT) readonly cpus!: number;
  @ApiProperty(COUNT) readonly rssBytes!: number;
  @ApiProperty(NUMBER_OR_NULL) readonly anonBytes!: number | null;
  @ApiProperty(COUNT) readonly memLimitBytes!: number;
  @ApiProperty({ type: DiskUsageDto }) readonly disk!: DiskUsageDto;
}

/** What a node tells about itself. */
export class NodeBlockDto {
  @ApiProperty(COUNT) readonly nodeId!: number;
  @ApiProperty(TEXT_OR_NULL) readonly hostname!: string | null;
  @ApiProperty(TEXT_OR_NULL) readonly raftAddr!: string | null;
  @ApiProperty(TEXT_OR_NULL) readonly httpAddr!: string | null;
  @ApiProperty({ type: 'string', enum: ['voter', 'learner'] }) readonly role!: string;

  @ApiProperty({
    type: 'string',
    enum: ['leader', 'follower', 'candidate', 'learner', 'shutdown', 'unreachable'],
  })
  readonly state!: string;

  @ApiProperty({ type: 'boolean' }) readonly local!: boolean;
  @ApiProperty({ type: 'boolean' }) readonly reachable!: boolean;
  @ApiProperty(COUNT_OR_NULL) readonly leaderId!: number | null;
  @ApiProperty(COUNT) readonly term!: number;
  @ApiProperty(COUNT) readonly lastLogIndex!: number;
  @ApiProperty(COUNT) readonly committedIndex!: number;
  @ApiProperty(COUNT) readonly appliedIndex!: number;
  @ApiProperty(COUNT) readonly durableIndex!: number;
  @ApiProperty(COUNT) readonly inflight!: number;
  @ApiProperty(COUNT) readonly proposals!: number;
  @ApiProperty({ type: LogUsageDto }) readonly log!: LogUsageDto;

  @ApiProperty({ type: StoreUsageDto, description: 'Null: this store maps no file.' })
  readonly store!: StoreUsageDto;

  @ApiProperty({ type: HostUsageDto }) readonly host!: HostUsageDto;
  @ApiProperty({ type: 'string' }) readonly version!: string;
  @ApiProperty(COUNT) readonly uptimeSeconds!: number;
  @ApiProperty(TEXT_OR_NULL) readonly error!: string | null;
}

/** One of several raft groups on the node that was asked. */
export class RaftGroupDto {
  @ApiProperty(COUNT) readonly group!: number;
  @ApiProperty({
    type: 'string',
    enum: ['leader', 'follower', 'candidate', 'learner', 'shutdown'],
  })
  readonly state!: string;

  @ApiProperty(COUNT_OR_NULL) readonly leaderId!: number | null;
  @ApiProperty(COUNT) readonly term!: number;
  @ApiProperty(COUNT) readonly lastLogIndex!: number;
  @ApiProperty(COUNT) readonly committedIndex!: number;
  @ApiProperty(COUNT) readonly appliedIndex!: number;
  @ApiProperty(COUNT) readonly durableIndex!: number;
  @ApiProperty(TEXT_OR_NULL) readonly error!: string | null;
}

@ApiExtraModels(ReplicationDto, LogUsageDto)
export class RaftStatusDto extends NodeBlockDto {
  @ApiProperty({
    type: 'array',
    nullable: true,
    items: { $ref: '#/components/schemas/ReplicationDto' },
    description: 'Null unless this node leads.',
  })
  readonly replication!: readonly ReplicationDto[] | null;

  @ApiProperty(ENGINE) readonly engine!: string;
  @ApiProperty({ type: 'string' }) readonly clusterId!: string;
  @ApiProperty(COUNT) readonly self!: number;
  @ApiProperty(COUNT) readonly voters!: number;
  @ApiProperty({ type: 'boolean' }) readonly singleNode!: boolean;

  @ApiProperty({
    type: [RaftGroupDto],
    required: false,
    description: 'Only with QUEEN_RAFT_GROUPS above 1.',
  })
  readonly groups?: readonly RaftGroupDto[];
}

const REPLICATION = {
  matchIndex: COUNT_OR_NULL,
  heartbeatAgeMs: { ...NUMBER_OR_NULL, description: 'Null on the leader.' },
  lagEntries: COUNT_OR_NULL,
} as const;

/** A member that answered. */
export class AnsweringMemberDto extends NodeBlockDto {
  @ApiProperty(REPLICATION.matchIndex) readonly matchIndex!: number | null;
  @ApiProperty(REPLICATION.heartbeatAgeMs) readonly heartbeatAgeMs!: number | null;
  @ApiProperty(REPLICATION.lagEntries) readonly lagEntries!: number | null;
}

/** A member that did not: what the others know of it. */
export class SilentMemberDto {
  @ApiProperty(COUNT) readonly nodeId!: number;
  @ApiProperty({ type: 'string', enum: ['voter', 'learner'] }) readonly role!: string;
  @ApiProperty({ type: 'string', enum: ['unreachable'] }) readonly state!: string;
  @ApiProperty({ type: 'boolean' }) readonly local!: boolean;
  @ApiProperty({ type: 'boolean', enum: [false] }) readonly reachable!: boolean;
  @ApiProperty(TEXT_OR_NULL) readonly raftAddr!: string | null;
  @ApiProperty(TEXT_OR_NULL) readonly httpAddr!: string | null;
  @ApiProperty(TEXT_OR_NULL) readonly hostname!: string | null;
  @ApiProperty({ type: 'string' }) readonly error!: string;
  @ApiProperty(REPLICATION.matchIndex) readonly matchIndex!: number | null;
  @ApiProperty(REPLICATION.heartbeatAgeMs) readonly heartbeatAgeMs!: number | null;
  @ApiProperty(REPLICATION.lagEntries) readonly lagEntries!: number | null;
}

export type MemberDto = AnsweringMemberDto | SilentMemberDto;

@ApiExtraModels(AnsweringMemberDto, SilentMemberDto)
export class RaftMembersDto {
  @ApiProperty(ENGINE) readonly engine!: string;
  @ApiProperty({ type: 'string' }) readonly clusterId!: string;
  @ApiProperty(COUNT_OR_NULL) readonly leaderId!: number | null;
  @ApiProperty(COUNT) readonly term!: number;
  @ApiProperty(COUNT) readonly self!: number;
  @ApiProperty(COUNT) readonly voters!: number;

  @ApiProperty({
    type: 'array',
    items: {
      oneOf: [
        { $ref: '#/components/schemas/AnsweringMemberDto' },
        { $ref: '#/components/schemas/SilentMemberDto' },
      ],
    },
    description: 'By node id.',
  })
  readonly members!: readonly MemberDto[];
}

export class LiveMemberDto {
  @ApiProperty(COUNT) readonly nodeId!: number;
  @ApiProperty({ type: 'string', enum: ['voter', 'learner'] }) readonly role!: string;
  @ApiProperty({ type: 'string', enum: ['leader', 'follower', 'learner'] }) readonly state!: string;
  @ApiProperty(TEXT_OR_NULL) readonly http!: string | null;
  @ApiProperty(TEXT_OR_NULL) readonly raft!: string | null;
  @ApiProperty(NUMBER_OR_NULL) readonly lastAckMs!: number | null;
  @ApiProperty(COUNT_OR_NULL) readonly matchIndex!: number | null;
  @ApiProperty({ type: 'boolean' }) readonly local!: boolean;
}

export class RaftLivenessDto {
  @ApiProperty(ENGINE) readonly engine!: string;
  @ApiProperty(COUNT) readonly nodeId!: number;
  @ApiProperty(COUNT_OR_NULL) readonly leaderId!: number | null;
  @ApiProperty(COUNT) readonly term!: number;

  @ApiProperty({ ...NUMBER_OR_NULL, description: 'Null on the leader, whose view is its own.' })
  readonly viewAgeMs!: number | null;

  @ApiProperty(COUNT_OR_NULL) readonly viewLeaderId!: number | null;
  @ApiProperty({ type: [LiveMemberDto] }) readonly members!: readonly LiveMemberDto[];
}

const HOST = {
  ...{ cpuPct: 35, cpuWindowSeconds: 60, cpus: 4, rssBytes: 220_000_000, anonBytes: 180_000_000 },
  memLimitBytes: 2_147_483_648,
  disk: {
    ...{ usedPct: 41, usedBytes: 41_000_000_000, totalBytes: 100_000_000_000, gate: true },
    ...{ highPct: 85, lowPct: 80, writesRefused: false },
  },
};
const STORE = {
  ...{ mapBytes: null, usedBytes: null, mapUsedPct: null, readersInUse: null, maxReaders: null },
};

export const STATUS_EXAMPLE = {
  ...{ nodeId: 1, hostname: 'n1', raftAddr: 'n1:7400', httpAddr: 'n1:6632', role: 'voter' },
  ...{ state: 'leader', local: true, reachable: true, leaderId: 1, term: 4, lastLogIndex: 90 },
  ...{ committedIndex: 90, appliedIndex: 90, durableIndex: 88, inflight: 0, proposals: 70 },
  ...{ log: { files: 2, bytes: 4096 }, version: '0.1.0', uptimeSeconds: 99, error: null },
  ...{ store: STORE, host: HOST },
  replication: [{ nodeId: 2, matchIndex: 90, heartbeatAgeMs: 40 }],
  ...{ engine: 'raft', clusterId: '5f3c9a0d1b2e4f60', self: 1, voters: 3, singleNode: false },
};

const { replication: _replication, engine, clusterId, self, voters, ...block } = STATUS_EXAMPLE;
const { singleNode: _singleNode, ...memberBlock } = block;

export const MEMBERS_EXAMPLE = {
  ...{ engine, clusterId, leaderId: 1, term: 4, self, voters },
  members: [
    { ...memberBlock, matchIndex: 90, heartbeatAgeMs: null, lagEntries: 0 },
    {
      ...{ nodeId: 2, role: 'voter', state: 'unreachable', local: false, reachable: false },
      ...{ raftAddr: 'n2:7400', httpAddr: 'n2:6632', hostname: null },
      ...{ error: 'did not answer in time', matchIndex: 80, heartbeatAgeMs: 9000, lagEntries: 10 },
    },
  ],
};

export const LIVENESS_EXAMPLE = {
  ...{ engine: 'raft', nodeId: 1, leaderId: 1, term: 4, viewAgeMs: null, viewLeaderId: 1 },
  members: [
    {
      ...{ nodeId: 2, role: 'voter', state: 'follower', http: 'n2:6632', raft: 'n2:7400' },
      ...{ lastAckMs: 40, matchIndex: 90, local: false },
    },
  ],
};
