/** Requests and answers of the lock route as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { COUNT } from '../docs-api/index.js';

const optional = { required: false } as const;
const OPS = ['acquire', 'renew', 'release', 'get'];
const TOKEN = { type: 'integer' as const, minimum: 1 };

export class LockOperationDto {
  @ApiProperty({ type: 'string', enum: OPS }) readonly op!: string;
  @ApiProperty({ type: 'string', description: '1…256 bytes, no control character, no `#`.' })
  readonly name!: string;
  @ApiProperty({ ...optional, type: 'integer', minimum: 1, description: 'Of acquire and renew.' })
  readonly ttlSeconds?: number;
  @ApiProperty({ ...optional, type: 'string', nullable: true, description: 'Makes it repeatable.' })
  readonly owner?: string | null;
  @ApiProperty({ ...optional, type: 'integer', minimum: 1, maximum: 1024, default: 1 })
  readonly limit?: number;
  @ApiProperty({ ...optional, ...TOKEN, description: 'Of renew and release.' })
  readonly token?: number;
  @ApiProperty({ ...optional, type: 'integer', minimum: 0, maximum: 1023, default: 0 })
  readonly slot?: number;
}

export class LocksDto {
  @ApiProperty({ type: [LockOperationDto] }) readonly operations!: LockOperationDto[];
}

export class LockGuardDto {
  @ApiProperty({ type: 'string', enum: ['check'] }) readonly op!: string;
  @ApiProperty({ type: 'string', enum: ['queen-locks'] }) readonly ns!: string;
  @ApiProperty({ type: 'string' }) readonly key!: string;
  @ApiProperty(TOKEN) readonly expect!: number;
  @ApiProperty({ type: 'boolean', enum: [true] }) readonly required!: boolean;
}

export class LockHolderDto {
  @ApiProperty(COUNT) readonly slot!: number;
  @ApiProperty({ type: 'string', nullable: true }) readonly owner!: string | null;
  @ApiProperty({ ...optional, ...TOKEN }) readonly token?: number;
  @ApiProperty({ ...optional, type: 'string' }) readonly since?: string;
  @ApiProperty({ ...optional, type: 'string', nullable: true }) readonly expiresAt?: string | null;
  @ApiProperty({ ...optional, type: 'string' }) readonly renewedAt?: string;
}

export class LockElementDto {
  @ApiProperty(COUNT) readonly index!: number;
  @ApiProperty({ type: 'string', enum: OPS }) readonly op!: string;
  @ApiProperty({ type: 'string' }) readonly name!: string;
  @ApiProperty({ ...optional, type: 'boolean' }) readonly acquired?: boolean;
  @ApiProperty({ ...optional, type: 'boolean' }) readonly renewed?: boolean;
  @ApiProperty({ ...optional, type: 'boolean' }) readonly released?: boolean;
  @ApiProperty({ ...optional, type: 'boolean' }) readonly held?: boolean;
  @ApiProperty({ ...optional, type: 'string', enum: ['held', 'contended', 'lost'] })
  readonly reason?: string;
  @ApiProperty({ ...optional, ...COUNT }) readonly slot?: number;
  @ApiProperty({ ...optional, ...TOKEN, description: 'Fencing token; changes at every renewal.' })
  readonly token?: number;
  @ApiProperty({ ...optional, type: 'string', nullable: true }) readonly owner?: string | null;
  @ApiProperty({ ...optional, type: 'boolean', enum: [true] }) readonly already?: boolean;
  @ApiProperty({
    ...optional,
    type: LockGuardDto,
    description: 'In the `kv` of a transaction: it commits only while the permit stands.',
  })
  readonly guard?: LockGuardDto;
  @ApiProperty({ ...optional, type: [LockHolderDto] }) readonly holders?: LockHolderDto[];
}

export class LockResultsDto {
  @ApiProperty({ type: [LockElementDto] }) readonly results!: LockElementDto[];
}
