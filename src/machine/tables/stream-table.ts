/**
 * Registered stream queries, in memory: they are few, one object each. Their state rows are in the
 * store alone (stream-rows.ts).
 */
import { tenantId } from '../../common/ids.js';
import type { TenantId } from '../../common/ids.js';
import { hexText } from '../../common/uuid-v7.js';
import type { RowPort } from '../machine.js';
import {
  checkGarbageState,
  decodeQueryRow,
  encodeGarbageState,
  encodeQueryRow,
  garbageStateKey,
  keyGeneration,
  streamQueryKey,
} from './stream-rows.js';
import type { StatePlace, StreamQuery } from './stream-rows.js';

/** State that a reset left behind. */
export type GarbageState = Omit<StatePlace, 'partitionId'>;

export interface StreamTable {
  byName(tenant: TenantId, name: string): StreamQuery | undefined;
  /** Undefined when the tenant has no such query. */
  byId(tenant: TenantId, queryId: Uint8Array): StreamQuery | undefined;
  /** Queries of a tenant that read a queue. */
  readersOf(tenant: TenantId, queue: string): readonly StreamQuery[];
  /** Queries of a tenant. */
  count(tenant: TenantId): number;
  /** Apply only. Adds the query or puts it in place of the one of its name. */
  put(query: StreamQuery): void;
  /** Apply only: the state of this generation is unreachable from now on. */
  discard(state: GarbageState): void;
  forget(tenant: TenantId): void;
}

export class StreamTableImpl implements StreamTable {
  private readonly tenants = new Map<number, Map<string, StreamQuery>>();
  /** Every cycle names its query by id. */
  private readonly ids = new Map<string, StreamQuery>();
  private readonly dirty = new Set<StreamQuery>();
  private readonly garbage = new Map<string, GarbageState>();
  private readonly newGarbage: GarbageState[] = [];
  private readonly deletedRows: Uint8Array[] = [];

  byName(tenant: TenantId, name: string): StreamQuery | undefined {
    return this.tenants.get(tenant)?.get(name);
  }

  byId(tenant: TenantId, queryId: Uint8Array): StreamQuery | undefined {
    return this.ids.get(idOf(tenant, queryId));
  }

  readersOf(tenant: TenantId, queue: string): readonly StreamQuery[] {
    const queries = [...(this.tenants.get(tenant)?.values() ?? [])];
    return queries.filter(({ sourceQueue }) => sourceQueue === queue);
  }

  count(tenant: TenantId): number {
    return this.tenants.get(tenant)?.size ?? 0;
  }

  put(query: StreamQuery): void {
    const before = this.byName(tenantId(query.tenant), query.name);
    if (before !== undefined) this.dirty.delete(before);
    this.add(query);
    this.dirty.add(query);
  }

  discard(state: GarbageState): void {
    this.garbage.set(nameOf(state), state);
    this.newGarbage.push(state);
  }

  /** The tenant was purged; its state rows go by range. */
  forget(tenant: TenantId): void {
    for (const query of this.tenants.get(tenant)?.values() ?? []) {
      this.dirty.delete(query);
      this.ids.delete(idOf(tenant, query.queryId));
      this.deletedRows.push(streamQueryKey(tenant, query.queryId));
    }
    this.tenants.delete(tenant);
  }

  // Inside the tables -----------------------------------------------------------------------------

  /** State to be purged by key range. */
  garbageState(): GarbageState[] {
    return [...this.garbage.values()];
  }

  /** Its rows are gone. */
  finishGarbage(state: GarbageState): void {
    this.garbage.delete(nameOf(state));
    this.deletedRows.push(garbageStateKey(state));
  }

  flush(rows: RowPort): void {
    for (const state of this.newGarbage) rows.put(garbageStateKey(state), encodeGarbageState());
    this.newGarbage.length = 0;
    for (const key of this.deletedRows) rows.delete(key);
    this.deletedRows.length = 0;
    for (const query of this.dirty) {
      rows.put(streamQueryKey(query.tenant, query.queryId), encodeQueryRow(query));
    }
    this.dirty.clear();
  }

  load(key: Uint8Array, value: Uint8Array): void {
    this.add(decodeQueryRow(key, value));
  }

  loadGarbage(key: Uint8Array, value: Uint8Array): void {
    checkGarbageState(value);
    const state = keyGeneration(key);
    this.garbage.set(nameOf(state), state);
  }

  private add(query: StreamQuery): void {
    const known = this.tenants.get(query.tenant);
    if (known === undefined) this.tenants.set(query.tenant, new Map([[query.name, query]]));
    else known.set(query.name, query);
    this.ids.set(idOf(query.tenant, query.queryId), query);
  }
}

function idOf(tenant: number, queryId: Uint8Array): string {
  return `${tenant} ${hexText(queryId)}`;
}

function nameOf({ tenant, queryId, generation }: GarbageState): string {
  return `${tenant} ${queryId.join('.')} ${generation}`;
}
