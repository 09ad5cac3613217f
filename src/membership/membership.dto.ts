/** Requests and answers of the membership routes as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { COUNT } from '../docs-api/index.js';

const NODE_ID = { type: 'integer', minimum: 1 } as const;
const NODE_IDS = { type: 'array', items: { type: 'integer', minimum: 1 } } as const;
const NULLABLE_COUNT = { ...COUNT, nullable: true };
const ADDRESS = { type: 'string', description: '`host:port`.' } as const;

export class MembershipMemberDto {
  @ApiProperty(NODE_ID) readonly nodeId!: number;
  @ApiProperty({ type: 'boolean' }) readonly voter!: boolean;
  @ApiProperty({ ...ADDRESS, nullable: true }) readonly raft!: string | null;
  @ApiProperty({ ...ADDRESS, nullable: true }) readonly http!: string | null;
  @ApiProperty({ ...NULLABLE_COUNT, description: 'Null = nothing replicated yet.' })
  readonly matched!: number | null;
  @ApiProperty({ ...NULLABLE_COUNT, description: 'Entries it lacks.' }) readonly lag!:
    number | null;
  @ApiProperty({ ...NULLABLE_COUNT, description: 'ms since it was heard.' })
  readonly lastAckMs!: number | null;
  @ApiProperty({ type: 'boolean', description: 'Heard within `liveWithinMs`.' })
  readonly live!: boolean;
}

export class MembershipViewDto {
  @ApiProperty({ ...NODE_ID, description: 'Whose view this is.' }) readonly nodeId!: number;
  @ApiProperty({
    type: 'string',
    enum: ['leader', 'follower', 'stopped'],
    description: 'leader: its own view, also when relayed. follower: no leader could be reached.',
  })
  readonly source!: string;
  @ApiProperty({ ...NULLABLE_COUNT, description: 'Age of what it shows of the others, ms.' })
  readonly viewAgeMs!: number | null;
  @ApiProperty({ ...NODE_ID, nullable: true }) readonly leader!: number | null;
  @ApiProperty(COUNT) readonly term!: number;
  @ApiProperty(NODE_IDS) readonly voters!: number[];
  @ApiProperty(NODE_IDS) readonly learners!: number[];
  @ApiProperty({
    type: 'array',
    items: { type: 'array', items: { type: 'integer' } },
    nullable: true,
    description: 'The voter sets while a change is between its two steps.',
  })
  readonly joint!: number[][] | null;
  @ApiProperty(COUNT) readonly membershipIndex!: number;
  @ApiProperty({ type: 'boolean' }) readonly membershipCommitted!: boolean;
  @ApiProperty({ type: 'boolean' }) readonly changeInFlight!: boolean;
  @ApiProperty(COUNT) readonly lastLogIndex!: number;
  @ApiProperty(COUNT) readonly committedIndex!: number;
  @ApiProperty(COUNT) readonly liveWithinMs!: number;
  @ApiProperty(COUNT) readonly promoteMaxLag!: number;
  @ApiProperty({ type: [MembershipMemberDto] }) readonly members!: MembershipMemberDto[];
}

export class MembershipShownDto {
  @ApiProperty({ type: 'string', enum: ['raft'] }) readonly engine!: string;
  @ApiProperty({ type: MembershipViewDto }) readonly membership!: MembershipViewDto;
}

export class MembershipChangedDto {
  @ApiProperty({ type: 'boolean', enum: [true] }) readonly ok!: boolean;
  @ApiProperty({ type: MembershipViewDto }) readonly membership!: MembershipViewDto;
}

export class MembershipRefusedDto {
  @ApiProperty({ type: 'boolean', enum: [false] }) readonly ok!: boolean;
  @ApiProperty({ type: 'string' }) readonly code!: string;
  @ApiProperty({ type: 'string' }) readonly error!: string;
}

export class AddLearnerDto {
  @ApiProperty({ ...NODE_ID, required: false, description: '`nodeId` is accepted too.' })
  readonly id?: number;
  @ApiProperty({ ...ADDRESS, description: 'Its raft port, as the members reach it.' })
  readonly raft!: string;
  @ApiProperty({ ...ADDRESS, description: 'Its HTTP port.' }) readonly http!: string;
}

const FORCE = {
  type: 'boolean',
  required: false,
  default: false,
  description: 'Also with learners that are behind. Never helps against a missing majority.',
} as const;

export class PromoteDto {
  @ApiProperty({ ...NODE_IDS, required: false, description: '`id` is accepted for one.' })
  readonly ids?: number[];
  @ApiProperty(FORCE) readonly force?: boolean;
}

export class SetVotersDto {
  @ApiProperty({ ...NODE_IDS, required: false, description: '`voter` is accepted for one.' })
  readonly voters?: number[];
  @ApiProperty(FORCE) readonly force?: boolean;
}

const VIEW: MembershipViewDto = {
  ...{ nodeId: 2, source: 'leader', viewAgeMs: 0, leader: 2, term: 7 },
  ...{ voters: [1, 2, 3], learners: [], joint: null, membershipIndex: 2 },
  ...{ membershipCommitted: true, changeInFlight: false, lastLogIndex: 210, committedIndex: 210 },
  ...{ liveWithinMs: 2000, promoteMaxLag: 1000 },
  members: [
    {
      ...{ nodeId: 1, voter: true, raft: 'h1:7400', http: 'h1:6632', matched: 210, lag: 0 },
      ...{ lastAckMs: 80, live: true },
    },
  ],
};

export const SHOWN = { cluster: { engine: 'raft', membership: VIEW } };
export const CHANGED = { done: { ok: true, membership: VIEW } };

const refusal = (code: string, error: string): Record<string, MembershipRefusedDto> => ({
  [code]: { ok: false, code, error },
});

export const NO_GROUP = refusal('bad_request', 'there is no raft group 7');
export const BAD_REQUEST = refusal('bad_request', 'id must be a node id from 1');
export const FORBIDDEN = refusal(
  'forbidden',
  'the membership belongs to the whole cluster, not to a tenant',
);
export const CONFLICTS = {
  ...refusal('in_flight', 'another membership change runs'),
  ...refusal('no_quorum', 'of the voters 1, 2, 3 only 1 were heard within 2000 ms'),
  ...refusal('last_voter', 'node 1 is the last voter'),
  ...refusal('learner_behind', 'learner 4 is 5000 entries behind (at most 1000)'),
  ...refusal('learner_unreachable', 'node 4 does not answer at h4:7400: start it first'),
  ...refusal('learner_too_old', 'node 4 reads cluster versions up to 5, this cluster writes 6'),
  ...refusal('already_voter', 'node 1 is a voter'),
  ...refusal('address_mismatch', 'learner 4 is known as h4:7400/h4:6632; remove it first'),
  ...refusal('not_a_learner', 'node 5 is no learner'),
  ...refusal('not_a_member', 'node 5 is no member'),
  ...refusal('membership_changed', 'the membership moved while it was checked; ask again'),
  ...refusal('leader_changed', 'leadership moved; the change may still be committed'),
  ...refusal('busy', 'too many writes wait for their majority; nothing was changed'),
  ...refusal('membership_invalid', 'the change was refused'),
  ...refusal('unsupported', 'this node was started without the raft protocol'),
};
export const UNREACHABLE = refusal('leader_unreachable', 'the leader gave no answer in time');
export const TOO_LATE = refusal('timeout', 'the deadline passed; the change may still complete');
