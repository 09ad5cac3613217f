/**
 * The gate ladder of the key-value store, locks and timers (state.md §0.4), one token per call: switch,
 * grant, room for another tenant, token bucket, occupancy. The answer names the first rung that refused.
 * Buckets are per tenant and node; switches, quotas and occupancy are replicated.
 */
import { StateRefusal } from '../common/state-refusal.js';
import { TokenBucket } from '../common/token-bucket.js';
import { uuidText } from '../common/uuid-v7.js';
import type { KvConfig } from '../config/index.js';
import { QuotaKind } from '../machine/commands/index.js';
import type { QuotaGrant, QuotaLimits } from '../machine/commands/index.js';
import type { Tables } from '../machine/tables/tables.js';
import type { Groups } from '../raft/index.js';
import { OccupancyEnforcer } from './occupancy.js';
import type { ReadRejection, StateTraffic } from './state-traffic.js';

/** What a call adds at most. */
export interface OccupancyCharge {
  readonly rows: number;
  readonly bytes: number;
  readonly timers: number;
}

export const NO_CHARGE: OccupancyCharge = { rows: 0, bytes: 0, timers: 0 };

/** What a passed call gives back when it did not happen, and when it is applied and thus measured. */
export interface GatePass {
  refund(): void;
}

export type GateConfig = Pick<
  KvConfig,
  | 'requireGrant'
  | 'readRate'
  | 'readBurst'
  | 'writeRate'
  | 'writeBurst'
  | 'maxTenants'
  | 'quotaReleasePct'
  | 'quotaHotPct'
>;

interface TenantState {
  readonly read: TokenBucket;
  readonly write: TokenBucket;
  readonly rows: OccupancyEnforcer;
  readonly bytes: OccupancyEnforcer;
  readonly timers: OccupancyEnforcer;
}

/** Timers stored of a tenant; the timer plane tells when it has any. */
export type CountTimers = (tables: Tables, tenant: Uint8Array) => number;

export class StateGate {
  private readonly tenants = new Map<string, TenantState>();
  private countTimers: CountTimers = () => 0;

  constructor(
    private readonly groups: Pick<Groups, 'all' | 'first' | 'ofTenant'>,
    private readonly config: GateConfig,
    private readonly traffic: StateTraffic,
    private readonly monotonicMs: () => number,
  ) {}

  /** Who counts a tenant's timers. */
  measureTimers(count: CountTimers): void {
    this.countTimers = count;
  }

  /** Reads of keys, namespaces and locks: never a grant, never occupancy. */
  enterRead(tenant: Uint8Array): void {
    const { traffic } = this;
    this.kvSwitch((reason) => traffic.rejected(reason));
    const quota = this.quotaOf(tenant);
    const state = this.state(tenant, quota, (reason) => traffic.rejected(reason));
    this.take(state.read, this.readLimits(quota?.limits), (reason) => traffic.rejected(reason));
  }

  /** Any call with a write, a check or a lock that changes hands. */
  enterWrite(tenant: Uint8Array, charge: OccupancyCharge): GatePass {
    const note = (reason: ReadRejection): void => this.traffic.rejected(reason);
    this.kvSwitch(note);
    return this.enter(tenant, charge, { note, quotaCode: 'kv_quota_exceeded' });
  }

  /** A call that schedules timers: it takes from the key-value write bucket. */
  enterTimers(tenant: Uint8Array, timers: number): GatePass {
    const note = (reason: ReadRejection): void => this.traffic.timerRejected(reason);
    if (!this.groups.first.tables.controls.isOn('timersSchedule')) {
      note('disabled');
      throw new StateRefusal('timers_disabled', { detail: 'scheduling timers is switched off' });
    }
    return this.enter(
      tenant,
      { ...NO_CHARGE, timers },
      { note, quotaCode: 'timers_quota_exceeded' },
    );
  }

  /** Tenants whose calls this node meters, and how many it meters at most. */
  get pool(): { readonly used: number; readonly limit: number } {
    return { used: this.tenants.size, limit: this.config.maxTenants };
  }

  /** Figures of the switch page: tenants with a quota, and those near one of their limits. */
  figures(): { readonly tenants: number; readonly hot: number } {
    let tenants = 0;
    let hot = 0;
    // A quota lies in the group of its tenant.
    for (const { tables } of this.groups.all()) {
      for (const { tenant, grant } of tables.controls.quotas(QuotaKind.Kv)) {
        tenants += 1;
        if (this.isHot(tenant, grant.limits)) hot += 1;
      }
    }
    return { tenants, hot };
  }

  private enter(
    tenant: Uint8Array,
    charge: OccupancyCharge,
    { note, quotaCode }: WriteSurface,
  ): GatePass {
    const quota = this.quotaOf(tenant);
    if (quota === undefined ? this.config.requireGrant : !quota.enabled) {
      note('quota');
      throw refusal('feature_gated', 'this tenant has no grant for key-value writes and timers');
    }
    const state = this.state(tenant, quota, note);
    this.take(state.write, this.writeLimits(quota?.limits), note);
    const full = quota === undefined ? null : this.occupy(tenant, state, { charge, quota });
    if (full !== null) {
      note('quota');
      throw refusal(quotaCode, `the tenant's limit of ${full} is reached`);
    }
    return { refund: quota === undefined ? nothing : refundOf(state, charge) };
  }

  private kvSwitch(note: (reason: ReadRejection) => void): void {
    if (this.groups.first.tables.controls.isOn('kv')) return;
    note('disabled');
    throw new StateRefusal('kv_disabled', { detail: 'the key-value store is switched off' });
  }

  /** The limit that refuses the charge, null when all take it. */
  private occupy(
    tenant: Uint8Array,
    state: TenantState,
    call: { readonly charge: OccupancyCharge; readonly quota: QuotaGrant },
  ): string | null {
    const { limits } = call.quota;
    const { rows, bytes, timers } = call.charge;
    const held = this.held(tenant);
    if (!state.rows.take(held.rows, limits.maxRows, rows)) return 'rows';
    if (!state.bytes.take(held.bytes, limits.maxBytes, bytes)) {
      state.rows.refund(rows, state.rows.epoch);
      return 'bytes';
    }
    if (state.timers.take(held.timers, limits.maxTimers, timers)) return null;
    state.rows.refund(rows, state.rows.epoch);
    state.bytes.refund(bytes, state.bytes.epoch);
    return 'timers';
  }

  private held(tenant: Uint8Array): OccupancyCharge {
    const { tables } = this.groups.ofTenant(tenant);
    const { rows, bytes } = tables.kv.totals(tables.names.tenant(tenant));
    return { rows, bytes, timers: this.countTimers(tables, tenant) };
  }

  private isHot(tenant: Uint8Array, limits: QuotaLimits): boolean {
    const held = this.held(tenant);
    const near = (value: number, limit: number | null): boolean =>
      limit !== null && value * 100 >= limit * this.config.quotaHotPct;
    return (
      near(held.rows, limits.maxRows) ||
      near(held.bytes, limits.maxBytes) ||
      near(held.timers, limits.maxTimers)
    );
  }

  private quotaOf(tenant: Uint8Array): QuotaGrant | undefined {
    return this.groups.ofTenant(tenant).tables.controls.quota(QuotaKind.Kv, tenant);
  }

  /** Denies when the map is full and never evicts; a tenant with a quota always has room. */
  private state(
    tenant: Uint8Array,
    quota: QuotaGrant | undefined,
    note: (reason: ReadRejection) => void,
  ): TenantState {
    const key = uuidText(tenant);
    const known = this.tenants.get(key);
    if (known !== undefined) return known;
    if (quota === undefined && this.tenants.size >= this.config.maxTenants) {
      note('pool');
      throw new StateRefusal('kv_unavailable', { detail: 'this node serves too many tenants' });
    }
    const nowMs = this.monotonicMs();
    const release = this.config.quotaReleasePct;
    const state = {
      read: new TokenBucket(this.readLimits(quota?.limits), nowMs),
      write: new TokenBucket(this.writeLimits(quota?.limits), nowMs),
      rows: new OccupancyEnforcer(release),
      bytes: new OccupancyEnforcer(release),
      timers: new OccupancyEnforcer(release),
    };
    this.tenants.set(key, state);
    return state;
  }

  private take(
    bucket: TokenBucket,
    limits: BucketLimits,
    note: (reason: ReadRejection) => void,
  ): void {
    const nowMs = this.monotonicMs();
    bucket.setLimits(limits, nowMs);
    if (bucket.take(nowMs)) return;
    note('rate_limited');
    const retryAfterSeconds = bucket.retryAfterSeconds(nowMs);
    throw new StateRefusal('rate_limited', { reason: 'rate_limited', retryAfterSeconds });
  }

  private readLimits(limits: QuotaLimits | undefined): BucketLimits {
    return bucketLimits(limits?.maxReadsPerSecond, {
      ratePerSecond: this.config.readRate,
      burst: this.config.readBurst,
    });
  }

  private writeLimits(limits: QuotaLimits | undefined): BucketLimits {
    return bucketLimits(limits?.maxWritesPerSecond, {
      ratePerSecond: this.config.writeRate,
      burst: this.config.writeBurst,
    });
  }
}

/** Nothing was charged. */
const nothing = (): void => undefined;

/** Gives a charge back that was just taken. */
function refundOf({ rows, bytes, timers }: TenantState, charge: OccupancyCharge): () => void {
  const [rowsEpoch, bytesEpoch, timersEpoch] = [rows.epoch, bytes.epoch, timers.epoch];
  return () => {
    rows.refund(charge.rows, rowsEpoch);
    bytes.refund(charge.bytes, bytesEpoch);
    timers.refund(charge.timers, timersEpoch);
  };
}

interface BucketLimits {
  readonly ratePerSecond: number;
  readonly burst: number;
}

interface WriteSurface {
  readonly note: (reason: ReadRejection) => void;
  readonly quotaCode: 'kv_quota_exceeded' | 'timers_quota_exceeded';
}

/** A quota's number above 0 replaces rate and burst. */
function bucketLimits(own: number | null | undefined, usual: BucketLimits): BucketLimits {
  return own === undefined || own === null || own === 0
    ? usual
    : { ratePerSecond: own, burst: own };
}

/** 403: nothing a retry could change; the reason is the code. */
function refusal(
  code: 'feature_gated' | 'kv_quota_exceeded' | 'timers_quota_exceeded',
  detail: string,
): StateRefusal {
  return new StateRefusal(code, { reason: code, detail });
}
