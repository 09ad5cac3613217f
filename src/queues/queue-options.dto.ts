/** Options of a queue (messages.md §3) as the API document shows them, for requests and for answers. */
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';
import { CONFIGURE_DEFAULTS } from './option-values.js';

type Name = keyof typeof CONFIGURE_DEFAULTS | 'maxQueueSize';

const INT32 = { type: 'integer', minimum: -2_147_483_648, maximum: 2_147_483_647 } as const;

const SHAPES: Readonly<Record<Name, ApiPropertyOptions>> = {
  priority: { ...INT32, description: 'Stored and shown; no effect.' },
  leaseTime: { ...INT32, description: 'Seconds a lease lasts; at least 1 when used.' },
  retryLimit: { ...INT32, description: 'Failed deliveries of a batch before it counts as dead.' },
  retryDelay: { ...INT32, description: 'Milliseconds; stored and shown; no effect.' },
  maxSize: { ...INT32, description: 'Stored and shown; no effect.' },
  maxQueueSize: { ...INT32, description: 'The same as `maxSize`; not read from requests.' },
  ttl: { ...INT32, description: 'Seconds; stored and shown; no effect.' },
  deadLetterQueue: { type: 'boolean', description: 'Dead letters are kept.' },
  dlqAfterMaxRetries: { type: 'boolean', description: 'The same switch: either is enough.' },
  delayedProcessing: { ...INT32, description: 'Seconds a message is held before delivery.' },
  windowBuffer: { ...INT32, description: 'Seconds a lane rests after an append.' },
  retentionSeconds: { ...INT32, description: 'Age at which messages may go.' },
  completedRetentionSeconds: { ...INT32, description: 'Age at which read messages may go.' },
  retentionEnabled: { type: 'boolean', description: 'Gate of the two retention ages.' },
  encryptionEnabled: { type: 'boolean', description: 'Payloads are encrypted at rest.' },
  maxWaitTimeSeconds: { ...INT32, description: 'Age at which unread messages go; 0 = never.' },
  minPopWaitTime: {
    type: 'integer',
    minimum: 0,
    maximum: 60_000,
    description: 'Milliseconds; stored and shown; no effect.',
  },
  dedupWindowSeconds: {
    type: 'integer',
    minimum: 0,
    maximum: 2_147_483_647,
    description: 'How long a `transactionId` is recognised; 0 = never.',
  },
  retentionSinkHold: {
    type: 'string',
    pattern: '^[A-Za-z0-9._-]{0,64}$',
    description: 'Name of the sink that retention waits for.',
  },
  retentionSinkHoldMaxSeconds: {
    type: 'integer',
    minimum: 60,
    maximum: 31_536_000,
    description: 'Longest wait for the sink.',
  },
  namespace: { type: 'string', description: 'Label for discovery pops.' },
  task: { type: 'string', description: 'Label for discovery pops.' },
};

/** A member of a request: optional, `null` means the default, clamped members take any int32. */
function Asked(name: Name): PropertyDecorator {
  const shape = SHAPES[name];
  const clamped = name === 'minPopWaitTime' || name === 'dedupWindowSeconds' ? INT32 : {};
  return ApiProperty({
    ...shape,
    ...clamped,
    required: false,
    nullable: true,
    default: CONFIGURE_DEFAULTS[name as keyof typeof CONFIGURE_DEFAULTS],
  } as ApiPropertyOptions);
}

/** A member of an answer: always there. */
const Shown = (name: Name): PropertyDecorator => ApiProperty(SHAPES[name]);

export class QueueOptionsRequestDto {
  @Asked('leaseTime') readonly leaseTime?: number | null;
  @Asked('retryLimit') readonly retryLimit?: number | null;
  @Asked('deadLetterQueue') readonly deadLetterQueue?: boolean | null;
  @Asked('dlqAfterMaxRetries') readonly dlqAfterMaxRetries?: boolean | null;
  @Asked('dedupWindowSeconds') readonly dedupWindowSeconds?: number | null;
  @Asked('delayedProcessing') readonly delayedProcessing?: number | null;
  @Asked('windowBuffer') readonly windowBuffer?: number | null;
  @Asked('retentionEnabled') readonly retentionEnabled?: boolean | null;
  @Asked('retentionSeconds') readonly retentionSeconds?: number | null;
  @Asked('completedRetentionSeconds') readonly completedRetentionSeconds?: number | null;
  @Asked('maxWaitTimeSeconds') readonly maxWaitTimeSeconds?: number | null;
  @Asked('encryptionEnabled') readonly encryptionEnabled?: boolean | null;
  @Asked('retentionSinkHold') readonly retentionSinkHold?: string | null;
  @Asked('retentionSinkHoldMaxSeconds') readonly retentionSinkHoldMaxSeconds?: number | null;
  @Asked('namespace') readonly namespace?: string | null;
  @Asked('task') readonly task?: string | null;
  @Asked('priority') readonly priority?: number | null;
  @Asked('retryDelay') readonly retryDelay?: number | null;
  @Asked('ttl') readonly ttl?: number | null;
  @Asked('maxSize') readonly maxSize?: number | null;
  @Asked('minPopWaitTime') readonly minPopWaitTime?: number | null;
}

export class QueueOptionsDto {
  @Shown('priority') readonly priority!: number;
  @Shown('leaseTime') readonly leaseTime!: number;
  @Shown('retryLimit') readonly retryLimit!: number;
  @Shown('retryDelay') readonly retryDelay!: number;
  @Shown('maxSize') readonly maxSize!: number;
  @Shown('maxQueueSize') readonly maxQueueSize!: number;
  @Shown('ttl') readonly ttl!: number;
  @Shown('deadLetterQueue') readonly deadLetterQueue!: boolean;
  @Shown('dlqAfterMaxRetries') readonly dlqAfterMaxRetries!: boolean;
  @Shown('delayedProcessing') readonly delayedProcessing!: number;
  @Shown('windowBuffer') readonly windowBuffer!: number;
  @Shown('retentionSeconds') readonly retentionSeconds!: number;
  @Shown('completedRetentionSeconds') readonly completedRetentionSeconds!: number;
  @Shown('retentionEnabled') readonly retentionEnabled!: boolean;
  @Shown('encryptionEnabled') readonly encryptionEnabled!: boolean;
  @Shown('maxWaitTimeSeconds') readonly maxWaitTimeSeconds!: number;
  @Shown('minPopWaitTime') readonly minPopWaitTime!: number;
  @Shown('dedupWindowSeconds') readonly dedupWindowSeconds!: number;
  @Shown('retentionSinkHold') readonly retentionSinkHold!: string;
  @Shown('retentionSinkHoldMaxSeconds') readonly retentionSinkHoldMaxSeconds!: number;
}
