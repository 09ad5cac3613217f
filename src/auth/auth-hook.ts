/**
 * Looks at the credential before anything else of a request: before admission, before a body byte is
 * read, also on paths that do not exist. With a token that was verified before it answers at once; only
 * an unknown one waits. Attach it before every other hook.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { AccessLevel } from './access.js';
import { passes } from './access.js';
import type { Authenticator } from './authenticator.js';
import { credentialOf } from './credential.js';
import type { Identity } from './identity.js';
import { levelOfPath } from './path-levels.js';
import { InsufficientPermissions, REFUSAL, Unauthenticated } from './refusal.js';
import type { SkipPaths } from './skip-paths.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Level of a declared route; put there by `publishAccessLevels`. */
    access?: AccessLevel;
  }
}

export interface AuthParts {
  readonly authenticator: Authenticator;
  readonly skipPaths: SkipPaths;
}

type Done = (error?: Error) => void;

/** Null: authentication is off, nobody is asked for anything. */
export function attachAuth(fastify: FastifyInstance, parts: AuthParts | null): void {
  fastify.decorateRequest('clearance', null);
  if (parts === null) return;
  const hook = new AuthHook(parts);
  fastify.addHook('onRequest', (request: FastifyRequest, _reply: FastifyReply, done) => {
    hook.look(request, done);
  });
}

class AuthHook {
  constructor(private readonly parts: AuthParts) {}

  look(request: FastifyRequest, done: Done): void {
    const path = pathOf(request.url);
    const level = request.routeOptions.config.access ?? levelOfPath(request.method, path);
    if (level === 'public' || this.parts.skipPaths.covers(path)) {
      request.clearance = 'skipped';
      done();
      return;
    }
    const token = credentialOf(request.headers.authorization);
    if (token === null) {
      done(new Unauthenticated(REFUSAL.missing));
      return;
    }
    const { authenticator } = this.parts;
    const known = authenticator.known(token);
    if (known !== null) {
      admit(request, known, level, done);
      return;
    }
    authenticator.verify(token).then((identity) => admit(request, identity, level, done), done);
  }
}

function admit(request: FastifyRequest, identity: Identity, level: AccessLevel, done: Done): void {
  request.clearance = identity;
  if (passes(level, identity.roles)) done();
  else done(new InsufficientPermissions());
}

function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query < 0 ? url : url.slice(0, query);
}
