/**
 * The Fastify instance under Nest: raw bodies (this plane parses bytes itself and ignores
 * Content-Type), query rules, path repair, bounds, admission before the body.
 */
import type { IncomingMessage } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Admission, Release } from './admission.js';
import type { KnownRoutes } from './known-routes.js';
import { repairPathEscapes } from './path-decoding.js';
import { parseQuery } from './query.js';

const MAX_PARAM_LENGTH = 65_535;
const MAX_HEADER_BYTES = 65_536;
const HEADERS_TIMEOUT_MS = 30_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route's writes grow storage: admission and the disk gate apply. */
    growing?: boolean;
  }
}

export interface HttpBounds {
  readonly maxBodyBytes: number;
}

export function createAdapter(bounds: HttpBounds): FastifyAdapter {
  return new FastifyAdapter({
    bodyLimit: bounds.maxBodyBytes,
    rewriteUrl: (request: IncomingMessage) => repairPathEscapes(request.url ?? '/'),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, querystringParser: parseQuery },
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    http: { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_TIMEOUT_MS },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
  });
}

export interface HttpHooks {
  readonly routes: KnownRoutes;
  readonly admission: Admission;
}

/** Attaches parsers and hooks; call after the adapter exists and before Nest registers routes. */
export function attachHooks(fastify: FastifyInstance, hooks: HttpHooks): void {
  hooks.routes.attach(fastify);
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, body);
  });
  const releases = new WeakMap<FastifyRequest, Release>();
  fastify.addHook('onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
    if (request.routeOptions.config.growing !== true) return;
    const length = Number(request.headers['content-length'] ?? 0);
    const release = await hooks.admission.enter(Number.isFinite(length) ? length : 0);
    releases.set(request, release);
    reply.raw.once('close', release);
  });
  fastify.addHook('onResponse', (request, _reply, done) => {
    releases.get(request)?.();
    done();
  });
}

/** The request's body bytes; empty when there was none. */
export function bodyBytes(request: FastifyRequest): Uint8Array {
  return request.body instanceof Uint8Array ? request.body : EMPTY;
}

const EMPTY = new Uint8Array(0);
