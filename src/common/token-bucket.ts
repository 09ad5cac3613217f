/**
 * Token bucket on the caller's clock: `ratePerSecond` tokens flow in, at most `burst` are kept. A clock
 * that goes back adds nothing.
 */

export interface TokenBucketLimits {
  readonly ratePerSecond: number;
  readonly burst: number;
}

export class TokenBucket {
  private tokens: number;

  constructor(
    private limits: TokenBucketLimits,
    private lastMs: number,
  ) {
    this.tokens = limits.burst;
  }

  /** Takes `count` tokens if they are there; a refusal takes nothing. */
  take(nowMs: number, count = 1): boolean {
    this.refill(nowMs);
    if (this.tokens < count) return false;
    this.tokens -= count;
    return true;
  }

  /** Whole seconds until `count` tokens are there, at least 1: the Retry-After of a refusal. */
  retryAfterSeconds(nowMs: number, count = 1): number {
    this.refill(nowMs);
    const missing = Math.min(count, this.limits.burst) - this.tokens;
    return Math.max(1, Math.ceil(missing / this.limits.ratePerSecond));
  }

  /** Gives tokens back after a call that did not happen. */
  refund(count: number): void {
    this.tokens = Math.min(this.limits.burst, this.tokens + count);
  }

  /** Applies new limits; tokens above the new burst are lost. */
  setLimits(limits: TokenBucketLimits, nowMs: number): void {
    this.refill(nowMs);
    this.limits = limits;
    this.tokens = Math.min(limits.burst, this.tokens);
  }

  private refill(nowMs: number): void {
    if (nowMs <= this.lastMs) return;
    const gained = ((nowMs - this.lastMs) * this.limits.ratePerSecond) / 1000;
    this.tokens = Math.min(this.limits.burst, this.tokens + gained);
    this.lastMs = nowMs;
  }
}
