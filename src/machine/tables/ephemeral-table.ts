/**
 * Declared ephemeral queues by tenant and name. They are few, so objects will do. Row (keyspace 34,
 * tenant and name in the key):
 *
 *   u8 version=1 | u64 declaredAt | str options (JSON as it was sent)
 */
import { micros, tenantId } from '../../common/ids.js';
import type { TenantId } from '../../common/ids.js';
import type { RowPort } from '../machine.js';
import { ephemeralKey, keyEphemeralName, keyNumber } from './keyspaces.js';
import { beginRow, openRow } from './row-codec.js';
import type { EphemeralDeclaration, EphemeralTable } from './tables.js';

const VERSION = 1;

export class EphemeralTableImpl implements EphemeralTable {
  private readonly byTenant = new Map<TenantId, Map<string, EphemeralDeclaration>>();
  /** Keys of rows to write; the value says what stands there now. */
  private readonly dirty = new Map<TenantId, Set<string>>();
  version = 1;

  find(tenant: TenantId, name: string): EphemeralDeclaration | undefined {
    return this.byTenant.get(tenant)?.get(name);
  }

  list(tenant: TenantId): readonly string[] {
    return [...(this.byTenant.get(tenant)?.keys() ?? [])].sort();
  }

  declare(tenant: TenantId, name: string, declaration: EphemeralDeclaration): void {
    this.ofTenant(tenant).set(name, declaration);
    this.changed(tenant, name);
  }

  drop(tenant: TenantId, name: string): boolean {
    if (this.byTenant.get(tenant)?.delete(name) !== true) return false;
    this.changed(tenant, name);
    return true;
  }

  // Inside the tables -----------------------------------------------------------------------------

  flush(rows: RowPort): void {
    for (const [tenant, names] of this.dirty) {
      for (const name of names) {
        const declaration = this.find(tenant, name);
        const key = ephemeralKey(tenant, name);
        if (declaration === undefined) rows.delete(key);
        else rows.put(key, encodeDeclaration(declaration));
      }
    }
    this.dirty.clear();
  }

  load(key: Uint8Array, value: Uint8Array): void {
    this.ofTenant(tenantId(keyNumber(key))).set(keyEphemeralName(key), decodeDeclaration(value));
    this.version += 1;
  }

  private ofTenant(tenant: TenantId): Map<string, EphemeralDeclaration> {
    let names = this.byTenant.get(tenant);
    if (names === undefined) {
      names = new Map();
      this.byTenant.set(tenant, names);
    }
    return names;
  }

  private changed(tenant: TenantId, name: string): void {
    this.version += 1;
    const names = this.dirty.get(tenant);
    if (names === undefined) this.dirty.set(tenant, new Set([name]));
    else names.add(name);
  }
}

function encodeDeclaration(declaration: EphemeralDeclaration): Uint8Array {
  const writer = beginRow(VERSION);
  writer.u64(declaration.declaredAt);
  writer.string(declaration.optionsText);
  return writer.toBytes();
}

function decodeDeclaration(value: Uint8Array): EphemeralDeclaration {
  const reader = openRow(value, VERSION, 'ephemeral declaration row');
  const declaredAt = micros(reader.u64());
  const optionsText = reader.string();
  reader.expectEnd();
  return { declaredAt, optionsText };
}
