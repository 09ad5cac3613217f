/**
 * Runs a validated key-value call against a group (state.md §0.3). Reads alone: behind a read barrier.
 * Anything planned: one command, and the call's reads see the state right at its place in the log. A
 * call that cannot change anything and reads nothing is answered behind a barrier without an entry.
 */
import { compareBytes } from '../../common/byte-order.js';
import { QueenError } from '../../common/errors.js';
import { StateRefusal } from '../../common/state-refusal.js';
import { CommandKind } from '../../machine/commands/catalogue.js';
import { encodeKvCall, KvOpKind, NO_EXPECT } from '../../machine/commands/index.js';
import type { KvCallOutcome, KvOpOutcome } from '../../machine/commands/index.js';
import { judgeKvOperation } from '../../machine/kv/judge.js';
import type { CallOptions, Group, GroupView } from '../../raft/index.js';
import { KvReader } from '../../reads/kv-rows.js';
import { planeRefusal } from '../state-failures.js';
import type { PlaneWords } from '../state-failures.js';
import type { KvAnswer, KvOperation, KvPlanned, KvRead, KvResult } from './kv-operation.js';
import { readKv } from './kv-reads.js';

/** Cluster version that can write a `check`. */
const CHECK_VERSION = 5;

export interface KvCaller {
  readonly group: Group;
  readonly tenant: Uint8Array;
  readonly options: CallOptions;
  /** Largest command (QUEEN_RAFT_ENTRY_MAX_BYTES). */
  readonly maxCommandBytes: number;
  /** Clocks of nodes may differ by so much (QUEEN_RAFT_MAX_CLOCK_SKEW_MS). */
  readonly skewMicros: number;
}

export interface Indexed<T> {
  readonly index: number;
  readonly operation: T;
}

/** A call taken apart, both halves in apply order. */
export interface SortedKvCall {
  readonly planned: readonly Indexed<KvPlanned>[];
  readonly reads: readonly { readonly index: number; readonly read: KvRead }[];
}

/** Apply order: keys before ranges, then namespace and key in byte order, then as they came. */
export function sortKvCall(operations: readonly KvOperation[]): SortedKvCall {
  const sorted = operations
    .map((operation, index) => ({ operation, index, place: placeOf(operation) }))
    .sort(
      (a, b) =>
        a.place.phase - b.place.phase ||
        compareBytes(a.place.namespace, b.place.namespace) ||
        compareBytes(a.place.key, b.place.key) ||
        a.index - b.index,
    );
  const planned: Indexed<KvPlanned>[] = [];
  const reads: { index: number; read: KvRead }[] = [];
  for (const { operation, index } of sorted) {
    if (operation.kind === 'planned') planned.push({ index, operation });
    else reads.push({ index, read: operation });
  }
  return { planned, reads };
}

function placeOf(operation: KvOperation): { phase: number; namespace: string; key: string } {
  switch (operation.kind) {
    case 'planned':
      return { phase: 0, namespace: operation.planned.namespace, key: operation.planned.key };
    case 'get':
      return { phase: 0, namespace: operation.namespace, key: operation.key };
    case 'getMany':
      return { phase: 1, namespace: operation.namespace, key: '' };
    case 'getPrefix':
      return { phase: 1, namespace: operation.namespace, key: operation.prefix };
  }
}

export async function runKvCall(
  caller: KvCaller,
  operations: readonly KvOperation[],
): Promise<KvAnswer> {
  const call = sortKvCall(operations);
  if (call.planned.length === 0) return readOnly(caller, call, operations.length);
  checkClusterVersion(caller.group, call);
  if (call.reads.length === 0) {
    const idle = await idleAnswer(caller, call, operations.length);
    if (idle !== null) return idle;
  }
  return planned(caller, call, operations.length);
}

/** Below cluster version 5 no surface takes a check (state.md §1.6). */
export function checkClusterVersion(group: Group, { planned: ops }: SortedKvCall): void {
  const checks = ops.some(({ operation }) => operation.op === 'check');
  if (!checks || group.status().clusterVersion >= CHECK_VERSION) return;
  throw new StateRefusal('kv_unavailable', {
    reason: 'kv_check_needs_cluster_version_5',
    detail: 'a member of the cluster is too old for check operations',
  });
}

async function readOnly(caller: KvCaller, call: SortedKvCall, count: number): Promise<KvAnswer> {
  const { group, tenant, options } = caller;
  await group.readBarrier(options);
  const reader = openReader(group, tenant);
  const { view, kv } = await reader;
  try {
    return answered(count, [...(await readKv(kv, call.reads))]);
  } finally {
    await view.close();
  }
}

/** View and tenant number of the same instant. */
async function openReader(
  group: Group,
  tenant: Uint8Array,
): Promise<{ view: GroupView; kv: KvReader }> {
  const number = group.tables.names.tenant(tenant);
  const now = group.nowMicros();
  const view = await group.view();
  return { view, kv: new KvReader(view, number, now) };
}

async function planned(caller: KvCaller, call: SortedKvCall, count: number): Promise<KvAnswer> {
  const { group, tenant, options, maxCommandBytes } = caller;
  const operations = call.planned.map(({ operation }) => operation.planned);
  const reads = call.reads.length > 0;
  const bytes = encodeKvCall(tenant, { reads, operations });
  if (bytes.length > maxCommandBytes) {
    throw new StateRefusal('payload_too_large', { reason: 'too_large' });
  }
  const growing = operations.some(({ kind }) => kind === KvOpKind.Put || kind === KvOpKind.Incr);
  const place = new KvPlaceInLog(group, tenant);
  const outcome = await group.submit(
    { bytes, growing },
    reads ? { ...options, onApplied: (applied) => place.take(applied) } : options,
  );
  try {
    return await answerOf(call, count, { outcome: kvOutcomeOf(outcome), place });
  } finally {
    await place.close();
  }
}

function kvOutcomeOf(outcome: { readonly kind: unknown }): KvCallOutcome {
  if (outcome.kind !== CommandKind.KvCall) throw new QueenError('retry');
  return outcome as KvCallOutcome;
}

/** The answer to a call that was applied: verdicts, and its reads at its place. */
export async function answerOf(
  call: SortedKvCall,
  count: number,
  applied: { readonly outcome: KvCallOutcome; readonly place: KvPlaceInLog },
): Promise<KvAnswer> {
  const { outcome, place } = applied;
  const { results } = outcome;
  const failed = call.planned[outcome.failed];
  const lost = results[outcome.failed];
  if (failed !== undefined && lost !== undefined) return abortOf(failed, lost);
  const answers = call.planned.map(({ index, operation }, i): [number, KvResult] => {
    const result = results[i];
    if (result === undefined) throw new StateRefusal('kv_error', { reason: 'kv_result_missing' });
    return [index, verdictOf(operation, result)];
  });
  if (call.reads.length === 0) return answered(count, answers);
  const reader = await place.reader(outcome);
  const rows = await readKv(reader, call.reads, (read, index) => {
    if (read.kind !== 'get') return undefined;
    const own = call.planned.findIndex(
      ({ operation: { planned: op }, index: at }) =>
        op.key === read.key && op.namespace === read.namespace && at > index,
    );
    return own < 0 ? undefined : (results[own]?.before ?? null);
  });
  return answered(count, [...answers, ...rows]);
}

/** The state right after the entry of a call: taken before anything later is applied. */
export class KvPlaceInLog {
  private opened: Promise<GroupView> | null = null;
  private number: ReturnType<Group['tables']['names']['tenant']> = undefined;

  constructor(
    private readonly group: Group,
    private readonly tenant: Uint8Array,
  ) {}

  /** Given to `submit` as `onApplied`. */
  take(outcome: { readonly kind: unknown }): void {
    if (outcome.kind === 'ignored' || outcome.kind === 'refused') return;
    this.number = this.group.tables.names.tenant(this.tenant);
    this.opened = this.group.view();
    // Whoever never reads must not leave an unhandled rejection behind; `reader` sees the error.
    this.opened.catch(() => undefined);
  }

  async reader({ now, later, laterFrom }: KvCallOutcome): Promise<KvReader> {
    if (this.opened === null) throw new QueenError('retry');
    return new KvReader(await this.opened, this.number, now, later.slice(laterFrom));
  }

  async close(): Promise<void> {
    const opened = this.opened;
    this.opened = null;
    // A view that could not be opened has nothing to close.
    await opened?.then(
      (view) => view.close(),
      () => undefined,
    );
  }
}

/**
 * The answer of a call whose operations change nothing as things stand, or null. First a look without
 * a barrier, which is cheap and mostly right; only when it says so the look that counts.
 */
async function idleAnswer(
  caller: KvCaller,
  call: SortedKvCall,
  count: number,
): Promise<KvAnswer | null> {
  if (!call.planned.every(({ operation }) => canLose(operation))) return null;
  if ((await judged(caller, call)) === null) return null;
  await caller.group.readBarrier(caller.options);
  const outcomes = await judged(caller, call);
  if (outcomes === null) return null;
  const failed = call.planned.findIndex(
    ({ operation }, i) => operation.planned.required && outcomes[i]?.applied === false,
  );
  const [lost, result] = [call.planned[failed], outcomes[failed]];
  if (lost !== undefined && result !== undefined) return abortOf(lost, result);
  const answers = call.planned.map(({ index, operation }, i): [number, KvResult] => {
    const outcome = outcomes[i];
    if (outcome === undefined) throw new StateRefusal('kv_error', { reason: 'kv_result_missing' });
    return [index, verdictOf(operation, outcome)];
  });
  return answered(count, answers);
}

/** A plain put and an increment nearly always write. */
function canLose({ planned: { kind, expect } }: KvPlanned): boolean {
  if (kind === KvOpKind.Incr) return false;
  return kind !== KvOpKind.Put || expect !== NO_EXPECT;
}

/**
 * Verdicts on this node's state; null as soon as one would change a row, or hangs on the clock: whether a
 * row is over is judged by the leader's, which this node's may be ahead of or behind.
 */
async function judged(
  { group, tenant, skewMicros }: KvCaller,
  call: SortedKvCall,
): Promise<KvOpOutcome[] | null> {
  const { view, kv } = await openReader(group, tenant);
  try {
    const outcomes: KvOpOutcome[] = [];
    for (const { operation } of call.planned) {
      const stored = await kv.stored(operation.planned);
      const expiresAt = stored?.expiresAt ?? 0;
      if (expiresAt !== 0 && expiresAt <= kv.now + skewMicros) return null;
      const verdict = judgeKvOperation(operation.planned, stored, kv.now);
      if (verdict.effect !== 'none') return null;
      const { applied, reason, version, value } = verdict;
      outcomes.push({ applied, reason, version, value, before: null });
    }
    return outcomes;
  } finally {
    await view.close();
  }
}

function abortOf({ index, operation }: Indexed<KvPlanned>, lost: KvOpOutcome): KvAnswer {
  const { reason, version, value } = lost;
  const abort = { failedIndex: index, operation, reason: reason ?? 'absent', version, value };
  return { abort, results: null };
}

function verdictOf({ planned: { key } }: KvPlanned, outcome: KvOpOutcome): KvResult {
  const { applied, reason, version, value } = outcome;
  return { kind: 'planned', key, applied, reason, version, value };
}

function answered(count: number, answers: readonly (readonly [number, KvResult])[]): KvAnswer {
  const byIndex = new Map(answers);
  const results = Array.from({ length: count }, (_, i) => {
    const result = byIndex.get(i);
    if (result === undefined) throw new StateRefusal('kv_error', { reason: 'kv_result_missing' });
    return result;
  });
  return { abort: null, results };
}

const WORDS: PlaneWords = {
  fault: 'kv_error',
  unavailable: 'kv_unavailable',
  reasons: {
    timeout: 'kv_timeout',
    outcome_unknown: 'kv_timeout',
    retry: 'kv_retry',
    no_leader: 'kv_no_leader',
  },
};

/** Failures in the envelope of the key-value store. */
export function asKvRefusal(error: unknown): unknown {
  return planeRefusal(error, WORDS);
}
