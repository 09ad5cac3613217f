/** Query parameters of the three pop routes (messages.md §5.1) as the API document shows them. */
import { ApiProperty } from '@nestjs/swagger';

const MAX_INT32 = 2_147_483_647;

class CommonPopQueryDto {
  @ApiProperty({
    type: 'integer',
    required: false,
    default: 200,
    minimum: 1,
    maximum: MAX_INT32,
    description: 'Messages of the whole call. Below 1 is 1.',
  })
  readonly batch?: number;

  @ApiProperty({
    type: 'integer',
    required: false,
    default: 30_000,
    minimum: 1,
    maximum: 60_000,
    description:
      'Milliseconds the call may take (default `DEFAULT_TIMEOUT`); clamped, also without `wait`. ' +
      'At 50 and below (`QUEEN_RAFT_POP_REPLY_MARGIN_MS`) nothing is ever claimed.',
  })
  readonly timeout?: number;

  @ApiProperty({
    type: 'boolean',
    required: false,
    default: false,
    description: 'Settle on delivery: at most once, no lease, nothing to acknowledge.',
  })
  readonly commitOnDelivery?: boolean;

  @ApiProperty({
    type: 'boolean',
    required: false,
    default: false,
    deprecated: true,
    description: 'Old name of `commitOnDelivery`; either is enough.',
  })
  readonly autoAck?: boolean;

  @ApiProperty({
    type: 'integer',
    required: false,
    default: 0,
    maximum: MAX_INT32,
    description: 'Seconds of the lease; 0 and below: the value of the queue.',
  })
  readonly leaseSeconds?: number;

  @ApiProperty({
    type: 'string',
    required: false,
    description: 'Each group reads everything on its own. Absent or empty: queue mode.',
  })
  readonly consumerGroup?: string;

  @ApiProperty({
    type: 'string',
    required: false,
    default: 'new',
    description:
      'Where a group starts that is not registered yet: `new`, anything else means all ' +
      '(default `DEFAULT_SUBSCRIPTION_MODE`). No effect in queue mode.',
  })
  readonly subscriptionMode?: string;

  @ApiProperty({
    type: 'string',
    required: false,
    description: '`now` or an ISO time; beats `subscriptionMode`. Unparsable: ignored.',
  })
  readonly subscriptionFrom?: string;

  @ApiProperty({
    type: 'boolean',
    required: false,
    description: 'Last-value delivery; needs a group and a lease.',
  })
  readonly conflation?: boolean;
}

class WaitingPopQueryDto extends CommonPopQueryDto {
  @ApiProperty({
    type: 'boolean',
    required: false,
    default: false,
    description: 'Long poll: answer when there is something, or at the timeout.',
  })
  readonly wait?: boolean;
}

const PARTITIONS = {
  type: 'integer',
  required: false,
  default: 1,
  minimum: 1,
  maximum: 64,
  description: 'Lanes one call may claim; clamped.',
} as const;

export class QueuePopQueryDto extends WaitingPopQueryDto {
  @ApiProperty(PARTITIONS)
  readonly partitions?: number;

  @ApiProperty({
    type: 'boolean',
    required: false,
    default: false,
    description: 'The broker chooses `partitions` and `batch` where they are not given.',
  })
  readonly autopilot?: boolean;
}

export class PartitionPopQueryDto extends WaitingPopQueryDto {}

export class DiscoveryPopQueryDto extends CommonPopQueryDto {
  @ApiProperty({
    type: 'string',
    required: false,
    description: 'Queues with this label. This or `task` is needed.',
    example: 'shop',
  })
  readonly namespace?: string;

  @ApiProperty({ type: 'string', required: false, description: 'Queues with this label.' })
  readonly task?: string;

  @ApiProperty(PARTITIONS)
  readonly partitions?: number;

  @ApiProperty({ type: 'boolean', required: false, default: false, description: 'No effect here.' })
  readonly wait?: boolean;
}
