/**
 * How many timers each tenant has, in memory: what quotas are measured against. No object exists per
 * timer; rows live in the store (timer-row.ts).
 */
import type { TenantId } from '../../common/ids.js';
import { invariant } from '../../common/invariant.js';
import type { RowPort } from '../machine.js';
import { keyNumber } from './keyspaces.js';
import { timerCountKey } from './timer-keys.js';
import { decodeTimerCount, encodeTimerCount } from './timer-row.js';

export interface TimerTable {
  /** Pending timers. */
  count(tenant: TenantId | undefined): number;
  /** Of all tenants. */
  readonly total: number;
  /** Apply only. */
  add(tenant: number, delta: number): void;
  forget(tenant: TenantId): void;
}

export class TimerTableImpl implements TimerTable {
  private readonly counts = new Map<number, number>();
  private readonly dirty = new Set<number>();
  private sum = 0;

  get total(): number {
    return this.sum;
  }

  count(tenant: TenantId | undefined): number {
    return (tenant === undefined ? undefined : this.counts.get(tenant)) ?? 0;
  }

  add(tenant: number, delta: number): void {
    this.set(tenant, (this.counts.get(tenant) ?? 0) + delta);
  }

  /** The tenant was purged. */
  forget(tenant: TenantId): void {
    this.set(tenant, 0);
  }

  // Inside the tables -----------------------------------------------------------------------------

  flush(rows: RowPort): void {
    for (const tenant of [...this.dirty].sort((a, b) => a - b)) {
      const count = this.counts.get(tenant);
      if (count === undefined) rows.delete(timerCountKey(tenant));
      else rows.put(timerCountKey(tenant), encodeTimerCount(count));
    }
    this.dirty.clear();
  }

  load(key: Uint8Array, value: Uint8Array): void {
    const count = decodeTimerCount(value);
    this.counts.set(keyNumber(key), count);
    this.sum += count;
  }

  private set(tenant: number, count: number): void {
    invariant(count >= 0, 'fewer than no timers', () => ({ tenant, count }));
    this.sum += count - (this.counts.get(tenant) ?? 0);
    if (count === 0) this.counts.delete(tenant);
    else this.counts.set(tenant, count);
    this.dirty.add(tenant);
  }
}
