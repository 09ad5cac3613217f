/**
 * Bodies and queries of the membership routes, read into requests (cluster.md §4). Whatever does not
 * read is `bad_request` with the reason; nothing is guessed.
 */
import type { FastifyRequest } from 'fastify';
import { QueenError } from '../common/errors.js';
import { MAX_NODE_ID, parseHostPort } from '../config/addresses.js';
import { jsonObjectBody, type JsonObject } from '../http/json-body.js';
import { lenientInteger, type QueryValues } from '../http/query.js';
import type { MembershipRequest } from '../raft/index.js';

const TIMEOUT = { fallback: 30_000, min: 1, max: 120_000 };

/** A request that does not read; the text says why. */
export class MembershipBodyError extends Error {
  override readonly name = 'MembershipBodyError';
}

/** An absent body counts as `{}`. */
export function bodyOf(request: FastifyRequest): JsonObject {
  try {
    return jsonObjectBody(request, {});
  } catch (error) {
    if (error instanceof QueenError) throw new MembershipBodyError(error.message);
    throw error;
  }
}

export function timeoutOf(query: QueryValues): number {
  return lenientInteger(query, 'timeoutMs', TIMEOUT);
}

export function learnerRequest(body: JsonObject): MembershipRequest {
  const id = nodeIdOf(body['id'] ?? body['nodeId'], 'id');
  return { kind: 'add-learner', id, raft: addressOf(body, 'raft'), http: addressOf(body, 'http') };
}

export function promoteRequest(body: JsonObject, query: QueryValues): MembershipRequest {
  const ids = idsOf(body['ids'] ?? body['id'], 'ids');
  if (ids.length === 0) throw new MembershipBodyError('ids must name at least one learner');
  return { kind: 'promote', ids, force: forceOf(body, query) };
}

export function votersRequest(body: JsonObject, query: QueryValues): MembershipRequest {
  const voters = idsOf(body['voters'] ?? body['voter'], 'voters');
  return { kind: 'set-voters', voters, force: forceOf(body, query) };
}

export function removeRequest(id: string): MembershipRequest {
  if (!/^\d{1,10}$/.test(id)) throw new MembershipBodyError('the member must be a node id');
  return { kind: 'remove', id: nodeIdOf(Number(id), 'the member') };
}

function forceOf(body: JsonObject, query: QueryValues): boolean {
  const { force } = body;
  if (force !== undefined && typeof force !== 'boolean') {
    throw new MembershipBodyError('force must be a boolean');
  }
  const asked = query['force'];
  return force === true || asked === 'true' || asked === '1';
}

function idsOf(value: unknown, name: string): number[] {
  if (value === undefined) throw new MembershipBodyError(`${name} is required`);
  return (Array.isArray(value) ? value : [value]).map((one) => nodeIdOf(one, name));
}

function nodeIdOf(value: unknown, name: string): number {
  const fits = typeof value === 'number' && Number.isInteger(value);
  if (!fits || value < 1 || value > MAX_NODE_ID) {
    throw new MembershipBodyError(`${name} must be a node id from 1`);
  }
  return value;
}

function addressOf(body: JsonObject, name: 'raft' | 'http'): string {
  const value = body[name];
  if (typeof value !== 'string' || parseHostPort(value) === null) {
    throw new MembershipBodyError(`${name} must be host:port`);
  }
  return value.trim();
}
