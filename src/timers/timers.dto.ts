/** Shapes of the timer routes for the API document. */
import { ApiProperty } from '@nestjs/swagger';
import { COUNT, TIMESTAMP, UUID_TEXT } from '../docs-api/index.js';

const NULLABLE_TEXT = { type: 'string', nullable: true } as const;
const STATUSES = ['scheduled', 'rescheduled', 'cancelled', 'absent'] as const;

export class TimerOperationDto {
  @ApiProperty({ type: 'string', enum: ['schedule', 'reschedule', 'cancel'] })
  readonly op!: string;

  @ApiProperty({ type: 'string', minLength: 1, description: 'Where the message will go.' })
  readonly queue!: string;

  @ApiProperty({ type: 'string', minLength: 1, description: 'Names the timer inside its queue.' })
  readonly timerKey!: string;

  @ApiProperty({ type: 'string', minLength: 1, required: false, default: 'Default' })
  readonly partition?: string;

  @ApiProperty({
    type: 'number',
    required: false,
    description: 'Milliseconds from now, fractions allowed; zero and less is due at once.',
  })
  readonly delayMs?: number;

  @ApiProperty({
    type: 'string',
    minLength: 1,
    required: false,
    description: "The message's `transactionId`; echoed by a cancel that finds nothing.",
  })
  readonly txn?: string;

  @ApiProperty({
    type: 'string',
    format: 'byte',
    required: false,
    description: 'Base64 of the payload. Bytes that are no JSON arrive as `{"_raw_b64":"…"}`.',
  })
  readonly payload?: string;

  @ApiProperty({ type: 'boolean', required: false, description: 'The payload is zstd.' })
  readonly payloadZstd?: boolean;

  @ApiProperty({
    type: 'boolean',
    required: false,
    description: 'The client encrypted the payload; refused when the queue encrypts.',
  })
  readonly encrypted?: boolean;
}

export class TimersRequestDto {
  @ApiProperty({ type: [TimerOperationDto], description: 'Each timer at most once.' })
  readonly operations!: TimerOperationDto[];
}

export class TimerResultDto {
  @ApiProperty({ type: 'boolean', description: 'False only when there was nothing to cancel.' })
  readonly ok!: boolean;

  @ApiProperty({ type: 'string', enum: STATUSES })
  readonly status!: string;

  @ApiProperty({ type: 'string' })
  readonly queue!: string;

  @ApiProperty({ type: 'string' })
  readonly timerKey!: string;

  @ApiProperty(NULLABLE_TEXT)
  readonly txn!: string | null;

  @ApiProperty({ ...UUID_TEXT, required: false, description: 'Id of the message to come.' })
  readonly messageId?: string;

  @ApiProperty({ ...TIMESTAMP, required: false })
  readonly deliverAt?: string;
}

export class TimerResultsDto {
  @ApiProperty({ type: [TimerResultDto], description: 'One per operation, in order.' })
  readonly results!: TimerResultDto[];
}

class PendingTimerDto {
  @ApiProperty({ type: 'string' })
  readonly queue!: string;

  @ApiProperty({ type: 'string' })
  readonly timerKey!: string;

  @ApiProperty({ type: 'string' })
  readonly partition!: string;

  @ApiProperty(TIMESTAMP)
  readonly deliverAt!: string;

  @ApiProperty({ type: 'string' })
  readonly txn!: string;

  @ApiProperty(UUID_TEXT)
  readonly messageId!: string;

  @ApiProperty({ type: 'boolean', description: 'Always false: payloads are stored plain.' })
  readonly payloadZstd!: boolean;

  @ApiProperty({ type: 'boolean' })
  readonly encrypted!: boolean;

  @ApiProperty(NULLABLE_TEXT)
  readonly producerSub!: string | null;

  @ApiProperty({ ...COUNT, description: 'Failed tries to fire it.' })
  readonly attempts!: number;

  @ApiProperty(NULLABLE_TEXT)
  readonly lastError!: string | null;

  @ApiProperty({ type: 'boolean', description: 'Always false.' })
  readonly claimed!: boolean;

  @ApiProperty(TIMESTAMP)
  readonly createdAt!: string;

  @ApiProperty(TIMESTAMP)
  readonly updatedAt!: string;
}

export class PeekedTimerDto extends PendingTimerDto {
  @ApiProperty({ type: 'boolean', enum: [true] })
  readonly found!: boolean;

  @ApiProperty({ type: 'string', format: 'byte', description: 'Base64; never decrypted.' })
  readonly payload!: string;
}

export class MissingTimerDto {
  @ApiProperty({ type: 'boolean', enum: [false] })
  readonly found!: boolean;

  @ApiProperty({ type: 'string' })
  readonly queue!: string;

  @ApiProperty({ type: 'string' })
  readonly timerKey!: string;
}

export class TimerPageDto {
  @ApiProperty({ type: [PendingTimerDto] })
  readonly rows!: PendingTimerDto[];

  @ApiProperty({ type: 'boolean' })
  readonly truncated!: boolean;

  @ApiProperty({ ...NULLABLE_TEXT, description: 'Cursor of the next page.' })
  readonly nextAfter!: string | null;
}

export class TimerCountDto {
  @ApiProperty(COUNT)
  readonly count!: number;
}
