/** Requests and answers of the reads by offset as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { ANY_JSON, COUNT, TIMESTAMP } from '../docs-api/index.js';

const PARTITION = {
  ...{ type: 'string' as const, required: false, default: 'Default' },
  description: 'A number stands for its decimal text.',
};
const ENTRY_ERROR = { type: 'string' as const, required: false };

export class FetchEntryDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty(PARTITION) readonly partition?: string;
  @ApiProperty(COUNT) readonly offset!: number;
  @ApiProperty({ type: 'integer', required: false, default: 1_048_576, maximum: 8_388_608 })
  readonly maxBytes?: number;
}

export class FetchRequestDto {
  @ApiProperty({ type: [FetchEntryDto], maxItems: 1024 }) readonly entries!: FetchEntryDto[];
  @ApiProperty({ type: 'integer', required: false, default: 0, maximum: 30_000 })
  readonly maxWaitMs?: number;
  @ApiProperty({ type: 'integer', required: false, default: 1, description: '0: do not wait.' })
  readonly minBytes?: number;
}

export class FetchRecordDto {
  @ApiProperty(COUNT) readonly offset!: number;
  @ApiProperty({ type: 'string' }) readonly transactionId!: string;
  @ApiProperty(ANY_JSON) readonly payload!: unknown;
  @ApiProperty(TIMESTAMP) readonly ts!: string;
}

export class FetchedEntryDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'string' }) readonly partition!: string;
  @ApiProperty({ type: [FetchRecordDto] }) readonly records!: FetchRecordDto[];
  @ApiProperty({ ...COUNT, description: 'Next offset to be written.' })
  readonly highWatermark!: number;
  @ApiProperty(COUNT) readonly logStartOffset!: number;
  @ApiProperty({ ...ENTRY_ERROR, enum: ['UNKNOWN_TOPIC_OR_PARTITION', 'OFFSET_OUT_OF_RANGE'] })
  readonly error?: string;
}

export class FetchDto {
  @ApiProperty({ type: [FetchedEntryDto] }) readonly entries!: FetchedEntryDto[];
}

export class OffsetEntryDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty(PARTITION) readonly partition?: string;
  @ApiProperty({ oneOf: [{ type: 'integer' }, { type: 'string' }], description: 'ms or ISO.' })
  readonly timestamp!: number | string;
}

export class OffsetsRequestDto {
  @ApiProperty({ type: [OffsetEntryDto], maxItems: 1024 }) readonly entries!: OffsetEntryDto[];
}

export class FoundOffsetDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'string' }) readonly partition!: string;
  @ApiProperty({ ...COUNT, nullable: true }) readonly offset!: number | null;
  @ApiProperty({ ...TIMESTAMP, nullable: true }) readonly ts!: string | null;
  @ApiProperty(COUNT) readonly highWatermark!: number;
  @ApiProperty(COUNT) readonly logStartOffset!: number;
  @ApiProperty(ENTRY_ERROR) readonly error?: string;
}

export class OffsetsDto {
  @ApiProperty({ type: [FoundOffsetDto] }) readonly entries!: FoundOffsetDto[];
}

export class ChangedEntryDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'string', required: false, description: 'ISO-8601, inclusive.' })
  readonly since?: string;
  @ApiProperty({ type: 'string', required: false, description: '`next` of the page before.' })
  readonly after?: string;
  @ApiProperty({ type: 'integer', required: false, default: 1000, minimum: 1, maximum: 1000 })
  readonly limit?: number;
}

export class ChangedRequestDto {
  @ApiProperty({ type: [ChangedEntryDto], maxItems: 1024 }) readonly entries!: ChangedEntryDto[];
}

export class ChangedPartitionDto {
  @ApiProperty({ type: 'string' }) readonly name!: string;
  @ApiProperty({ type: 'integer', minimum: -1 }) readonly lastOffset!: number;
  @ApiProperty(COUNT) readonly logStart!: number;
  @ApiProperty(TIMESTAMP) readonly lastWriteAt!: string;
}

export class ChangedQueueDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: [ChangedPartitionDto], required: false })
  readonly partitions?: ChangedPartitionDto[];
  @ApiProperty({ type: 'string', nullable: true, required: false }) readonly next?: string | null;
  @ApiProperty(ENTRY_ERROR) readonly error?: string;
}

export class ChangedDto {
  @ApiProperty({ ...TIMESTAMP, description: 'Everything up to here is in the answer.' })
  readonly safeTime!: string;
  @ApiProperty({ type: 'boolean' }) readonly safeTimeDegraded!: boolean;
  @ApiProperty({ type: [ChangedQueueDto] }) readonly entries!: ChangedQueueDto[];
}

const AT = '2026-03-04T05:06:07.123456Z';
const LANE = { queue: 'orders', partition: 'customer-9' };

export const FETCH_EXAMPLES = {
  one: { summary: 'One lane', value: { entries: [{ ...LANE, offset: 0 }], maxWaitMs: 0 } },
};
export const FETCH_ANSWERS = {
  'one record': {
    entries: [
      {
        ...LANE,
        records: [{ offset: 0, transactionId: 'order-1', payload: { n: 1 }, ts: AT }],
        ...{ highWatermark: 1, logStartOffset: 0 },
      },
    ],
  },
};
export const FETCH_400 = { many: { error: 'too many entries' } };
export const OFFSETS_EXAMPLES = {
  one: { summary: 'One lane', value: { entries: [{ ...LANE, timestamp: AT }] } },
};
export const OFFSETS_ANSWERS = {
  found: { entries: [{ ...LANE, offset: 0, ts: AT, highWatermark: 1, logStartOffset: 0 }] },
};
export const CHANGED_EXAMPLES = {
  one: { summary: 'All lanes by name', value: { entries: [{ queue: 'orders', limit: 100 }] } },
};
export const CHANGED_ANSWERS = {
  page: {
    ...{ safeTime: AT, safeTimeDegraded: false },
    entries: [
      {
        queue: 'orders',
        partitions: [{ name: 'customer-9', lastOffset: 0, logStart: 0, lastWriteAt: AT }],
        next: null,
      },
    ],
  },
};
