/**
 * Admission of storage-growing requests, by Content-Length, before a body byte is read: a request that
 * waits costs no memory. FIFO; a request larger than the budget runs alone. Pops and acks never come
 * here (messages.md §14.3). Invariant: `heldBytes` is the sum over all permits that are held, and is
 * above the budget only while one permit is held alone.
 */
import { QueenError } from '../common/errors.js';

const MIN_RETRY_SECONDS = 1;
const MAX_RETRY_SECONDS = 5;
/** The hold is spread by this share either way so that refused clients do not come back as one. */
const HOLD_JITTER = 0.25;

export interface AdmissionOptions {
  /** Bytes that may be in work at once; 0 = no limit. */
  readonly maxBytes: number;
  readonly holdMs: number;
  /** Uniform in [0, 1). */
  readonly random: () => number;
}

/** Told once when a waiting permit is decided: without an error it is held. */
export type Decided = (error?: QueenError) => void;

const enum State {
  Waiting = 0,
  Held = 1,
  Over = 2,
}

/** The share of one request in the budget, from its first header to the end of its answer. */
export class Permit {
  /** The admission's business. */
  state = State.Waiting;
  timer: NodeJS.Timeout | null = null;
  decided: Decided | null = null;

  constructor(
    private readonly admission: Admission,
    public bytes: number,
  ) {}

  get isHeld(): boolean {
    return this.state === State.Held;
  }

  /** Calls back once if the permit still waits; never after `release`. */
  whenDecided(callback: Decided): void {
    this.decided = callback;
  }

  /**
   * More bytes turned up than were announced (a chunked body). Never waits, for it would wait with a
   * body in memory: false means that the budget is full and the request must be refused.
   */
  grow(bytes: number): boolean {
    return this.admission.grow(this, bytes);
  }

  /** Gives the bytes back, or leaves the queue. Safe at any time and more than once. */
  release(): void {
    this.admission.release(this);
  }
}

export class Admission {
  private held = 0;
  private holders = 0;
  private readonly queue: Permit[] = [];
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

  /** A permit that is held, or waits for its turn for at most the hold. */
  request(bytes: number): Permit {
    const permit = new Permit(this, bytes);
    if (this.queue.length === 0 && this.fits(bytes)) this.take(permit);
    else this.park(permit);
    return permit;
  }

  grow(permit: Permit, bytes: number): boolean {
    if (permit.state !== State.Held) return false;
    const alone = this.holders === 1;
    if (!alone && !this.isUnlimited && this.held + bytes > this.options.maxBytes) {
      this.refused += 1;
      return false;
    }
    permit.bytes += bytes;
    this.held += bytes;
    return true;
  }

  release(permit: Permit): void {
    const { state } = permit;
    permit.state = State.Over;
    permit.decided = null;
    if (state === State.Waiting) this.unpark(permit);
    else if (state === State.Held) {
      this.held -= permit.bytes;
      this.holders -= 1;
    } else return;
    this.admitNext();
  }

  /** The refusal of who waited for the whole hold, or outgrew what it announced. */
  overloaded(): QueenError {
    const span = MAX_RETRY_SECONDS - MIN_RETRY_SECONDS + 1;
    const retryAfter = MIN_RETRY_SECONDS + Math.floor(this.options.random() * span);
    return new QueenError('overloaded', undefined, { retryAfter });
  }

  private get isUnlimited(): boolean {
    return this.options.maxBytes === 0;
  }

  private fits(bytes: number): boolean {
    return this.holders === 0 || this.isUnlimited || this.held + bytes <= this.options.maxBytes;
  }

  private take(permit: Permit): void {
    permit.state = State.Held;
    this.held += permit.bytes;
    this.holders += 1;
  }

  private park(permit: Permit): void {
    this.waited += 1;
    const spread = 1 + HOLD_JITTER * (2 * this.options.random() - 1);
    permit.timer = setTimeout(() => this.expire(permit), this.options.holdMs * spread);
    this.queue.push(permit);
  }

  private unpark(permit: Permit): void {
    if (permit.timer !== null) clearTimeout(permit.timer);
    permit.timer = null;
    this.queue.splice(this.queue.indexOf(permit), 1);
  }

  private expire(permit: Permit): void {
    const { decided } = permit;
    this.refused += 1;
    this.release(permit);
    decided?.(this.overloaded());
  }

  private admitNext(): void {
    for (let next = this.queue[0]; next !== undefined; next = this.queue[0]) {
      if (!this.fits(next.bytes)) return;
      const { decided } = next;
      this.unpark(next);
      next.decided = null;
      this.take(next);
      decided?.();
    }
  }
}
