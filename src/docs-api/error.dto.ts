/** The error envelope of the engine (messages.md §14.1), as the API document shows it. */
import { ApiProperty } from '@nestjs/swagger';
import { ERROR_TABLE } from '../common/errors.js';

export class ErrorDto {
  @ApiProperty({ type: 'string', description: 'What happened, for people.' })
  readonly error!: string;

  @ApiProperty({
    type: 'string',
    enum: Object.keys(ERROR_TABLE),
    required: false,
    description: 'What happened, for programs. Absent on a few refusals.',
  })
  readonly code?: string;

  @ApiProperty({
    type: 'string',
    required: false,
    description: 'Address of the leader; only on `retry`, when it is known.',
  })
  readonly leader?: string;
}
