/**
 * The Fastify instance under Nest: raw bodies (this plane parses bytes itself and ignores
 * Content-Type), query rules, path repair, bounds, admission before the body.
 */
import type { IncomingMessage } from 'node:http';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Admission, Permit } from './admission.js';
import { sendJson } from './answers.js';
import { BodyPace, GRACE_MS, SWEEP_MS, type PaceRules } from './body-pace.js';
import { bodyParser } from './body-reader.js';
import { refuseConnection } from './connection-errors.js';
import type { KnownRoutes } from './known-routes.js';
import { repairPathEscapes } from './path-decoding.js';
import { parseQuery } from './query.js';
import type { TlsPair } from './tls-files.js';
import { monotonicMs } from '../config/index.js';

const MAX_PARAM_LENGTH = 65_535;
const MAX_HEADER_BYTES = 65_536;
const HEADERS_TIMEOUT_MS = 30_000;
/** A whole request has to arrive within this time, so that slow senders hold no admission for ever. */
const REQUEST_TIMEOUT_MS = 120_000;
/** How often Node looks for late ones. */
const CONNECTIONS_CHECK_MS = 15_000;
const KEEP_ALIVE_TIMEOUT_MS = 72_000;
/**
 * A connection on which nothing moves either way is closed: longer than any call may take, and the end
 * of a client that does not read its answer.
 */
const SILENT_CONNECTION_MS = 130_000;
const TLS_HANDSHAKE_MS = 10_000;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route's writes grow storage: admission and the disk gate apply. */
    growing?: boolean;
  }
}

export interface HttpBounds {
  readonly maxBodyBytes: number;
  /** Shorter in tests. */
  readonly requestTimeoutMs?: number;
  /** HTTPS with this pair; absent or null is plain HTTP. */
  readonly tls?: TlsPair | null;
}

export function createAdapter(bounds: HttpBounds): FastifyAdapter {
  const requestTimeout = bounds.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const serverOptions = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: Math.min(HEADERS_TIMEOUT_MS, requestTimeout),
    connectionsCheckingInterval: Math.min(CONNECTIONS_CHECK_MS, requestTimeout),
    // Refused here instead, with a body.
    requireHostHeader: false,
  };
  const { tls = null } = bounds;
  return new FastifyAdapter({
    bodyLimit: bounds.maxBodyBytes,
    rewriteUrl: prepareRequest,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH, querystringParser: parseQuery },
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    requestTimeout,
    connectionTimeout: SILENT_CONNECTION_MS,
    ...(tls === null
      ? { http: serverOptions }
      : { https: { ...serverOptions, ...tls, handshakeTimeout: TLS_HANDSHAKE_MS } }),
    clientErrorHandler: refuseConnection,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
  });
}

/**
 * Runs before anything looks at the request: repairs the path, and hides the Content-Type, which this
 * plane does not check and Fastify would refuse when it is malformed.
 */
function prepareRequest(request: IncomingMessage): string {
  const { headers } = request;
  // Assigned, not deleted: a headers object that lost a member is slow for everybody after.
  if (headers['content-type'] !== undefined) headers['content-type'] = undefined;
  return repairPathEscapes(request.url ?? '/');
}

export interface HttpHooks {
  readonly routes: KnownRoutes;
  readonly admission: Admission;
  readonly maxBodyBytes: number;
  /** Least rate of a body in bytes a second; 0 asks for none. */
  readonly minBodyRate: number;
  /** Shorter in tests. */
  readonly pace?: Partial<PaceRules>;
}

/** Attaches parsers and hooks; call after the adapter exists and before Nest registers routes. */
export function attachHooks(fastify: FastifyInstance, hooks: HttpHooks): void {
  const { routes, admission, maxBodyBytes } = hooks;
  const unannounced = new WeakMap<FastifyRequest, Permit>();
  routes.attach(fastify);
  fastify.addHook('onRoute', (route) => {
    if (route.method === 'HEAD') route.onSend = [route.onSend ?? [], dropEmptyLength].flat();
  });
  fastify.removeAllContentTypeParsers();
  const rules = { graceMs: GRACE_MS, deadlineMs: REQUEST_TIMEOUT_MS, sweepMs: SWEEP_MS };
  const pace = { ...rules, minBytesPerSecond: hooks.minBodyRate, ...hooks.pace };
  const parse = bodyParser({
    maxBytes: maxBodyBytes,
    pace: new BodyPace(pace, monotonicMs),
    permitOf: (request) => unannounced.get(request),
    overloaded: () => admission.overloaded(),
  });
  fastify.addContentTypeParser('*', parse);
  // One hook for all: each costs something with every request.
  fastify.addHook('onRequest', (request: FastifyRequest, reply: FastifyReply, done) => {
    if (lacksHost(request)) {
      refuseWithoutHost(reply);
      return;
    }
    if (request.routeOptions.config.growing !== true) {
      done();
      return;
    }
    const length = request.headers['content-length'];
    const announced = length === undefined ? 0 : Number(length);
    // Too large for any budget: refused by the body reader, which keeps none of it.
    if (announced > maxBodyBytes) {
      done();
      return;
    }
    const permit = admission.request(announced);
    if (length === undefined) unannounced.set(request, permit);
    // The response closes after its last byte, and when the client leaves before that.
    reply.raw.once('close', () => permit.release());
    if (permit.isHeld) done();
    else permit.whenDecided(done);
  });
}

/** HTTP/1.1 wants to know which host is meant (RFC 9112 §3.2). */
function lacksHost({ raw }: FastifyRequest): boolean {
  return raw.headers.host === undefined && raw.httpVersion === '1.1';
}

function refuseWithoutHost(reply: FastifyReply): void {
  void reply.header('connection', 'close');
  sendJson(reply, 400, { error: 'the Host header is missing', code: 'bad_request' });
}

/** A HEAD route of Fastify says `content-length: 0` where there is no body; a 204 has no length at all. */
function dropEmptyLength(
  _request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  done: (error: null, payload: unknown) => void,
): void {
  if (reply.statusCode === 204) void reply.removeHeader('content-length');
  done(null, payload);
}

/** The request's body bytes; empty when there was none. */
export function bodyBytes(request: FastifyRequest): Uint8Array {
  return request.body instanceof Uint8Array ? request.body : EMPTY;
}

const EMPTY = new Uint8Array(0);
