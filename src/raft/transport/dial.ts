/**
 * One attempt to open a stream: connect, ask for the upgrade, check who answered. It settles exactly
 * once, at the latest after the handshake time; a late or odd answer closes its connection. TLS
 * checks the peer's certificate against the cluster's own authority, not its host name: members are
 * dialled by whatever address the operator wrote.
 */
import { request as httpRequest, type ClientRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { judgeIdentity, ownHeaders, STREAM_PATH, UPGRADE } from './handshake.js';
import type { PeerIdentity, StreamKind } from './handshake.js';
import type { PeerAddress, TransportContext } from './options.js';

export type DialOutcome =
  | {
      readonly kind: 'open';
      readonly socket: Socket;
      readonly head: Uint8Array;
      readonly peer: PeerIdentity;
    }
  /** The peer answered and does not want this stream. */
  | { readonly kind: 'refused'; readonly status: number; readonly reason: string }
  | { readonly kind: 'unreachable'; readonly reason: string };

export interface Dial {
  cancel(): void;
}

export function openRequest(options: RequestOptions, context: TransportContext): ClientRequest {
  const { tls } = context;
  const { handshakeMs } = context.limits;
  const base: RequestOptions = { ...options, agent: false, timeout: handshakeMs };
  if (tls === undefined) return httpRequest(base);
  return httpsRequest({ ...base, ...tls.current, checkServerIdentity: () => undefined });
}

export function dialStream(
  address: PeerAddress,
  kind: StreamKind,
  context: TransportContext,
  settle: (outcome: DialOutcome) => void,
): Dial {
  let settled = false;
  const request = openRequest(
    {
      host: address.host,
      port: address.port,
      path: `${STREAM_PATH}?kind=${kind}`,
      headers: { ...ownHeaders(context), connection: 'Upgrade', upgrade: UPGRADE },
    },
    context,
  );
  const finish = (outcome: DialOutcome): void => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    if (outcome.kind !== 'open') request.destroy();
    settle(outcome);
  };
  const unreachable = (reason: string): void => finish({ kind: 'unreachable', reason });
  const timer = setTimeout(() => unreachable('timeout'), context.limits.handshakeMs);
  request.on('error', (error) => unreachable(error.message));
  request.on('response', (response) => {
    const status = response.statusCode ?? 0;
    const reason = response.headers['x-queen-raft-refusal'];
    finish({ kind: 'refused', status, reason: typeof reason === 'string' ? reason : '' });
  });
  request.on('upgrade', (response, socket, head) => {
    const peer = settled ? 'late' : judgeIdentity(response.headers, context);
    if (typeof peer !== 'string' && peer.nodeId === address.nodeId) {
      return finish({ kind: 'open', socket: socket, head, peer });
    }
    socket.destroy();
    const reason = typeof peer === 'string' ? peer : 'another node answers at this address';
    finish({ kind: 'refused', status: 101, reason });
  });
  request.end();
  return {
    cancel: () => {
      settled = true;
      clearTimeout(timer);
      request.destroy();
    },
  };
}
