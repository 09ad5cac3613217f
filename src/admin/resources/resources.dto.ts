/** Answers of the sums over queues (admin.md §1.2) as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { COUNT, UUID_TEXT } from '../../docs-api/index.js';

const ZERO = { type: 'integer', enum: [0], description: 'Always 0.' } as const;

export const MILLIS_TEXT = {
  type: 'string',
  pattern: '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$',
} as const;

export class OverviewMessagesDto {
  @ApiProperty(COUNT) readonly total!: number;
  @ApiProperty({ ...COUNT, description: 'Without what is leased.' }) readonly pending!: number;
  @ApiProperty(COUNT) readonly processing!: number;
  @ApiProperty(COUNT) readonly completed!: number;
  @ApiProperty(ZERO) readonly failed!: number;
  @ApiProperty(COUNT) readonly deadLetter!: number;
}

export class MeasuredDto {
  @ApiProperty({ ...COUNT, description: 'Mean over queues with a positive value.' })
  readonly avg!: number;

  @ApiProperty(ZERO) readonly median!: number;
  @ApiProperty(ZERO) readonly min!: number;
  @ApiProperty(COUNT) readonly max!: number;
}

export class OverviewLagDto {
  @ApiProperty({ type: MeasuredDto, description: 'Seconds: oldest message not consumed.' })
  readonly time!: MeasuredDto;

  @ApiProperty({ type: MeasuredDto, description: 'Messages: most that one lane has pending.' })
  readonly offset!: MeasuredDto;
}

export class OverviewDto {
  @ApiProperty(COUNT) readonly queues!: number;
  @ApiProperty(COUNT) readonly partitions!: number;
  @ApiProperty(COUNT) readonly namespaces!: number;
  @ApiProperty(COUNT) readonly tasks!: number;
  @ApiProperty({ type: OverviewMessagesDto }) readonly messages!: OverviewMessagesDto;
  @ApiProperty({ type: OverviewLagDto }) readonly lag!: OverviewLagDto;
  @ApiProperty(MILLIS_TEXT) readonly timestamp!: string;

  @ApiProperty({ ...COUNT, description: 'Seconds; age of the oldest figure that is not exact.' })
  readonly statsAge!: number;
}

export class LabelMessagesDto {
  @ApiProperty(COUNT) total!: number;
  @ApiProperty(COUNT) pending!: number;
}

/** Sums of the queues that carry one label. */
export class LabelSumDto {
  @ApiProperty(COUNT) queues!: number;
  @ApiProperty(COUNT) partitions!: number;
  @ApiProperty({ type: LabelMessagesDto }) messages!: LabelMessagesDto;
}

export class NamespaceSumDto extends LabelSumDto {
  @ApiProperty({ type: 'string' }) readonly namespace!: string;
}

export class TaskSumDto extends LabelSumDto {
  @ApiProperty({ type: 'string' }) readonly task!: string;
}

export class NamespacesDto {
  @ApiProperty({ type: [NamespaceSumDto] }) readonly namespaces!: NamespaceSumDto[];
}

export class TasksDto {
  @ApiProperty({ type: [TaskSumDto] }) readonly tasks!: TaskSumDto[];
}

export class TopPartitionDto {
  @ApiProperty({ type: 'string' }) readonly queue!: string;
  @ApiProperty({ type: 'string' }) readonly partition!: string;
  @ApiProperty(UUID_TEXT) readonly id!: string;
  @ApiProperty({ ...COUNT, description: 'Leased ones included.' }) readonly pending!: number;
  @ApiProperty(COUNT) readonly processing!: number;

  @ApiProperty({ ...COUNT, nullable: true, description: 'Null when caught up.' })
  readonly lagSeconds!: number | null;
}

export class TopPartitionsDto {
  @ApiProperty({ type: [TopPartitionDto] }) readonly partitions!: TopPartitionDto[];
  @ApiProperty(COUNT) readonly walked!: number;
  @ApiProperty({ type: 'boolean', description: 'Not all partitions were looked at.' })
  readonly truncated!: boolean;
}

export class NoSuchQueueDto {
  @ApiProperty({ type: 'string', enum: ['Queue not found'] }) readonly error!: string;
}

const labelSum = { queues: 2, partitions: 6, messages: { total: 50, pending: 4 } };

export const OVERVIEW_ANSWERS = {
  'four queues': {
    ...{ queues: 4, partitions: 12, namespaces: 1, tasks: 2 },
    messages: {
      ...{ total: 900, pending: 20, processing: 5, completed: 870, failed: 0, deadLetter: 5 },
    },
    lag: {
      time: { avg: 3, median: 0, min: 0, max: 9 },
      offset: { avg: 10, median: 0, min: 0, max: 20 },
    },
    ...{ timestamp: '2026-03-04T05:06:07.123Z', statsAge: 0 },
  },
};
export const NAMESPACE_ANSWERS = {
  'one namespace': { namespaces: [{ namespace: 'billing', ...labelSum }] },
};
export const TASK_ANSWERS = { 'one task': { tasks: [{ task: 'invoices', ...labelSum }] } };
export const PARTITION_ANSWERS = {
  'one lane': {
    partitions: [
      {
        ...{ queue: 'orders', partition: 'customer-9', pending: 9, processing: 1, lagSeconds: 4 },
        id: '0199c0de-0000-7000-8000-00000000002a',
      },
    ],
    ...{ walked: 120, truncated: false },
  },
};
export const NO_SUCH_QUEUE = { error: 'Queue not found' } as const;
