/**
 * Headers for the only pages this port serves to browsers: nothing from elsewhere runs in them, nobody
 * frames them, and their types are not guessed. Set on the routes of the pages alone, so that the API
 * itself pays nothing.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

export const PAGE_HEADERS = {
  // Swagger UI sets styles inline; scripts come from this origin only.
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; " +
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Every route registered from now on whose path is `path`, below it, or `path-…`. */
export function secureRoutes(fastify: FastifyInstance, path: string): void {
  fastify.addHook('onRoute', (route) => {
    if (!route.url.startsWith(path)) return;
    const before = route.onRequest ?? [];
    route.onRequest = [setHeaders, ...(Array.isArray(before) ? before : [before])];
  });
}

function setHeaders(_request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  void reply.headers(PAGE_HEADERS);
  done();
}
