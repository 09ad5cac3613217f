/** Requests and answers of the key-value routes as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { ANY_JSON, COUNT, TIMESTAMP } from '../docs-api/index.js';

const OPS = ['get', 'getMany', 'getPrefix', 'put', 'putIfAbsent', 'delete', 'incr', 'check'];
const REASONS = ['exists', 'absent', 'version', 'limit', 'type'];
const KV_TIME = {
  type: 'string' as const,
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}(\\.\\d{1,6})?\\+00:00$',
  description: 'UTC, as many fractional digits as it has.',
};
const optional = { required: false } as const;
const text = (description: string) => ({ ...optional, type: 'string' as const, description });

export class KvExpiryDto {
  @ApiProperty({ ...optional, type: 'integer', minimum: 1, description: 'Seconds to live.' })
  readonly ttlSeconds?: number;

  @ApiProperty({ ...optional, type: 'boolean', description: '`true`: never expires.' })
  readonly forever?: boolean;
}

export class KvPutDto extends KvExpiryDto {
  @ApiProperty({ ...ANY_JSON, description: 'Any JSON, `null` included.' }) readonly value!: unknown;

  @ApiProperty({ ...optional, ...COUNT, description: 'Version it must have; 0 = must be absent.' })
  readonly expect?: number;

  @ApiProperty({ ...optional, type: 'boolean', description: 'If it loses, nothing is written.' })
  readonly required?: boolean;
}

export class KvDeleteDto {
  @ApiProperty({ ...optional, ...COUNT }) readonly expect?: number;
  @ApiProperty({ ...optional, type: 'boolean' }) readonly required?: boolean;
}

export class KvOperationDto extends KvExpiryDto {
  @ApiProperty({ type: 'string', enum: OPS }) readonly op!: string;
  @ApiProperty({ type: 'string', description: 'Namespace; made by its first write.' })
  readonly ns!: string;
  @ApiProperty(text('At most 512 bytes, no NUL.')) readonly key?: string;
  @ApiProperty({ ...optional, type: 'array', items: { type: 'string' } }) readonly keys?: string[];
  @ApiProperty({ ...ANY_JSON, ...optional }) readonly value?: unknown;
  @ApiProperty({ ...optional, ...COUNT }) readonly expect?: number;
  @ApiProperty({ ...optional, type: 'boolean' }) readonly required?: boolean;
  @ApiProperty({ ...optional, type: 'number', description: 'Of incr; added exactly.' })
  readonly delta?: number;
  @ApiProperty({ ...optional, type: 'number', description: 'Of incr, inclusive.' })
  readonly min?: number;
  @ApiProperty({ ...optional, type: 'number', description: 'Of incr, inclusive.' })
  readonly max?: number;
  @ApiProperty(text('Of getPrefix.')) readonly prefix?: string;
  @ApiProperty(text('Of getPrefix: only keys behind this one.')) readonly after?: string;
  @ApiProperty({ ...optional, type: 'integer', default: 100, description: 'Held to 1…1000.' })
  readonly limit?: number;
  @ApiProperty({ ...optional, type: 'boolean' }) readonly keysOnly?: boolean;
}

export class KvBatchDto {
  @ApiProperty({ type: [KvOperationDto] }) readonly operations!: KvOperationDto[];
}

export class KvRowDto {
  @ApiProperty({ type: 'string' }) readonly key!: string;
  @ApiProperty({ ...ANY_JSON, ...optional }) readonly value?: unknown;
  @ApiProperty(COUNT) readonly version!: number;
  @ApiProperty({ ...KV_TIME, nullable: true }) readonly expiresAt!: string | null;
  @ApiProperty(KV_TIME) readonly updatedAt!: string;
}

export class KvElementDto {
  @ApiProperty(COUNT) readonly index!: number;
  @ApiProperty({ type: 'string', enum: OPS }) readonly op!: string;
  @ApiProperty({ ...optional, type: 'boolean', description: 'Of writes and checks.' })
  readonly applied?: boolean;
  @ApiProperty({ ...optional, type: 'string', enum: REASONS, description: 'Why it lost.' })
  readonly reason?: string;
  @ApiProperty({ ...optional, type: 'boolean', description: 'Of get.' }) readonly found?: boolean;
  @ApiProperty({ ...optional, type: 'string' }) readonly key?: string;
  @ApiProperty({ ...ANY_JSON, ...optional }) readonly value?: unknown;
  @ApiProperty({ ...optional, ...COUNT }) readonly version?: number;
  @ApiProperty({ ...optional, ...KV_TIME, nullable: true }) readonly expiresAt?: string | null;
  @ApiProperty({ ...optional, ...KV_TIME }) readonly updatedAt?: string;
  @ApiProperty({ ...optional, type: [KvRowDto] }) readonly rows?: KvRowDto[];
  @ApiProperty({ ...optional, type: 'array', items: { type: 'string' } })
  readonly missing?: string[];
  @ApiProperty({ ...optional, type: 'boolean' }) readonly truncated?: boolean;
  @ApiProperty({ ...optional, type: 'string', nullable: true, description: 'Next `after`.' })
  readonly nextAfter?: string | null;
}

export class KvResultsDto {
  @ApiProperty({ type: [KvElementDto] }) readonly results!: KvElementDto[];
}

export class KvPreconditionDto {
  @ApiProperty({ type: 'boolean', enum: [false] }) readonly ok!: boolean;
  @ApiProperty({ type: 'string', enum: ['kv_precondition'] }) readonly reason!: string;
  @ApiProperty({ ...optional, ...COUNT }) readonly failedIndex?: number;
  @ApiProperty({ ...optional, type: 'string', enum: REASONS }) readonly kvReason?: string;
  @ApiProperty({ ...optional, ...COUNT }) readonly version?: number;
  @ApiProperty({ ...ANY_JSON, ...optional }) readonly value?: unknown;
}

export class KvNamespaceDto {
  @ApiProperty({ type: 'string' }) readonly namespace!: string;
  @ApiProperty({ ...COUNT, description: 'Expired keys count until they are swept.' })
  readonly keys!: number;
}

export class KvNamespacesDto {
  @ApiProperty({ type: [KvNamespaceDto] }) readonly namespaces!: KvNamespaceDto[];
}

export class KvListDto {
  @ApiProperty({ type: 'string' }) readonly namespace!: string;
  @ApiProperty(text('Free text; empty = the whole namespace.')) readonly prefix?: string;
  @ApiProperty(text('Only keys behind this one.')) readonly after?: string;
  @ApiProperty({ ...optional, type: 'integer', default: 100, description: 'Held to 1…1000.' })
  readonly limit?: number;
  @ApiProperty({ ...optional, type: 'boolean', default: false }) readonly keysOnly?: boolean;
  @ApiProperty({ ...optional, type: 'boolean', default: false }) readonly includeExpired?: boolean;
}

export class KvListedDto {
  @ApiProperty({ type: 'string' }) readonly key!: string;
  @ApiProperty({ ...ANY_JSON, ...optional }) readonly value?: unknown;
  @ApiProperty(COUNT) readonly version!: number;
  @ApiProperty({ ...TIMESTAMP, nullable: true }) readonly expiresAt!: string | null;
  @ApiProperty({ ...optional, type: 'boolean', description: 'Only with `includeExpired`.' })
  readonly expired?: boolean;
  @ApiProperty(TIMESTAMP) readonly updatedAt!: string;
}

export class KvPageDto {
  @ApiProperty({ type: [KvListedDto] }) readonly rows!: KvListedDto[];
  @ApiProperty({ type: 'boolean' }) readonly truncated!: boolean;
  @ApiProperty({ type: 'string', nullable: true }) readonly nextAfter!: string | null;
  @ApiProperty({ ...COUNT, description: 'Value bytes of the page.' }) readonly bytes!: number;
}
