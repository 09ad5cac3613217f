/**
 * Who makes a request, as the token says it, and where that is kept: on the request, set once by the
 * hook that looks at the credential and read by the guard and by the services that stamp messages.
 */
import type { FastifyRequest } from 'fastify';
import type { RoleSet } from './access.js';

export interface Identity {
  readonly roles: RoleSet;
  /** UTF-8 of the token's `sub`, which messages carry as `producerSub`; null when it has none. */
  readonly subject: Uint8Array | null;
}

/** What the hook found: a verified token, or that the path asks for none. */
export type Clearance = Identity | 'skipped';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null while nothing was verified: authentication is off, or the route is public. */
    clearance: Clearance | null;
  }
}

/** `sub` of the validated token, null without one. It never comes from anything else in the request. */
export function producerSubOf(request: FastifyRequest): Uint8Array | null {
  const { clearance } = request;
  return typeof clearance === 'object' && clearance !== null ? clearance.subject : null;
}
