/**
 * Switches of the whole cluster and quotas of tenants, in memory. A switch that was never set is on.
 *
 *   24 quota     u8 version=1 | grant (commands/controls.ts)
 *   25 switches  u8 version=1 | u8 off                       one bit per switch
 */
import { parseUuid, uuidText } from '../../common/uuid-v7.js';
import { readGrant, readQuotaKind, SWITCH_NAMES, writeGrant } from '../commands/controls.js';
import type { QuotaGrant, QuotaKind, SwitchName } from '../commands/controls.js';
import type { RowPort } from '../machine.js';
import { quotaKey, quotaKeyKind, quotaKeyTenant, switchesKey } from './kv-keys.js';
import { beginRow, openRow } from './row-codec.js';

const VERSION = 1;
const NO_TENANT = new Uint8Array(16);

export interface ControlTable {
  isOn(name: SwitchName): boolean;
  /** Undefined: nothing was ever granted to the tenant (16-byte uuid). */
  quota(kind: QuotaKind, tenant: Uint8Array): QuotaGrant | undefined;
  /** Tenants with a quota of the kind, in the order of their text. */
  quotas(kind: QuotaKind): { readonly tenant: Uint8Array; readonly grant: QuotaGrant }[];
  /** Apply only; true when it changed. */
  turn(name: SwitchName, on: boolean): boolean;
  setQuota(kind: QuotaKind, tenant: Uint8Array, grant: QuotaGrant): void;
}

export class ControlTableImpl implements ControlTable {
  private off = 0;
  private isDirty = false;
  private readonly grants = new Map<QuotaKind, Map<string, QuotaGrant>>();
  private readonly dirtyQuotas: (readonly [QuotaKind, Uint8Array])[] = [];

  isOn(name: SwitchName): boolean {
    return (this.off & bitOf(name)) === 0;
  }

  turn(name: SwitchName, on: boolean): boolean {
    if (this.isOn(name) === on) return false;
    this.off ^= bitOf(name);
    this.isDirty = true;
    return true;
  }

  quota(kind: QuotaKind, tenant: Uint8Array): QuotaGrant | undefined {
    const known = this.grants.get(kind);
    return known === undefined || known.size === 0 ? undefined : known.get(uuidText(tenant));
  }

  quotas(kind: QuotaKind): { readonly tenant: Uint8Array; readonly grant: QuotaGrant }[] {
    const known = [...(this.grants.get(kind) ?? [])];
    known.sort(([a], [b]) => (a < b ? -1 : 1));
    return known.map(([text, grant]) => ({ tenant: parseUuid(text) ?? NO_TENANT, grant }));
  }

  setQuota(kind: QuotaKind, tenant: Uint8Array, grant: QuotaGrant): void {
    this.add(kind, tenant, grant);
    this.dirtyQuotas.push([kind, tenant.slice()]);
  }

  // Inside the tables -----------------------------------------------------------------------------

  flush(rows: RowPort): void {
    for (const [kind, tenant] of this.dirtyQuotas) {
      const grant = this.quota(kind, tenant);
      if (grant !== undefined) rows.put(quotaKey(kind, tenant), encodeQuota(grant));
    }
    this.dirtyQuotas.length = 0;
    if (this.isDirty) rows.put(switchesKey(), encodeSwitches(this.off));
    this.isDirty = false;
  }

  loadQuota(key: Uint8Array, value: Uint8Array): void {
    const reader = openRow(value, VERSION, 'quota row');
    const grant = readGrant(reader);
    reader.expectEnd();
    this.add(readQuotaKind(quotaKeyKind(key)), quotaKeyTenant(key), grant);
  }

  loadSwitches(value: Uint8Array): void {
    const reader = openRow(value, VERSION, 'switches row');
    this.off = reader.u8();
    reader.expectEnd();
  }

  private add(kind: QuotaKind, tenant: Uint8Array, grant: QuotaGrant): void {
    const known = this.grants.get(kind) ?? new Map<string, QuotaGrant>();
    this.grants.set(kind, known);
    known.set(uuidText(tenant), grant);
  }
}

function bitOf(name: SwitchName): number {
  return 1 << SWITCH_NAMES.indexOf(name);
}

function encodeQuota(grant: QuotaGrant): Uint8Array {
  const writer = beginRow(VERSION);
  writeGrant(writer, grant);
  return writer.toBytes();
}

function encodeSwitches(off: number): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u8(off);
  return writer.toBytes();
}
