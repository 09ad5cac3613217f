/** Shapes of the streams routes for the API document. */
import { ApiProperty } from '@nestjs/swagger';
import { ANY_JSON, COUNT, TIMESTAMP, UUID_TEXT } from '../docs-api/index.js';
import { MAX_STATE_KEYS, MAX_STATE_LIMIT } from './state-read.js';

const NAME = { type: 'string', minLength: 1 } as const;
const FLAG = { type: 'boolean' } as const;
const ANY_OBJECT = { type: 'object', additionalProperties: true } as const;

export class RegisterQueryDto {
  @ApiProperty({ ...NAME, description: 'Unique in its tenant.' })
  readonly name!: string;
  @ApiProperty(NAME)
  readonly source_queue!: string;
  @ApiProperty({ type: 'string', required: false })
  readonly sink_queue?: string;
  @ApiProperty({ ...NAME, description: 'Opaque; another one needs `reset`.' })
  readonly config_hash!: string;
  @ApiProperty({ ...FLAG, required: false, default: false })
  readonly reset?: boolean;
}

export class RegisteredQueryDto {
  @ApiProperty({ ...FLAG, enum: [true] })
  readonly success!: boolean;
  @ApiProperty(UUID_TEXT)
  readonly query_id!: string;
  @ApiProperty({ type: 'string' })
  readonly name!: string;
  @ApiProperty({ type: 'string' })
  readonly config_hash!: string;
  @ApiProperty(FLAG)
  readonly fresh!: boolean;
  @ApiProperty(FLAG)
  readonly reset!: boolean;
}

export class QueryMismatchDto {
  @ApiProperty({ ...FLAG, enum: [false] })
  readonly success!: boolean;
  @ApiProperty(UUID_TEXT)
  readonly query_id!: string;
  @ApiProperty({ type: 'string' })
  readonly name!: string;
  @ApiProperty({ type: 'string' })
  readonly error!: string;
}

export class QueryDeniedDto {
  @ApiProperty({ ...FLAG, enum: [false] })
  readonly success!: boolean;
  @ApiProperty({ ...FLAG, enum: [true] })
  readonly denied!: boolean;
  @ApiProperty({ type: 'string' })
  readonly error!: string;
}

export class ReadStateDto {
  @ApiProperty(UUID_TEXT)
  readonly query_id!: string;
  @ApiProperty({ ...NAME, description: 'Number or UUID.' })
  readonly partition_id!: string;
  @ApiProperty({ type: [String], required: false, maxItems: MAX_STATE_KEYS })
  readonly keys?: string[];
  @ApiProperty({ type: 'string', required: false })
  readonly key_prefix?: string;
  @ApiProperty({ type: 'number', required: false, description: 'Epoch ms against `windowEnd`.' })
  readonly ripe_at_or_before?: number;
  @ApiProperty({
    type: 'integer',
    required: false,
    description: `A page of so many rows, at most ${MAX_STATE_LIMIT}.`,
  })
  readonly limit?: number;
  @ApiProperty({ type: 'string', required: false, description: 'Only keys behind this one.' })
  readonly after?: string;
}

class StateRowDto {
  @ApiProperty({ type: 'string' })
  readonly key!: string;
  @ApiProperty(ANY_JSON)
  readonly value!: unknown;
  @ApiProperty(TIMESTAMP)
  readonly updated_at!: string;
}

export class StateRowsDto {
  @ApiProperty({ ...FLAG, enum: [true] })
  readonly success!: boolean;
  @ApiProperty({ type: [StateRowDto] })
  readonly rows!: StateRowDto[];
  @ApiProperty({ ...FLAG, required: false, description: 'Of a page: there is more.' })
  readonly truncated?: boolean;
  @ApiProperty({ type: 'string', required: false, nullable: true, description: 'Of a page.' })
  readonly next_after?: string | null;
}

export class StreamNotFoundDto {
  @ApiProperty({ ...FLAG, required: false, enum: [false] })
  readonly success?: boolean;
  @ApiProperty({ type: 'string' })
  readonly error!: string;
}

export class CycleDto {
  @ApiProperty(UUID_TEXT)
  readonly query_id!: string;
  @ApiProperty(NAME)
  readonly partition_id!: string;
  @ApiProperty({ type: 'string', required: false })
  readonly consumer_group?: string;
  @ApiProperty({ type: 'array', items: ANY_OBJECT, required: false })
  readonly state_ops?: object[];
  @ApiProperty({ type: 'array', items: ANY_OBJECT, required: false })
  readonly push_items?: object[];
  @ApiProperty({ ...ANY_JSON, required: false })
  readonly ack?: object | null;
  @ApiProperty({ ...FLAG, required: false, default: true })
  readonly release_lease?: boolean;
}

class SinkResultDto {
  @ApiProperty({ type: 'string' })
  readonly queueName!: string;
  @ApiProperty(UUID_TEXT)
  readonly messageId!: string;
  @ApiProperty({ type: 'string' })
  readonly transactionId!: string;
  @ApiProperty({ type: 'string', enum: ['created'] })
  readonly status!: string;
}

export class CommittedCycleDto {
  @ApiProperty({ ...FLAG, enum: [true] })
  readonly success!: boolean;
  @ApiProperty(UUID_TEXT)
  readonly query_id!: string;
  @ApiProperty({ type: 'string' })
  readonly partition_id!: string;
  @ApiProperty({ type: 'string' })
  readonly queueName!: string;
  @ApiProperty(COUNT)
  readonly state_ops_applied!: number;
  @ApiProperty({ type: [SinkResultDto] })
  readonly push_results!: SinkResultDto[];
  @ApiProperty(ANY_JSON)
  readonly ack_result!: object | null;
}

export class RefusedCycleDto {
  @ApiProperty({ ...FLAG, enum: [false] })
  readonly success!: boolean;
  @ApiProperty({ type: 'string' })
  readonly error!: string;
  @ApiProperty({ type: 'string' })
  readonly reason!: string;
}
