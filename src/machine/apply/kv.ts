/**
 * Key-value calls at apply (state.md §1.3). First every operation is judged, then all of them are
 * written or, when a required one lost, none. A call names each key once, so no verdict depends on
 * another. Rows, expiry index and counters change together.
 */
import { MAX_MICROS } from '../../common/timestamp.js';
import type { TenantId } from '../../common/ids.js';
import { CommandKind } from '../commands/catalogue.js';
import { KvOpKind } from '../commands/kv.js';
import type {
  KvCallCommand,
  KvCallOutcome,
  KvOpOutcome,
  KvPlannedOp,
  KvSweepCommand,
  KvSweepOutcome,
} from '../commands/kv.js';
import { judgeKvOperation } from '../kv/judge.js';
import type { KvVerdict } from '../kv/judge.js';
import type { PrefetchSink } from '../machine.js';
import {
  kvExpiryKey,
  kvKeyBytes,
  kvNamespaceKey,
  kvRowKey,
  kvRowNamespace,
  kvTenant,
} from '../tables/kv-keys.js';
import {
  decodeKvNamespaceRow,
  decodeKvRow,
  encodeKvExpiryRow,
  encodeKvNamespaceRow,
  encodeKvRow,
  isKvLive,
} from '../tables/kv-rows.js';
import type { KvRow } from '../tables/kv-rows.js';
import type { ApplyContext } from './context.js';

/** Verdicts on a call, before anything is written. */
export interface KvJudgement {
  readonly verdicts: readonly KvVerdict[];
  readonly before: readonly (KvRow | null)[];
  /** First operation that is required and lost; -1 none. */
  readonly failed: number;
}

export function prefetchKvCall(
  context: ApplyContext,
  { operations }: KvCallCommand,
  sink: PrefetchSink,
): void {
  const tenant = context.tenant();
  if (tenant === undefined) return;
  for (const operation of operations) {
    sink.row(kvRowKey(tenant, operation));
    sink.row(kvNamespaceKey(tenant, operation.namespace));
  }
}

export function applyKvCall(context: ApplyContext, command: KvCallCommand): KvCallOutcome {
  const judgement = judgeKvCall(context, command.operations);
  const results =
    judgement.failed >= 0
      ? refusedResults(judgement)
      : writeKvCall(context, command.operations, judgement);
  return kvOutcome(context, command, { failed: judgement.failed, results });
}

/** Changes nothing. */
export function judgeKvCall(
  context: ApplyContext,
  operations: readonly KvPlannedOp[],
): KvJudgement {
  const { now } = context;
  const tenant = context.tenant();
  const verdicts: KvVerdict[] = [];
  const before: (KvRow | null)[] = [];
  let failed = -1;
  operations.forEach((operation, i) => {
    const stored = tenant === undefined ? null : storedRow(context, kvRowKey(tenant, operation));
    const verdict = judgeKvOperation(operation, stored, now);
    verdicts.push(verdict);
    before.push(stored !== null && isKvLive(stored, now) ? stored : null);
    if (failed < 0 && operation.required && !verdict.applied) failed = i;
  });
  return { verdicts, before, failed };
}

/** Writes what was judged; nothing may have changed in between. */
export function writeKvCall(
  context: ApplyContext,
  operations: readonly KvPlannedOp[],
  { verdicts, before }: KvJudgement,
): KvOpOutcome[] {
  return operations.map((operation, i) => {
    const verdict = verdicts[i]!;
    const live = before[i] ?? null;
    if (verdict.effect === 'none') return outcomeOf(verdict, live);
    const tenant = context.tables.names.ensureTenant(context.tenantUuid);
    const key = kvRowKey(tenant, operation);
    if (verdict.effect === 'remove') {
      removeRow(context, key);
      return outcomeOf(verdict, live);
    }
    const row = rowOf(context, operation, { live, value: verdict.value ?? operation.value });
    writeRow(context, key, row);
    return outcomeOf({ ...verdict, version: row.version }, live);
  });
}

/** The outcome of a call; `later` grows while the entry runs. */
export function kvOutcome(
  context: ApplyContext,
  { reads }: KvCallCommand,
  done: { readonly failed: number; readonly results: readonly KvOpOutcome[] },
): KvCallOutcome {
  const later = reads ? context.noteKvChanges() : [];
  const { now } = context;
  return { kind: CommandKind.KvCall, ...done, now, later, laterFrom: later.length };
}

/** What a call shows that wrote nothing because a required operation lost. */
export function refusedResults({ verdicts, before }: KvJudgement): KvOpOutcome[] {
  return verdicts.map((verdict, i) => outcomeOf(verdict, before[i] ?? null));
}

export function prefetchKvSweep({ candidates }: KvSweepCommand, sink: PrefetchSink): void {
  for (const { rowKey } of candidates) {
    sink.row(rowKey);
    sink.row(kvNamespaceKey(kvTenant(rowKey), kvRowNamespace(rowKey)));
  }
}

/**
 * Deletes rows that expired; each candidate is judged again. A row of a purged tenant is unreachable
 * and may be gone on this node alone: only its index row counts.
 */
export function applyKvSweep(context: ApplyContext, command: KvSweepCommand): KvSweepOutcome {
  let removed = 0;
  for (const { expiresAt, version, rowKey } of command.candidates) {
    if (!context.tables.names.hasTenant(kvTenant(rowKey) as TenantId)) {
      context.rows.delete(kvExpiryKey(expiresAt, version));
      context.digest.number(version);
      continue;
    }
    const row = storedRow(context, rowKey);
    if (row === null || row.version !== version || isKvLive(row, context.now)) continue;
    removeRow(context, rowKey);
    removed += 1;
  }
  return { kind: CommandKind.KvSweep, removed };
}

function rowOf(
  context: ApplyContext,
  operation: KvPlannedOp,
  write: { readonly live: KvRow | null; readonly value: Uint8Array },
): KvRow {
  const { now } = context;
  const { live, value } = write;
  const { kind, ttlMicros } = operation;
  const own = ttlMicros === 0 ? 0 : Math.min(now + ttlMicros, MAX_MICROS);
  // An increment never extends the life of a row.
  const expiresAt = kind === KvOpKind.Incr && live !== null ? live.expiresAt : own;
  const version = context.tables.kv.nextVersion();
  return { version, expiresAt, createdAt: live?.createdAt ?? now, updatedAt: now, value };
}

function storedRow(context: ApplyContext, key: Uint8Array): KvRow | null {
  const bytes = context.rows.get(key);
  return bytes === undefined ? null : decodeKvRow(bytes);
}

function writeRow(context: ApplyContext, key: Uint8Array, row: KvRow): void {
  const before = context.rows.get(key);
  const old = before === undefined ? null : decodeKvRow(before);
  dropExpiry(context, old);
  context.kvChanged(key, before);
  context.rows.put(key, encodeKvRow(row));
  if (row.expiresAt > 0) {
    context.rows.put(kvExpiryKey(row.expiresAt, row.version), encodeKvExpiryRow(key));
  }
  count(context, key, { old, row });
  const { digest } = context;
  digest.bytes(key);
  digest.number(row.version);
  digest.number(row.expiresAt);
  digest.number(row.createdAt);
  digest.bytes(row.value);
}

function removeRow(context: ApplyContext, key: Uint8Array): void {
  const before = context.rows.get(key);
  if (before === undefined) return;
  const old = decodeKvRow(before);
  dropExpiry(context, old);
  context.kvChanged(key, before);
  context.rows.delete(key);
  count(context, key, { old, row: null });
  context.digest.bytes(key);
  context.digest.number(old.version);
}

function dropExpiry(context: ApplyContext, old: KvRow | null): void {
  if (old === null || old.expiresAt === 0) return;
  context.rows.delete(kvExpiryKey(old.expiresAt, old.version));
}

/** Occupancy of the tenant and of the namespace. */
function count(
  context: ApplyContext,
  key: Uint8Array,
  change: { readonly old: KvRow | null; readonly row: KvRow | null },
): void {
  const { old, row } = change;
  const keyBytes = kvKeyBytes(key);
  const rows = (row === null ? 0 : 1) - (old === null ? 0 : 1);
  const bytes = sizeOf(row, keyBytes) - sizeOf(old, keyBytes);
  const expiring = expiresOf(row) - expiresOf(old);
  const tenant = kvTenant(key) as TenantId;
  context.tables.kv.count(tenant, { rows, bytes, expiring });
  const namespaceKey = kvNamespaceKey(tenant, kvRowNamespace(key));
  const stored = context.rows.get(namespaceKey);
  const known = stored === undefined ? { keys: 0, bytes: 0 } : decodeKvNamespaceRow(stored);
  const now = { keys: known.keys + rows, bytes: known.bytes + bytes };
  if (now.keys === 0) context.rows.delete(namespaceKey);
  else context.rows.put(namespaceKey, encodeKvNamespaceRow(now));
}

function sizeOf(row: KvRow | null, keyBytes: number): number {
  return row === null ? 0 : keyBytes + row.value.length;
}

function expiresOf(row: KvRow | null): number {
  return row !== null && row.expiresAt > 0 ? 1 : 0;
}

function outcomeOf(verdict: KvVerdict, before: KvRow | null): KvOpOutcome {
  const { applied, reason, version, value } = verdict;
  return { applied, reason, version, value, before };
}
