/** Body of `GET /health` (cluster.md §1.10) as the API document shows it. */
import { ApiExtraModels, ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { COUNT } from '../docs-api/index.js';

export class ApplyFailureDto {
  @ApiProperty({ type: 'string', description: '`NODE-LOCAL` or `DETERMINISTIC`.' })
  readonly class!: string;

  @ApiProperty({ type: 'string', nullable: true }) readonly command!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) readonly digest!: string | null;
  @ApiProperty({ type: 'string', nullable: true }) readonly effect!: string | null;
  @ApiProperty({ type: 'string' }) readonly error!: string;
  @ApiProperty(COUNT) readonly index!: number;
  @ApiProperty(COUNT) readonly term!: number;
  @ApiProperty({ ...COUNT, required: false, description: 'Raft group, where there are several.' })
  readonly group?: number;
}

@ApiExtraModels(ApplyFailureDto)
export class ApplyStateDto {
  @ApiProperty({
    oneOf: [
      { $ref: getSchemaPath(ApplyFailureDto) },
      { type: 'object', nullable: true, enum: [null] },
    ],
    description: 'Why this node stopped; null while it works.',
  })
  readonly failure!: ApplyFailureDto | null;

  @ApiProperty({
    type: 'array',
    items: { type: 'object' },
    description: 'Entries an operator made this node skip.',
  })
  readonly skipped!: unknown[];
}

export class RaftPositionDto {
  @ApiProperty({
    type: 'string',
    enum: [
      'leader',
      'follower',
      'learner',
      'candidate',
      'stopped',
      'follower+leader',
      'learner+leader',
      'candidate+leader',
      'stopped+leader',
    ],
  })
  readonly role!: string;

  @ApiProperty({ type: 'boolean', description: 'This node knows a leader.' })
  readonly leader!: boolean;

  @ApiProperty(COUNT) readonly term!: number;
  @ApiProperty({ ...COUNT, description: 'Applied here.' }) readonly applied!: number;
  @ApiProperty({ ...COUNT, description: 'Known to be committed.' }) readonly commit!: number;

  @ApiProperty({ type: 'number', minimum: 0, description: 'Milliseconds behind; 0 on the leader.' })
  readonly lag!: number;

  @ApiProperty({
    type: 'number',
    minimum: 0,
    nullable: true,
    description: 'Milliseconds since a majority was heard from; null: not known.',
  })
  readonly quorumAckMs!: number | null;

  @ApiProperty({ type: 'boolean' }) readonly storageReady!: boolean;
}

export class RaftHealthDto extends RaftPositionDto {
  @ApiProperty({ ...COUNT, description: 'Format the cluster writes.' })
  readonly clusterVersion!: number;

  @ApiProperty({ ...COUNT, description: 'Highest format this build reads.' })
  readonly kinds!: number;

  @ApiProperty({ type: ApplyStateDto }) readonly apply!: ApplyStateDto;
}

export class HealthDto {
  @ApiProperty({ type: 'string', enum: ['healthy', 'settling'] }) readonly status!: string;
  @ApiProperty({ type: 'string', enum: ['raft'] }) readonly engine!: string;
  @ApiProperty({ type: 'string' }) readonly version!: string;
  @ApiProperty({ type: RaftHealthDto }) readonly raft!: RaftHealthDto;
}

const raft = {
  ...{ role: 'leader', leader: true, term: 7, applied: 210, commit: 210, lag: 0 },
  ...{ quorumAckMs: 0, storageReady: true, clusterVersion: 6, kinds: 6 },
  apply: { failure: null, skipped: [] },
};

export const READY = { ready: { status: 'healthy', engine: 'raft', version: '0.1.0', raft } };

export const NOT_READY = {
  'the log cannot be written': {
    ...{ status: 'settling', engine: 'raft', version: '0.1.0' },
    raft: {
      ...{ ...raft, role: 'stopped', leader: false, quorumAckMs: null, storageReady: false },
      apply: {
        failure: {
          ...{ class: 'NODE-LOCAL', command: null, digest: null, effect: null },
          ...{ error: 'EIO: i/o error, fdatasync', index: 210, term: 7 },
        },
        skipped: [],
      },
    },
  },
};
