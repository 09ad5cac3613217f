/**
 * The connections of a server, for its end. Node closes those that are idle between two requests and
 * waits for all others: also, and without any bound, for one on which nothing was ever asked (a client
 * that connects ahead, a port check). Those are known here, and can be closed too.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

interface Open {
  readonly socket: Socket;
  readonly sinceMs: number;
}

export class OpenConnections {
  private readonly open = new Set<Socket>();
  /** Nothing was asked yet; by the client's address, for with TLS a request has another socket. */
  private readonly silent = new Map<string, Open>();
  private readonly asked = new WeakSet<Socket>();
  private readonly heard = ({ socket }: IncomingMessage): void => {
    if (this.asked.has(socket)) return;
    this.asked.add(socket);
    this.forget(placeOf(socket));
  };

  /** Before the server listens. */
  constructor(
    private readonly server: Server,
    private readonly nowMs: () => number,
  ) {
    server.on('connection', (socket: Socket) => this.opened(socket));
  }

  /** Between two requests, or silent for so long since they were opened. */
  closeIdle(silentForMs: number): void {
    this.server.closeIdleConnections();
    const now = this.nowMs();
    for (const { socket, sinceMs } of this.silent.values()) {
      if (now - sinceMs >= silentForMs) socket.destroy();
    }
  }

  /** Whatever they wait for. */
  closeAll(): void {
    this.server.closeAllConnections();
    for (const socket of this.open) socket.destroy();
  }

  private opened(socket: Socket): void {
    const place = placeOf(socket);
    this.open.add(socket);
    // Only while one is silent: it costs something with every request.
    if (this.silent.size === 0) this.server.on('request', this.heard);
    this.silent.set(place, { socket, sinceMs: this.nowMs() });
    socket.once('close', () => {
      this.open.delete(socket);
      if (this.silent.get(place)?.socket === socket) this.forget(place);
    });
  }

  private forget(place: string): void {
    this.silent.delete(place);
    if (this.silent.size === 0) this.server.off('request', this.heard);
  }
}

function placeOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
