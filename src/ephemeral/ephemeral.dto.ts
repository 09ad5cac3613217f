/** Requests and answers of ephemeral queues (state.md §5) as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { ANY_JSON, COUNT } from '../docs-api/index.js';

const NAME = { type: 'string', minLength: 1, maxLength: 512 } as const;
const OPTIONAL_NAME = { ...NAME, nullable: true, required: false } as const;

export class EphemeralMessageDto {
  @ApiProperty({ ...ANY_JSON, description: 'Any JSON; comes back byte for byte.' })
  readonly payload!: unknown;
}

export class EphemeralPushDto {
  @ApiProperty({ ...NAME, description: 'Springs into being when it is missing.' })
  readonly queue!: string;

  @ApiProperty({ ...OPTIONAL_NAME, default: 'Default' })
  readonly partition?: string | null;

  @ApiProperty({ type: [EphemeralMessageDto], maxItems: 10_000 })
  readonly messages!: EphemeralMessageDto[];
}

export class EphemeralPushedDto {
  @ApiProperty({ ...COUNT, description: 'All of them: a push is taken whole or not at all.' })
  readonly pushed!: number;
}

export class EphemeralPopQueryDto {
  @ApiProperty({ ...NAME, example: 'presence' })
  readonly queue!: string;

  @ApiProperty({
    ...{ ...NAME, required: false },
    description: 'Absent: the partitions the asked node holds, in the order of their names.',
  })
  readonly partition?: string;

  @ApiProperty({
    ...{ ...NAME, required: false },
    description: 'Each group reads everything on its own. Absent: queue mode.',
  })
  readonly group?: string;

  @ApiProperty({ type: 'integer', required: false, default: 1, minimum: 1, maximum: 10_000 })
  readonly batch?: number;

  @ApiProperty({
    ...{ type: 'boolean', required: false, default: false },
    description: 'Long poll: answer when there is something, or at the timeout.',
  })
  readonly wait?: boolean;

  @ApiProperty({
    ...{ type: 'integer', required: false, default: 30_000, minimum: 0, maximum: 300_000 },
    description: 'Milliseconds to wait.',
  })
  readonly timeout?: number;

  @ApiProperty({
    ...{ type: 'boolean', required: false, default: false },
    description: 'Settle on delivery: at most once, no lease.',
  })
  readonly commitOnDelivery?: boolean;

  @ApiProperty({
    ...{ type: 'boolean', required: false, default: false, deprecated: true },
    description: 'Old name of `commitOnDelivery`; either is enough.',
  })
  readonly autoAck?: boolean;
}

export class EphemeralDeliveredDto {
  @ApiProperty({ type: 'string', description: 'Opaque; for the ack.' }) readonly id!: string;
  @ApiProperty({ type: 'string' }) readonly partition!: string;
  @ApiProperty({ ...COUNT, description: 'Deliveries to this group, this one included.' })
  readonly attempts!: number;
  @ApiProperty({ ...ANY_JSON }) readonly payload!: unknown;
}

export class EphemeralPoppedDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: [EphemeralDeliveredDto], description: 'Empty when there was nothing.' })
  readonly messages!: EphemeralDeliveredDto[];
}

export class EphemeralAckItemDto {
  @ApiProperty({ type: 'string' }) readonly id!: string;

  @ApiProperty({
    ...{ type: 'string', nullable: true, required: false, default: 'completed' },
    description:
      '`completed`, `success`, `acked`, `ok` settle; anything else delivers again until the retry ' +
      'limit.',
  })
  readonly status?: string | null;

  @ApiProperty({ type: 'string', nullable: true, required: false, description: 'Ignored.' })
  readonly error?: string | null;
}

export class EphemeralAckDto {
  @ApiProperty({ ...NAME }) readonly queue!: string;
  @ApiProperty({ ...OPTIONAL_NAME, minLength: 0, description: 'The group that popped.' })
  readonly group?: string | null;
  @ApiProperty({ type: [EphemeralAckItemDto], maxItems: 10_000 })
  readonly acks!: EphemeralAckItemDto[];
}

export class EphemeralOutcomeDto {
  @ApiProperty({ type: 'string' }) readonly id!: string;

  @ApiProperty({
    type: 'string',
    enum: ['acked', 'redelivered', 'stale', 'unknown'],
    description:
      '`acked`: settled, or given up at the retry limit. `stale`: the id is older than a restart or ' +
      'move. `unknown`: no live lease.',
  })
  readonly outcome!: string;
}

export class EphemeralAckedDto {
  @ApiProperty({ type: [EphemeralOutcomeDto] }) readonly results!: EphemeralOutcomeDto[];
}

export class WindowBufferDto {
  @ApiProperty({ type: 'integer', required: false, minimum: 0, maximum: 60_000, default: 0 })
  readonly ms?: number;
  @ApiProperty({ type: 'integer', required: false, minimum: 0, maximum: 10_000, default: 0 })
  readonly count?: number;
}

/** Values out of range are clamped. */
export class EphemeralOptionsDto {
  @ApiProperty({ type: 'integer', required: false, description: 'Payload bytes a node holds.' })
  readonly maxBytes?: number;

  @ApiProperty({ type: 'integer', required: false, description: 'Messages a node holds.' })
  readonly maxLength?: number;

  @ApiProperty({
    ...{ type: 'string', enum: ['reject', 'dropOldest'], required: false, default: 'reject' },
    description: 'When full: refuse, or drop the oldest of the partition pushed to.',
  })
  readonly policy?: string;

  @ApiProperty({ type: 'number', required: false, default: 0, description: '0 = off.' })
  readonly ttlSeconds?: number;

  @ApiProperty({ type: 'number', required: false, description: '0.001 to 86400.' })
  readonly leaseSeconds?: number;

  @ApiProperty({ type: 'integer', required: false, description: '0 to 1000.' })
  readonly retryLimit?: number;

  @ApiProperty({
    ...{ type: WindowBufferDto, required: false },
    description: 'A waiting pop gathers `count` messages or waits `ms` after the first one.',
  })
  readonly windowBuffer?: WindowBufferDto;
}

export class EphemeralConfigureDto {
  @ApiProperty({ ...NAME }) readonly queue!: string;
  @ApiProperty({ type: EphemeralOptionsDto, required: false, description: 'Replace all others.' })
  readonly options?: EphemeralOptionsDto;
}

export class EphemeralConfiguredDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: EphemeralOptionsDto, description: 'As sent.' })
  readonly options!: EphemeralOptionsDto;
  @ApiProperty({ type: 'boolean', enum: [true] }) readonly declared!: boolean;
}

export class EphemeralResetDto {
  @ApiProperty({ ...NAME }) readonly queue!: string;
}

export class EphemeralResetDoneDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ ...COUNT, description: 'Of the asked node.' }) readonly dropped!: number;
}

export class EphemeralDeletedDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'boolean', description: 'It was declared, or the asked node held some.' })
  readonly deleted!: boolean;
  @ApiProperty({ type: 'boolean', description: 'It was declared.' }) readonly declared!: boolean;
}

export class EphemeralDropsDto {
  @ApiProperty({ ...COUNT }) readonly bounds!: number;
  @ApiProperty({ ...COUNT }) readonly ttl!: number;
  @ApiProperty({ ...COUNT }) readonly retry!: number;
}

const TIER = { type: 'string', enum: ['declared', 'implicit'] } as const;

export class EphemeralQueueDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty(TIER) readonly tier!: string;
  @ApiProperty({ ...COUNT, description: 'Messages held.' }) readonly depth!: number;
  @ApiProperty({ ...COUNT, description: 'Payload bytes held.' }) readonly bytes!: number;
  @ApiProperty({ ...COUNT }) readonly partitions!: number;
  @ApiProperty({ ...COUNT }) readonly groups!: number;
  @ApiProperty({ type: EphemeralDropsDto }) readonly drops!: EphemeralDropsDto;
  @ApiProperty({ type: EphemeralOptionsDto, description: 'In force.' })
  readonly options!: EphemeralOptionsDto;
}

export class EphemeralQueueListDto {
  @ApiProperty({ type: [EphemeralQueueDto] }) readonly queues!: EphemeralQueueDto[];
  @ApiProperty({ ...COUNT }) readonly count!: number;
  @ApiProperty({ ...COUNT, description: 'What the node holds of all tenants, in bytes.' })
  readonly cellBytes!: number;
}

export class EphemeralPartitionDepthDto {
  @ApiProperty({ type: 'string' }) readonly partition!: string;
  @ApiProperty({ ...COUNT }) readonly pending!: number;
  @ApiProperty({ ...COUNT }) readonly bytes!: number;
}

export class EphemeralGroupDepthDto {
  @ApiProperty({ type: 'string' }) readonly group!: string;
  @ApiProperty({ ...COUNT, description: 'Not passed yet, leased ones included.' })
  readonly pending!: number;
  @ApiProperty({ ...COUNT, description: 'Dropped by bounds before the group got them.' })
  readonly skipped!: number;
}

export class EphemeralDepthDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'string', nullable: true, description: 'As asked.' })
  readonly group!: string | null;
  @ApiProperty(TIER) readonly tier!: string;
  @ApiProperty({
    ...COUNT,
    description:
      'For the asked group; without one for the named group furthest behind, else for queue mode, ' +
      'else everything held.',
  })
  readonly pending!: number;
  @ApiProperty({ ...COUNT }) readonly partitionsPending!: number;
  @ApiProperty({ ...COUNT }) readonly bytes!: number;
  @ApiProperty({ type: [EphemeralPartitionDepthDto] })
  readonly partitions!: EphemeralPartitionDepthDto[];
  @ApiProperty({ type: [EphemeralGroupDepthDto] }) readonly groups!: EphemeralGroupDepthDto[];
}
