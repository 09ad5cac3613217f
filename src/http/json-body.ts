/**
 * Bodies of the generic routes: small, parsed to plain values. The hot routes (push, ack) scan bytes
 * instead. Strict RFC 8259 through JSON.parse, UTF-8 checked first; refusals are `bad_body`.
 */
import type { FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import { isValidUtf8, readUtf8 } from '../common/utf8.js';
import { bodyBytes } from './fastify-setup.js';

export type JsonObject = Readonly<Record<string, unknown>>;

/** The body as a JSON object; `whenEmpty` stands in for an empty body, else that is bad_body too. */
export function jsonObjectBody(request: FastifyRequest, whenEmpty?: JsonObject): JsonObject {
  const bytes = bodyBytes(request);
  if (bytes.length === 0 && whenEmpty !== undefined) return whenEmpty;
  if (!isValidUtf8(bytes, 0, bytes.length)) {
    throw new QueenError('bad_body', 'the request body is not valid UTF-8');
  }
  let value: unknown;
  try {
    value = JSON.parse(readUtf8(bytes, 0, bytes.length));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new QueenError('bad_body', `invalid JSON: ${error.message}`);
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    throw new QueenError('bad_body', 'the request body must be a JSON object');
  }
  return value as JsonObject;
}
