/** Refusals of the state plane in the API document: `{"error","reason","detail"}` (state.md §0.2). */
import { ApiProperty } from '@nestjs/swagger';
import type { StateRefusal } from '../common/state-refusal.js';
import type { RefusalShape } from './responses.js';

export class StateRefusalDto {
  @ApiProperty({ type: 'string', description: 'What happened, for programs.' })
  readonly error!: string;

  @ApiProperty({ type: 'string', required: false, description: 'Stable id: what exactly.' })
  readonly reason?: string;

  @ApiProperty({ type: 'string', required: false, description: 'For people.' })
  readonly detail?: string;
}

/** One shape per status, with each refusal as an example. */
export function stateShapes(refusals: readonly StateRefusal[]): RefusalShape[] {
  const statuses = [...new Set(refusals.map(({ status }) => status))];
  return statuses.map((status) => {
    const same = refusals.filter((refusal) => refusal.status === status);
    const retryAfter = same.some(({ retryAfterSeconds }) => retryAfterSeconds !== undefined);
    const examples = Object.fromEntries(
      same.map(({ code, reason, body }) => [reason ?? code, body]),
    );
    return { status, type: StateRefusalDto, examples, retryAfter };
  });
}
