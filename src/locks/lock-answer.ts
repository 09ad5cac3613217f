/** Answers of lock operations (state.md §3.4), with the guard that ties a transaction to a permit. */
import type { KvRow } from '../machine/tables/kv-rows.js';
import { kvTimeText } from '../preparation/kv/kv-render.js';
import type { KvFound } from '../preparation/kv/kv-operation.js';
import type { LockAcquire, LockGet, LockRelease, LockRenew } from './lock-operation.js';
import { LOCK_NAMESPACE, permitOf, slotKey, slotOfKey } from './lock-row.js';

/** A verdict as it is sent, `index` in front. */
export interface LockAnswer {
  /** Whether the caller holds or released what it asked for. */
  readonly granted: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface Holder {
  readonly slot: number;
  readonly owner: string | null;
}

export function guardOf(name: string, slot: number, token: number): object {
  const key = slotKey(name, slot);
  return { op: 'check', ns: LOCK_NAMESPACE, key, expect: token, required: true };
}

export function acquired(
  { name, owner }: LockAcquire,
  permit: { readonly slot: number; readonly token: number; readonly already: boolean },
): LockAnswer {
  const { slot, token, already } = permit;
  const head = { op: 'acquire', name, acquired: true, slot, token, owner };
  const guard = guardOf(name, slot, token);
  return { granted: true, fields: { ...head, ...(already ? { already } : {}), guard } };
}

export function notAcquired(
  { name }: LockAcquire,
  reason: 'held' | 'contended',
  holders: readonly Holder[],
): LockAnswer {
  return { granted: false, fields: { op: 'acquire', name, acquired: false, reason, holders } };
}

export function renewed({ name, slot }: LockRenew, token: number): LockAnswer {
  const guard = guardOf(name, slot, token);
  return { granted: true, fields: { op: 'renew', name, renewed: true, slot, token, guard } };
}

/** `value` of the live row in the way, null when there is none. */
export function lost(
  { op, name, slot }: LockRenew | LockRelease,
  value: Uint8Array | null,
): LockAnswer {
  const verdict = op === 'renew' ? { renewed: false } : { released: false };
  const holders = value === null ? [] : [{ slot, owner: permitOf(value).owner }];
  return { granted: false, fields: { op, name, ...verdict, reason: 'lost', slot, holders } };
}

export function released({ name, slot }: LockRelease): LockAnswer {
  return { granted: true, fields: { op: 'release', name, released: true, slot } };
}

/** Live rows of the lock's canonical slots. */
export function shown({ name }: LockGet, rows: readonly KvFound[]): LockAnswer {
  const holders = rows
    .map(({ key, row }) => ({ slot: slotOfKey(name, key), row }))
    .filter(({ slot }) => slot >= 0)
    .sort((a, b) => a.slot - b.slot)
    .map(({ slot, row }) => permitFields(slot, row));
  return {
    granted: holders.length > 0,
    fields: { op: 'get', name, held: holders.length > 0, holders },
  };
}

function permitFields(slot: number, row: KvRow): object {
  const { owner, since } = permitOf(row.value);
  const written = kvTimeText(row.updatedAt);
  return {
    ...{ slot, owner, token: row.version, since: since ?? written },
    expiresAt: row.expiresAt === 0 ? null : kvTimeText(row.expiresAt),
    renewedAt: written,
  };
}
