/**
 * Admission of storage-growing requests, by Content-Length, before a body byte is read: a request that
 * waits costs no memory. FIFO; a request larger than the budget runs alone. Pops and acks never come
 * here (messages.md §14.3).
 */
import { QueenError } from '../common/errors.js';

const MIN_RETRY_SECONDS = 1;
const MAX_RETRY_SECONDS = 5;
/** The hold is spread by this share either way so that refused clients do not come back as one. */
const HOLD_JITTER = 0.25;

interface Waiting {
  readonly bytes: number;
  readonly admit: () => void;
  timer: NodeJS.Timeout | null;
}

export interface AdmissionOptions {
  /** Bytes that may be in work at once; 0 = no limit. */
  readonly maxBytes: number;
  readonly holdMs: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Gives the bytes back; safe to call more than once. */
export type Release = () => void;

export class Admission {
  private held = 0;
  private readonly queue: Waiting[] = [];
  waited = 0;
  refused = 0;

  constructor(private readonly options: AdmissionOptions) {}

  get heldBytes(): number {
    return this.held;
  }

  get capBytes(): number {
    return this.options.maxBytes;
  }

  get waiting(): number {
    return this.queue.length;
  }

  /** Resolves when the bytes are admitted; rejects `overloaded` when the whole hold passed. */
  async enter(bytes: number): Promise<Release> {
    if (this.options.maxBytes === 0) return () => undefined;
    if (this.queue.length > 0 || !this.fits(bytes)) await this.wait(bytes);
    else this.held += bytes;
    let open = true;
    return () => {
      if (!open) return;
      open = false;
      this.held -= bytes;
      this.admitNext();
    };
  }

  private fits(bytes: number): boolean {
    return this.held === 0 || this.held + bytes <= this.options.maxBytes;
  }

  private wait(bytes: number): Promise<void> {
    this.waited += 1;
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { bytes, admit: resolve, timer: null };
      const spread = 1 + HOLD_JITTER * (2 * this.options.random() - 1);
      waiting.timer = setTimeout(() => {
        this.queue.splice(this.queue.indexOf(waiting), 1);
        this.refused += 1;
        reject(this.overloaded());
        this.admitNext();
      }, this.options.holdMs * spread);
      this.queue.push(waiting);
    });
  }

  private admitNext(): void {
    for (let next = this.queue[0]; next !== undefined; next = this.queue[0]) {
      if (!this.fits(next.bytes)) return;
      this.queue.shift();
      if (next.timer !== null) clearTimeout(next.timer);
      this.held += next.bytes;
      next.admit();
    }
  }

  private overloaded(): QueenError {
    const span = MAX_RETRY_SECONDS - MIN_RETRY_SECONDS + 1;
    const retryAfter = MIN_RETRY_SECONDS + Math.floor(this.options.random() * span);
    return new QueenError('overloaded', undefined, { retryAfter });
  }
}
