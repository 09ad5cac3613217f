/** Body of `GET /metrics` (admin.md §1.1) as the API document shows it. */
import { ApiProperty } from '@nestjs/swagger';
import { COUNT } from '../docs-api/index.js';

class RateDto {
  @ApiProperty(COUNT) readonly total!: number;
  @ApiProperty({ type: 'number', enum: [0] }) readonly rate!: number;
}

class MemoryDto {
  @ApiProperty({ ...COUNT, description: 'Bytes.' }) readonly rss!: number;
  @ApiProperty(COUNT) readonly heapTotal!: number;
  @ApiProperty(COUNT) readonly heapUsed!: number;
  @ApiProperty(COUNT) readonly external!: number;
  @ApiProperty(COUNT) readonly arrayBuffers!: number;
}

class CpuDto {
  @ApiProperty({ ...COUNT, description: 'Microseconds since the start.' }) readonly user!: number;
  @ApiProperty(COUNT) readonly system!: number;
}

export class RaftStateDto {
  @ApiProperty({ type: 'string', description: 'As in `/health`.' }) readonly role!: string;
  @ApiProperty({ type: 'boolean' }) readonly leader!: boolean;
  @ApiProperty(COUNT) readonly term!: number;
  @ApiProperty(COUNT) readonly applied!: number;
  @ApiProperty(COUNT) readonly commit!: number;
  @ApiProperty({ type: 'number', minimum: 0 }) readonly lag!: number;
  @ApiProperty({ type: 'number', minimum: 0, nullable: true })
  readonly quorumAckMs!: number | null;

  @ApiProperty({ type: 'boolean' }) readonly storageReady!: boolean;
}

export class MetricsDto {
  @ApiProperty({ ...COUNT, description: 'Seconds.' }) readonly uptime!: number;

  @ApiProperty({ type: RateDto, description: 'Push, pop and ack requests of this process.' })
  readonly requests!: RateDto;

  @ApiProperty({ type: RateDto, description: 'Their messages.' })
  readonly messages!: RateDto;

  @ApiProperty({ type: MemoryDto }) readonly memory!: MemoryDto;
  @ApiProperty({ type: CpuDto }) readonly cpu!: CpuDto;
  @ApiProperty({ type: 'string', enum: ['raft'] }) readonly engine!: string;
  @ApiProperty({ type: RaftStateDto }) readonly raft!: RaftStateDto;
}

const MIB = 1_048_576;

export const METRICS_ANSWERS = {
  'of a busy node': {
    uptime: 3600,
    requests: { total: 10, rate: 0 },
    messages: { total: 99, rate: 0 },
    memory: {
      ...{ rss: 120 * MIB, heapTotal: 40 * MIB, heapUsed: 32 * MIB, external: 8 * MIB },
      arrayBuffers: 6 * MIB,
    },
    cpu: { user: 2_000_000, system: 300_000 },
    engine: 'raft',
    raft: {
      ...{ role: 'leader', leader: true, term: 2, applied: 9, commit: 9, lag: 0 },
      ...{ quorumAckMs: 0, storageReady: true },
    },
  },
};
