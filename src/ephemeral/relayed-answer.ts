/** The answer of the owner as the client gets it: status, body and Retry-After as they came. */
import type { FastifyReply } from 'fastify';
import { sendJsonBytes } from '../http/answers.js';
import type { RelayAnswer } from './cluster/neighbours.js';

export function sendRelayed(reply: FastifyReply, answer: RelayAnswer): void {
  if (answer.retryAfter > 0) void reply.header('retry-after', String(answer.retryAfter));
  sendJsonBytes(reply, answer.status, answer.body);
}
