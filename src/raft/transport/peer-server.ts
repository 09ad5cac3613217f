/**
 * The raft port: one HTTP/1.1 server. The token is compared from the headers before a byte of a body
 * is read; without it every answer is 401 and the connection closes. Streams leave HTTP through the
 * upgrade; everything else is a unary route of the table below. Heads are bounded in bytes and time,
 * connections in number.
 */
import { createServer, STATUS_CODES } from 'node:http';
import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import * as handshake from './handshake.js';
import type { PeerIdentity } from './handshake.js';
import type { PeerNetworkOptions, TransportContext } from './options.js';
import type { Arrival } from './peer-link.js';

const MAX_HEAD_BYTES = 8 * 1024;
/** A unary body takes at most this long. */
const BODY_MS = 10_000;
const CHECK_EVERY_MS = 250;
const IDLE_MS = 5000;

/** A unary call: the JSON answer, or null when the body makes no sense (400). */
export interface UnaryRoute {
  readonly maxBodyBytes: number;
  answer(body: string): string | null | Promise<string | null>;
}

/** A route that reads its body by itself; it answers exactly once. */
export type StreamRoute = (request: IncomingMessage, response: ServerResponse) => void;

export interface ServerHooks {
  /** By path; all are POST. */
  readonly routes: ReadonlyMap<string, UnaryRoute>;
  readonly streams: ReadonlyMap<string, StreamRoute>;
  /** Why the peer's streams are refused; null when they are welcome. */
  objection(peer: PeerIdentity): string | null;
  arrived(arrival: Arrival): void;
}

export class PeerServer {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  private unwatch: (() => void) | undefined;

  constructor(
    private readonly context: TransportContext,
    private readonly hooks: ServerHooks,
  ) {
    const { tls, limits } = context;
    const options: ServerOptions = {
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: limits.handshakeMs,
      // Bodies of unary calls are short and bounded by BODY_MS; snapshots take as long as they take.
      requestTimeout: 0,
      connectionsCheckingInterval: CHECK_EVERY_MS,
      keepAliveTimeout: IDLE_MS,
      noDelay: true,
    };
    const mutual = { requestCert: true, rejectUnauthorized: true };
    this.server =
      tls === undefined
        ? createServer(options)
        : createTlsServer({
            ...options,
            ...tls.current,
            ...mutual,
            handshakeTimeout: limits.handshakeMs,
          });
    this.server.maxConnections = limits.maxConnections;
    this.listenToEvents();
  }

  get port(): number {
    return (this.server.address() as AddressInfo | null)?.port ?? 0;
  }

  /** Rejects when the address cannot be bound. */
  start({ host, port }: PeerNetworkOptions['listen']): Promise<void> {
    return new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen({ host, port }, () => {
        this.server.off('error', reject);
        this.server.on('error', (error) => this.refusing(null, error.message));
        this.unwatch = this.context.tls?.watch((tls) =>
          (this.server as TlsServer).setSecureContext({ ...tls }),
        );
        resolve();
      });
    });
  }

  async stop(): Promise<void> {
    this.unwatch?.();
    if (!this.server.listening) return;
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()));
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  private listenToEvents(): void {
    const { server } = this;
    server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
    server.on('request', (request, response) => this.serve(request, response));
    server.on('checkContinue', (request, response) => this.serve(request, response, true));
    server.on('upgrade', (request, socket, head) => this.upgrade(request, socket, head));
    server.on('clientError', (error, socket) => {
      this.refusing(socket as Socket, error.message);
      refuse(socket, 400, 'not a request');
    });
    server.on('tlsClientError', (error, socket) => {
      this.refusing(socket as Socket, error.message);
      // There is no channel to answer through: an orderly end would wait for the handshake for ever.
      socket.destroy();
    });
  }

  private serve(request: IncomingMessage, response: ServerResponse, mustContinue = false): void {
    if (!handshake.sameToken(this.context.token, handshake.tokenOf(request.headers))) {
      this.refusing(request.socket, 'wrong or missing token');
      return answer(response, 401, errorText('unauthorized'), { connection: 'close' });
    }
    const [path = ''] = (request.url ?? '').split('?', 1);
    const stream = request.method === 'POST' ? this.hooks.streams.get(path) : undefined;
    if (stream !== undefined) {
      if (mustContinue) response.writeContinue();
      return stream(request, response);
    }
    const route = request.method === 'POST' ? this.hooks.routes.get(path) : undefined;
    if (route === undefined) {
      return answer(response, 404, errorText('no_such_route'), { connection: 'close' });
    }
    if (mustContinue) response.writeContinue();
    readBody(request, route.maxBodyBytes, (body) => {
      if (body === null) {
        return answer(response, 413, errorText('payload_too_large'), { connection: 'close' });
      }
      void answerBody(route, body, response);
    });
  }

  private upgrade(request: IncomingMessage, duplex: Duplex, head: Buffer): void {
    const socket = duplex as Socket;
    const fail = (status: number, reason: string): void => {
      this.refusing(socket, reason);
      refuse(socket, status, reason);
    };
    const { headers } = request;
    if (!handshake.sameToken(this.context.token, handshake.tokenOf(headers))) {
      return fail(401, 'wrong or missing token');
    }
    const kind = handshake.streamKindOf(request.url ?? '');
    if (kind === null) return fail(404, 'no such stream');
    if (request.method !== 'GET' || headers.upgrade !== handshake.UPGRADE) {
      return fail(400, 'not an upgrade to a stream');
    }
    const peer = handshake.judgeIdentity(headers, this.context);
    if (typeof peer === 'string') return fail(403, peer);
    const objection = this.hooks.objection(peer);
    if (objection !== null) return fail(403, objection);
    const lines = Object.entries(handshake.identityHeaders(this.context));
    socket.write(
      headText(101, [['connection', 'Upgrade'], ['upgrade', handshake.UPGRADE], ...lines]),
    );
    this.hooks.arrived({ kind, peer, socket, head });
  }

  private refusing(socket: Socket | null, reason: string): void {
    const from = socket?.remoteAddress ?? null;
    this.context.warnings.warn('raft: refused a connection', null, { from, reason });
  }
}

/** A failure of the answering side is a 500, as of any server. */
async function answerBody(
  route: UnaryRoute,
  body: string,
  response: ServerResponse,
): Promise<void> {
  try {
    const text = await route.answer(body);
    if (text === null) answer(response, 400, errorText('bad_body'));
    else answer(response, 200, text);
  } catch {
    answer(response, 500, errorText('internal'));
  }
}

const errorText = (code: string): string => JSON.stringify({ error: code, code });

export function answer(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(text);
}

function headText(status: number, headers: readonly (readonly string[])[]): string {
  const lines = headers.map(([name = '', value = '']) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n`;
}

/** Answers on a connection that HTTP let go of, and closes it. */
function refuse(socket: Duplex, status: number, reason: string): void {
  // The other end may be gone already; there is nobody to tell.
  socket.on('error', () => socket.destroy());
  if (!socket.writable) return void socket.destroy();
  const headers = [
    ['connection', 'close'],
    ['content-length', '0'],
    ['x-queen-raft-refusal', reason],
  ];
  socket.end(headText(status, headers), () => socket.destroy());
}

/** Null when the body is longer than allowed; never calls back for one that broke off or is slow. */
function readBody(
  request: IncomingMessage,
  maxBytes: number,
  done: (body: string | null) => void,
): void {
  const chunks: Buffer[] = [];
  let size = 0;
  let isOver = false;
  const slow = setTimeout(() => request.destroy(), BODY_MS);
  request.on('close', () => clearTimeout(slow));
  request.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (isOver) return;
    isOver = size > maxBytes;
    if (isOver) done(null);
    else chunks.push(chunk);
  });
  request.on('end', () => {
    if (!isOver) done(Buffer.concat(chunks).toString('utf8'));
  });
  // A caller that breaks off gets no answer.
  request.on('error', () => undefined);
}
