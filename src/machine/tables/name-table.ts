/**
 * Numbers of tenants (by uuid) and of consumer groups (by tenant and name). Few, created for ever:
 * plain objects. Numbers start at 1 in order of first use.
 */
import { invariant } from '../../common/invariant.js';
import type { ConsumerGroupId, TenantId } from '../../common/ids.js';
import { consumerGroupId, tenantId } from '../../common/ids.js';
import { murmur3x32 } from '../../common/murmur3-128.js';
import type { RowPort } from '../machine.js';
import type { TableCounters } from './header-row.js';
import { groupKey, keyNumber, tenantKey } from './keyspaces.js';
import { garbageTenantKey } from './kv-keys.js';
import type { StoredGroup } from './small-rows.js';
import {
  checkGarbageRow,
  decodeGroupRow,
  decodeTenantRow,
  encodeGarbageRow,
  encodeGroupRow,
  encodeTenantRow,
} from './small-rows.js';
import type { NameTable } from './tables.js';

interface Tenant {
  readonly id: TenantId;
  readonly uuid: Uint8Array;
}

export class NameTableImpl implements NameTable {
  private readonly tenants = new Map<number, Tenant>();
  private readonly tenantsByHash = new Map<number, Tenant[]>();
  private lastTenant: Tenant | undefined;
  private readonly groups = new Map<number, StoredGroup>();
  private readonly groupsByName = new Map<number, Map<string, ConsumerGroupId>>();
  private readonly dirtyTenants = new Set<Tenant>();
  private readonly dirtyGroups = new Set<number>();
  /** Purged tenants whose rows are not all removed yet. */
  private readonly garbage = new Set<number>();
  private readonly deletedRows: Uint8Array[] = [];
  private readonly newGarbage: number[] = [];

  constructor(private readonly counters: TableCounters) {}

  tenant(uuid: Uint8Array): TenantId | undefined {
    const last = this.lastTenant;
    if (last !== undefined && sameUuid(last.uuid, uuid)) return last.id;
    const found = this.tenantsByHash
      .get(murmur3x32(uuid, 0, uuid.length))
      ?.find((tenant) => sameUuid(tenant.uuid, uuid));
    if (found !== undefined) this.lastTenant = found;
    return found?.id;
  }

  ensureTenant(uuid: Uint8Array): TenantId {
    const known = this.tenant(uuid);
    if (known !== undefined) return known;
    invariant(uuid.length === 16, 'tenant uuid is not 16 bytes');
    const tenant = { id: tenantId(this.counters.nextTenantId++), uuid: uuid.slice() };
    this.addTenant(tenant);
    this.dirtyTenants.add(tenant);
    return tenant.id;
  }

  tenantUuid(id: TenantId): Uint8Array {
    const tenant = this.tenants.get(id);
    invariant(tenant !== undefined, 'unknown tenant', () => ({ id }));
    return tenant.uuid;
  }

  group(tenant: TenantId, name: string): ConsumerGroupId | undefined {
    return this.groupsByName.get(tenant)?.get(name);
  }

  ensureGroup(tenant: TenantId, name: string): ConsumerGroupId {
    const known = this.group(tenant, name);
    if (known !== undefined) return known;
    const id = consumerGroupId(this.counters.nextGroupId++);
    this.addGroup(id, { tenant, name });
    this.dirtyGroups.add(id);
    return id;
  }

  groupName(id: ConsumerGroupId): string {
    return this.storedGroup(id).name;
  }

  tenantUuids(): Uint8Array[] {
    return [...this.tenants.values()].map(({ uuid }) => uuid);
  }

  hasTenant(id: TenantId): boolean {
    return this.tenants.has(id);
  }

  forgetTenant(id: TenantId): void {
    const tenant = this.tenants.get(id);
    if (tenant === undefined) return;
    this.tenants.delete(id);
    const hash = murmur3x32(tenant.uuid, 0, tenant.uuid.length);
    const others = (this.tenantsByHash.get(hash) ?? []).filter((other) => other !== tenant);
    if (others.length === 0) this.tenantsByHash.delete(hash);
    else this.tenantsByHash.set(hash, others);
    this.lastTenant = undefined;
    this.dirtyTenants.delete(tenant);
    this.deletedRows.push(tenantKey(id));
    this.garbage.add(id);
    this.newGarbage.push(id);
  }

  // Inside the tables -----------------------------------------------------------------------------

  /** Numbers of purged tenants that left rows behind, ascending. */
  garbageTenants(): TenantId[] {
    return [...this.garbage].sort((a, b) => a - b).map((id) => tenantId(id));
  }

  /** Its rows are gone, and no queue of it is left: so go its group names. */
  finishTenant(id: TenantId): void {
    for (const group of this.groupsByName.get(id)?.values() ?? []) {
      this.groups.delete(group);
      this.dirtyGroups.delete(group);
      this.deletedRows.push(groupKey(group));
    }
    this.groupsByName.delete(id);
    this.garbage.delete(id);
    this.deletedRows.push(garbageTenantKey(id));
  }

  flush(rows: RowPort): void {
    for (const id of this.newGarbage) rows.put(garbageTenantKey(id), encodeGarbageRow());
    this.newGarbage.length = 0;
    for (const key of this.deletedRows) rows.delete(key);
    this.deletedRows.length = 0;
    for (const { id, uuid } of this.dirtyTenants) rows.put(tenantKey(id), encodeTenantRow(uuid));
    this.dirtyTenants.clear();
    for (const id of this.dirtyGroups) rows.put(groupKey(id), encodeGroupRow(this.storedGroup(id)));
    this.dirtyGroups.clear();
  }

  loadTenant(key: Uint8Array, value: Uint8Array): void {
    this.addTenant({ id: tenantId(keyNumber(key)), uuid: decodeTenantRow(value) });
  }

  loadGroup(key: Uint8Array, value: Uint8Array): void {
    this.addGroup(consumerGroupId(keyNumber(key)), decodeGroupRow(value));
  }

  loadGarbage(key: Uint8Array, value: Uint8Array): void {
    checkGarbageRow(value);
    this.garbage.add(keyNumber(key));
  }

  finishLoad(): void {
    for (const id of this.tenants.keys()) {
      invariant(id < this.counters.nextTenantId, 'tenant id above the counter', { id });
    }
    for (const id of this.groups.keys()) {
      invariant(id < this.counters.nextGroupId, 'group id above the counter', { id });
    }
  }

  private storedGroup(id: number): StoredGroup {
    const group = this.groups.get(id);
    invariant(group !== undefined, 'unknown consumer group', () => ({ id }));
    return group;
  }

  private addTenant(tenant: Tenant): void {
    this.tenants.set(tenant.id, tenant);
    const hash = murmur3x32(tenant.uuid, 0, tenant.uuid.length);
    const sameHash = this.tenantsByHash.get(hash);
    if (sameHash === undefined) this.tenantsByHash.set(hash, [tenant]);
    else sameHash.push(tenant);
  }

  private addGroup(id: ConsumerGroupId, group: StoredGroup): void {
    this.groups.set(id, group);
    let names = this.groupsByName.get(group.tenant);
    if (names === undefined) {
      names = new Map();
      this.groupsByName.set(group.tenant, names);
    }
    names.set(group.name, id);
  }
}

function sameUuid(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = a.length - 1; i >= 0; i--) if (a[i] !== b[i]) return false;
  return true;
}
