/**
 * Who may use ephemeral queues now, in this order: the operators' switch, the tenant's grant, the rate of
 * pushed messages. Occupancy is judged where the memory is. The rate is charged once, at the node the
 * client reached.
 */
import { QueenError } from '../common/errors.js';
import { TokenBucket, type TokenBucketLimits } from '../common/token-bucket.js';
import { hexText } from '../common/uuid-v7.js';
import type { EphemeralConfig } from '../config/index.js';
import { QuotaKind } from '../machine/commands/controls.js';
import type { Groups } from '../raft/index.js';
import type { TenantLimits } from './queues/queue-store.js';

/** A tenant's quota row; null = unlimited. */
export interface EphemeralQuota extends TenantLimits {
  readonly enabled: boolean;
  readonly maxMessagesPerSecond: number | null;
}

/** The replicated controls as this node has applied them. */
export interface Controls {
  isEnabled(): boolean;
  quotaOf(tenant: Uint8Array): EphemeralQuota | null;
}

/** The switch of the whole cluster lives in group 0, a tenant's quota in its own group. */
export function controlsOf(groups: Groups): Controls {
  return {
    isEnabled: () => groups.first.tables.controls.isOn('ephemeral'),
    quotaOf: (tenant) => {
      const { controls } = groups.ofTenant(tenant).tables;
      const grant = controls.quota(QuotaKind.Ephemeral, tenant);
      if (grant === undefined) return null;
      const { maxBytes, maxQueues, maxMessagesPerSecond } = grant.limits;
      return { enabled: grant.enabled, maxBytes, maxQueues, maxMessagesPerSecond };
    },
  };
}

/** Buckets of tenants kept at once; beyond it the one idle for longest starts anew. */
const MAX_BUCKETS = 10_000;

interface TenantRate {
  readonly bucket: TokenBucket;
  limits: TokenBucketLimits;
}

export class EphemeralGate {
  private readonly rates = new Map<string, TenantRate>();

  constructor(
    private readonly controls: Controls,
    private readonly config: EphemeralConfig,
    private readonly nowMs: () => number,
  ) {}

  /** Throws the refusal. */
  check(tenant: Uint8Array): TenantLimits {
    if (!this.controls.isEnabled()) throw new QueenError('ephemeral_disabled');
    const quota = this.controls.quotaOf(tenant);
    if (quota === null ? this.config.requireGrant : !quota.enabled) {
      throw new QueenError('feature_gated');
    }
    return quota ?? NO_LIMITS;
  }

  /** What the tenant may have, whether or not it may do anything now. */
  limits(tenant: Uint8Array): TenantLimits {
    return this.controls.quotaOf(tenant) ?? NO_LIMITS;
  }

  /** Takes the tokens of `messages`, at most a whole bucket. */
  charge(tenant: Uint8Array, messages: number): void {
    const limits = this.rateLimits(this.controls.quotaOf(tenant));
    const { bucket } = this.rateOf(hexText(tenant), limits);
    const tokens = Math.min(messages, limits.burst);
    const now = this.nowMs();
    if (bucket.take(now, tokens)) return;
    throw new QueenError('rate_limited', undefined, {
      retryAfter: bucket.retryAfterSeconds(now, tokens),
    });
  }

  private rateLimits(quota: EphemeralQuota | null): TokenBucketLimits {
    const own = quota?.maxMessagesPerSecond ?? 0;
    if (own > 0) return { ratePerSecond: own, burst: own };
    return { ratePerSecond: this.config.rate, burst: this.config.burst };
  }

  private rateOf(key: string, limits: TokenBucketLimits): TenantRate {
    let rate = this.rates.get(key);
    if (rate === undefined) {
      rate = { bucket: new TokenBucket(limits, this.nowMs()), limits };
      if (this.rates.size >= MAX_BUCKETS) this.forgetOldest();
    } else {
      this.rates.delete(key);
      if (
        rate.limits.burst !== limits.burst ||
        rate.limits.ratePerSecond !== limits.ratePerSecond
      ) {
        rate.bucket.setLimits(limits, this.nowMs());
        rate.limits = limits;
      }
    }
    // Insertion order is order of use.
    this.rates.set(key, rate);
    return rate;
  }

  private forgetOldest(): void {
    const [oldest] = this.rates.keys();
    if (oldest !== undefined) this.rates.delete(oldest);
  }
}

const NO_LIMITS: TenantLimits = Object.freeze({ maxBytes: null, maxQueues: null });
