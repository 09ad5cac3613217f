/** The body of a timer call: `{"operations":[…]}` or the array alone. */
import type { FastifyRequest } from 'fastify';
import { isValidUtf8, readUtf8 } from '../common/utf8.js';
import { bodyBytes } from '../http/fastify-setup.js';
import { badRequest } from './timer-operations.js';

export function operationsOf(request: FastifyRequest): readonly unknown[] {
  const body = parsed(bodyBytes(request));
  if (Array.isArray(body)) return body as readonly unknown[];
  if (body !== null && typeof body === 'object' && 'operations' in body) {
    if (Array.isArray(body.operations)) return body.operations as readonly unknown[];
  }
  throw badBody('the body must be an array of operations, or an object that has one');
}

function parsed(bytes: Uint8Array): unknown {
  if (!isValidUtf8(bytes, 0, bytes.length)) throw badBody('the body is not valid UTF-8');
  try {
    return JSON.parse(readUtf8(bytes, 0, bytes.length)) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) throw badBody(`invalid JSON: ${error.message}`);
    throw error;
  }
}

function badBody(detail: string): Error {
  return badRequest('timers_bad_body', detail);
}
