/**
 * Knows whether the client still listens. It watches the response's `close` before its last byte (not
 * the request's `close`, which also fires on a body fully read): see architecture.md §11 lesson 8.
 * The abort signal is made only for calls that wait.
 */
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';

export class ClientPresence {
  private readonly response: ServerResponse;
  private controller: AbortController | null = null;
  private gone: boolean;
  private onLost: (() => void) | null = null;

  constructor(reply: FastifyReply) {
    this.response = reply.raw;
    this.gone = this.response.destroyed;
    this.response.once('close', () => this.closed());
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
    if (this.response.writableFinished) return;
    this.gone = true;
    this.controller?.abort();
    this.onLost?.();
  }
}
