/**
 * What the key-value store keeps in memory: the version counter and, per tenant, how much it holds. No
 * object exists per key; rows live in the store. Versions are fencing tokens: given once, ever rising.
 */
import type { TenantId } from '../../common/ids.js';
import { invariant } from '../../common/invariant.js';
import type { RowPort } from '../machine.js';
import { kvTenant, kvTotalsKey, kvVersionKey } from './kv-keys.js';
import {
  decodeKvTotalsRow,
  decodeKvVersionRow,
  encodeKvTotalsRow,
  encodeKvVersionRow,
} from './kv-rows.js';
import type { KvTotals } from './kv-rows.js';

const NOTHING: KvTotals = Object.freeze({ rows: 0, bytes: 0, expiring: 0 });

export interface KvTable {
  /** Last version given out, 0 before the first. */
  readonly lastVersion: number;
  totals(tenant: TenantId | undefined): KvTotals;
  /** Rows with an expiry, all tenants. */
  readonly expiring: number;
  /** Apply only. */
  nextVersion(): number;
  count(tenant: TenantId, change: KvTotals): void;
  forget(tenant: TenantId): void;
}

export class KvTableImpl implements KvTable {
  private readonly tenants = new Map<number, KvTotals>();
  private readonly dirty = new Set<number>();
  private version = 0;
  private isVersionDirty = false;
  private expiringRows = 0;

  get lastVersion(): number {
    return this.version;
  }

  get expiring(): number {
    return this.expiringRows;
  }

  nextVersion(): number {
    this.version += 1;
    this.isVersionDirty = true;
    return this.version;
  }

  totals(tenant: TenantId | undefined): KvTotals {
    return (tenant === undefined ? undefined : this.tenants.get(tenant)) ?? NOTHING;
  }

  /** Adds the (signed) change. */
  count(tenant: TenantId, change: KvTotals): void {
    const { rows, bytes, expiring } = this.totals(tenant);
    this.set(tenant, {
      rows: rows + change.rows,
      bytes: bytes + change.bytes,
      expiring: expiring + change.expiring,
    });
  }

  /** The tenant was purged. */
  forget(tenant: TenantId): void {
    this.set(tenant, NOTHING);
  }

  // Inside the tables -----------------------------------------------------------------------------

  flush(rows: RowPort): void {
    for (const tenant of [...this.dirty].sort((a, b) => a - b)) {
      const totals = this.tenants.get(tenant);
      if (totals === undefined) rows.delete(kvTotalsKey(tenant));
      else rows.put(kvTotalsKey(tenant), encodeKvTotalsRow(totals));
    }
    this.dirty.clear();
    if (this.isVersionDirty) rows.put(kvVersionKey(), encodeKvVersionRow(this.version));
    this.isVersionDirty = false;
  }

  loadTotals(key: Uint8Array, value: Uint8Array): void {
    const totals = decodeKvTotalsRow(value);
    this.expiringRows += totals.expiring;
    this.tenants.set(kvTenant(key), totals);
  }

  loadVersion(value: Uint8Array): void {
    this.version = decodeKvVersionRow(value);
  }

  private set(tenant: TenantId, totals: KvTotals): void {
    const { rows, bytes, expiring } = totals;
    invariant(rows >= 0 && bytes >= 0 && expiring >= 0, 'kv totals below zero', () => ({ tenant }));
    this.expiringRows += totals.expiring - this.totals(tenant).expiring;
    if (totals.rows === 0) this.tenants.delete(tenant);
    else this.tenants.set(tenant, totals);
    this.dirty.add(tenant);
  }
}
