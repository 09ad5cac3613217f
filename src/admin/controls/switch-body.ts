/** Bodies of the switch routes (state.md §0.5); refusals are texts in `{"error"}`. */
import type { FastifyRequest } from 'fastify';
import { QueenError } from '../../common/errors.js';
import { jsonObjectBody } from '../../http/json-body.js';
import type { SetSwitchesCommand } from '../../machine/commands/index.js';

const NAMES = ['kv', 'timersSchedule', 'timersFire'] as const;

export const NOT_AN_OBJECT = { error: 'object required' };
export const NO_SWITCH = {
  error: 'at least one of kv, timersSchedule, timersFire (boolean) is required',
};
export const notBoolean = (name: string): object => ({ error: `${name} must be a boolean` });
export const NO_ENABLED = { error: 'enabled (boolean) is required' };

/** What a body asks for, or the body of its refusal. */
export type SwitchRequest =
  | { readonly command: SetSwitchesCommand; readonly refusal: null }
  | { readonly command: null; readonly refusal: object };

export function keyValueSwitches(request: FastifyRequest): SwitchRequest {
  const body = objectOf(request);
  if (body === null) return refused(NOT_AN_OBJECT);
  const command: { -readonly [K in keyof SetSwitchesCommand]: SetSwitchesCommand[K] } = {};
  for (const name of NAMES) {
    const value = body[name];
    if (value === undefined) continue;
    if (typeof value !== 'boolean') return refused(notBoolean(name));
    command[name] = value;
  }
  if (Object.keys(command).length === 0) return refused(NO_SWITCH);
  return { command, refusal: null };
}

export function ephemeralSwitch(request: FastifyRequest): SwitchRequest {
  const enabled = objectOf(request)?.['enabled'];
  if (typeof enabled !== 'boolean') return refused(NO_ENABLED);
  return { command: { ephemeral: enabled }, refusal: null };
}

/** Null when the body is no JSON object. */
function objectOf(request: FastifyRequest): Readonly<Record<string, unknown>> | null {
  try {
    return jsonObjectBody(request, {});
  } catch (error) {
    if (error instanceof QueenError && error.code === 'bad_body') return null;
    throw error;
  }
}

function refused(refusal: object): SwitchRequest {
  return { command: null, refusal };
}
