/** Request and answer of configure and of the deletion of a queue, as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';
import { UUID_TEXT } from '../docs-api/index.js';
import { shownOptions } from '../reads/queue-options.js';
import { CONFIGURE_DEFAULTS } from './option-values.js';
import { QueueOptionsDto, QueueOptionsRequestDto } from './queue-options.dto.js';

/** Options stand in `options`, or at the top level when there is no such object. */
export class ConfigureRequestDto extends QueueOptionsRequestDto {
  @ApiProperty({ type: 'string', minLength: 1, description: 'Created when it is missing.' })
  readonly queue!: string;

  @ApiProperty({
    type: 'string',
    enum: ['merge', 'replace', null],
    nullable: true,
    required: false,
    default: 'merge',
    description:
      '`merge` keeps what is not named; `replace` starts from the defaults. Id and creation time stay.',
  })
  readonly mode?: string | null;

  @ApiProperty({
    type: QueueOptionsRequestDto,
    required: false,
    description: 'A member that is `null` takes its default.',
  })
  readonly options?: QueueOptionsRequestDto;
}

export class ConfiguredDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  readonly configured!: boolean;

  @ApiProperty({ ...UUID_TEXT, nullable: true, description: 'Null if it was deleted meanwhile.' })
  readonly queueId!: string | null;

  @ApiProperty({ type: 'string', nullable: true, enum: [null] })
  readonly partitionId!: null;

  @ApiProperty({ type: 'string' })
  readonly queue!: string;

  @ApiProperty({ type: 'string' })
  readonly namespace!: string;

  @ApiProperty({ type: 'string' })
  readonly task!: string;

  @ApiProperty({ type: 'string', enum: ['segments'] })
  readonly storage!: string;

  @ApiProperty({ type: QueueOptionsDto })
  readonly options!: QueueOptionsDto;
}

export class DeletedQueueDto {
  @ApiProperty({ type: 'boolean' })
  readonly deleted!: boolean;

  @ApiProperty({ type: 'boolean' })
  readonly existed!: boolean;

  @ApiProperty({ type: 'string' })
  readonly queue!: string;

  @ApiProperty({ type: 'string', required: false, description: 'Only when nothing was deleted.' })
  readonly message?: string;
}

export const CONFIGURE_EXAMPLES = {
  'a queue with short leases': {
    value: { queue: 'orders', namespace: 'shop', options: { leaseTime: 30, retryLimit: 5 } },
  },
  'back to the defaults': { value: { queue: 'orders', mode: 'replace', options: {} } },
  'one option back to its default': { value: { queue: 'orders', options: { leaseTime: null } } },
  'options at the top level': { value: { queue: 'orders', leaseTime: 60, mode: 'merge' } },
};

export const QUEUE_ID = '0199c0de-0000-7000-8000-000000000001';

export const CONFIGURE_ANSWERS = {
  configured: {
    configured: true,
    queueId: QUEUE_ID,
    partitionId: null,
    queue: 'orders',
    namespace: 'shop',
    task: '',
    storage: 'segments',
    options: shownOptions({ ...CONFIGURE_DEFAULTS, leaseTime: 30, retryLimit: 5 }),
  },
};

export const DELETE_ANSWERS = {
  deleted: { deleted: true, existed: true, queue: 'orders' },
  'not there': {
    deleted: false,
    existed: false,
    queue: 'orders',
    message: 'Queue not found, nothing was deleted',
  },
};
