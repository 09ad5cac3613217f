/**
 * Who may look at and change the membership while nobody has to show a token of their own
 * (`JWT_ENABLED` off): callers on the loopback, and holders of the raft token. Only the connection
 * counts; a forwarded-for header proves nothing.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { BlockList, isIPv6 } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { RAFT_TOKEN_HEADER } from '../raft/index.js';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** True when the request may pass; one that showed a token of its own was judged by its role before. */
export function mayManageMembers(request: FastifyRequest, raftToken: string | null): boolean {
  const { clearance } = request;
  if (clearance !== null && clearance !== 'skipped') return true;
  return isLoopback(request.socket.remoteAddress) || holdsToken(request, raftToken);
}

function isLoopback(address: string | undefined): boolean {
  // IPv4 over a dual-stack socket reads ::ffff:127.0.0.1; the list knows that form.
  return address !== undefined && LOOPBACK.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

function holdsToken(request: FastifyRequest, raftToken: string | null): boolean {
  const shown = request.headers[RAFT_TOKEN_HEADER];
  if (raftToken === null || typeof shown !== 'string') return false;
  return timingSafeEqual(digestOf(shown), digestOf(raftToken));
}

/** Equal lengths, so that the comparison tells nothing about the token's. */
const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
