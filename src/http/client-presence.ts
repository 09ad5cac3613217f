/**
 * Knows whether the client still listens. It watches the response's `close` before its last byte (not
 * the request's `close`, which also fires on a body fully read): see architecture.md §11 lesson 8.
 * The abort signal is made only for calls that wait.
 */
import type { FastifyReply } from 'fastify';

export class ClientPresence {
  private controller: AbortController | null = null;
  private gone: boolean;
  private isDelivered = false;
  private onLost: (() => void) | null = null;

  constructor(reply: FastifyReply) {
    const response = reply.raw;
    // The response lets go of its socket when it finishes.
    const { socket } = reply.request.raw;
    this.gone = response.destroyed;
    // Node says `finish` (and `writableFinished`) also for bytes that were dropped with their socket.
    response.once('finish', () => {
      this.isDelivered = !socket.destroyed && socket.errored === null;
    });
    response.once('close', () => this.closed());
  }

  /** Aborts when the client goes away before the last byte of the answer, or on `stopWaiting`. */
  waitSignal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.gone) this.controller.abort();
    return this.controller.signal;
  }

  /** Ends the wait of a client that is still there: it gets what there is, which is nothing. */
  stopWaiting(): void {
    this.controller?.abort();
  }

  get isGone(): boolean {
    return this.gone;
  }

  /** Calls back once if the answer cannot be delivered completely; at once when that is known. */
  whenLost(callback: () => void): void {
    if (this.gone) callback();
    else this.onLost = callback;
  }

  private closed(): void {
    if (this.isDelivered) return;
    this.gone = true;
    this.controller?.abort();
    this.onLost?.();
  }
}
