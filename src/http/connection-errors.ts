/**
 * Answers what the HTTP parser refuses before a request exists: malformed request lines and headers
 * (400), oversized headers (431), requests that do not arrive in time (408). One small JSON answer,
 * then the connection ends; a connection that is already gone or answering is just dropped.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

interface Refusal {
  readonly status: string;
  readonly error: string;
}

const MALFORMED: Refusal = { status: '400 Bad Request', error: 'the HTTP request is malformed' };
const REFUSALS: Readonly<Record<string, Refusal | undefined>> = {
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    error: 'the request headers are too large',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    error: 'the request did not arrive in time',
  },
};

/** Node keeps the response being written on the socket; no public name exists for it. */
interface AnsweringSocket extends Socket {
  readonly _httpMessage?: ServerResponse | null;
}

/** Fastify's clientErrorHandler. */
export function refuseConnection(error: { readonly code?: string }, socket: Socket): void {
  const answering = (socket as AnsweringSocket)._httpMessage?.headersSent === true;
  // A handshake that failed leaves nothing to answer through: `end` would wait for it for ever.
  const noChannel = socket instanceof TLSSocket && !isOfHttp(error.code ?? '');
  if (error.code === 'ECONNRESET' || !socket.writable || answering || noChannel) {
    socket.destroy();
    return;
  }
  socket.end(answerOf(REFUSALS[error.code ?? ''] ?? MALFORMED), () => socket.destroy());
}

const isOfHttp = (code: string): boolean => code.startsWith('HPE_') || code in REFUSALS;

function answerOf(refusal: Refusal): string {
  const body = JSON.stringify({ error: refusal.error, code: 'bad_request' });
  return (
    `HTTP/1.1 ${refusal.status}\r\nContent-Type: application/json; charset=utf-8\r\n` +
    `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`
  );
}
