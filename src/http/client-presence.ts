/**
 * Knows whether the client still listens. It watches the response's `close` before its last byte (not
 * the request's `close`, which also fires on a body fully read): see architecture.md §11 lesson 8.
 */
import type { FastifyReply } from 'fastify';

export class ClientPresence {
  private readonly controller = new AbortController();
  private finished = false;
  private gone = false;
  private onLost: (() => void) | null = null;

  constructor(reply: FastifyReply) {
    reply.raw.once('finish', () => {
      this.finished = true;
    });
    reply.raw.once('close', () => {
      if (this.finished) return;
      this.gone = true;
      this.controller.abort();
      this.onLost?.();
    });
    if (reply.raw.destroyed) this.gone = true;
  }

  /** Aborts when the client goes away before the last byte of the answer. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get isGone(): boolean {
    return this.gone;
  }

  /** Calls back once if the answer cannot be delivered completely; at once when that is known. */
  whenLost(callback: () => void): void {
    if (this.gone) callback();
    else this.onLost = callback;
  }
}
