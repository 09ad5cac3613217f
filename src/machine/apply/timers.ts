/**
 * Scheduling and cancelling timers (state.md §2.2, §2.4). What a command makes due at once is fired in
 * the same entry: its message is appended and no timer stays. A command whose encryption went stale
 * changes nothing. Names are unique inside a command, so the order of its operations shows only in the
 * order of what is fired: by due instant, then queue and key in byte order.
 */
import { encodeUtf8 } from '../../common/utf8.js';
import { CommandKind } from '../commands/catalogue.js';
import { PushBodyView } from '../commands/push-view.js';
import { readRecord } from '../commands/push-record.js';
import type { TimerOp, TimerResult, TimersOutcome } from '../commands/timers.js';
import type { PrefetchSink } from '../machine.js';
import { timerKeyOf } from '../tables/timer-keys.js';
import type { TimerName } from '../tables/timer-keys.js';
import { MAX_INLINE_PAYLOAD_BYTES } from '../tables/timer-row.js';
import type { TimerRow } from '../tables/timer-row.js';
import type { ApplyContext } from './context.js';
import type { PushApplier, PushBody } from './push.js';
import { findTimer, putTimer, removeTimer } from './timer-rows.js';

/** Instants stand in 53 bits; a later one never comes. */
const LATEST = Number.MAX_SAFE_INTEGER - 1;

/** The operations of a command and the bytes in which their messages lie. */
export interface TimerOps {
  readonly ops: readonly TimerOp[];
  readonly bytes: Uint8Array;
  /** Offset of `bytes[0]` in the whole entry's payload. */
  readonly entryOffset: number;
}

const view = new PushBodyView();

export function prefetchTimers(
  context: ApplyContext,
  timers: TimerOps,
  push: PushApplier,
  sink: PrefetchSink,
): void {
  const tenant = context.tenant();
  if (tenant === undefined) return;
  for (const op of timers.ops) {
    sink.row(timerKeyOf({ tenant, queue: op.queue, timerKey: op.timerKey }));
    if (op.op === 'schedule' && op.delayMicros <= 0) push.prefetch(bodyOf(timers, op), sink);
  }
}

export function applyTimers(
  context: ApplyContext,
  timers: TimerOps,
  push: PushApplier,
): TimersOutcome {
  if (isStale(context, timers))
    return { kind: CommandKind.Timers, verdict: 'reprepare', results: [] };
  return {
    kind: CommandKind.Timers,
    verdict: 'applied',
    results: runTimers(context, timers, push),
  };
}

/**
 * Some schedule was prepared for a queue whose encryption is another one now. The only thing that can
 * refuse timers at apply; check it before anything of the same entry is written.
 */
export function isStale(context: ApplyContext, { ops, bytes }: TimerOps): boolean {
  const tenant = context.tenant();
  if (tenant === undefined) return false;
  for (const op of ops) {
    if (op.op !== 'schedule') continue;
    const queue = context.tables.queues.find(tenant, op.queue);
    if (queue === undefined) continue;
    view.open(bytes, op.bodyStart, op.bodyEnd);
    view.nextGroup();
    const { optionsVersion, encrypted } = view;
    if (optionsVersion === queue.optionsVersion) continue;
    if (encrypted !== queue.options.encryptionEnabled) return true;
  }
  return false;
}

/** Applies the operations, then fires what they made due; the results are in input order. */
export function runTimers(
  context: ApplyContext,
  timers: TimerOps,
  push: PushApplier,
): TimerResult[] {
  const due: Due[] = [];
  const results = timers.ops.map((op) =>
    op.op === 'cancel' ? cancel(context, op) : schedule(context, { timers, op, due }),
  );
  due.sort(byDue);
  for (const { op } of due) push.apply(bodyOf(timers, op), { keepsEncryption: true });
  return results;
}

interface Due {
  readonly op: TimerOp;
  readonly deliverAt: number;
}

interface Scheduling {
  readonly timers: TimerOps;
  readonly op: TimerOp;
  /** Collects what is to be fired at once. */
  readonly due: Due[];
}

function schedule(context: ApplyContext, { timers, op, due }: Scheduling): TimerResult {
  const tenant = context.tables.names.ensureTenant(context.tenantUuid);
  const name = { tenant, queue: op.queue, timerKey: op.timerKey };
  const before = findTimer(context, name);
  const deliverAt = Math.min(Math.max(context.now + op.delayMicros, 0), LATEST);
  if (deliverAt <= context.now && context.tables.controls.isOn('timersFire')) {
    if (before !== undefined) removeTimer(context, name, before);
    due.push({ op, deliverAt });
  } else {
    putTimer(context, name, newRow(context, { timers, op, deliverAt, before }), before);
  }
  const status = before === undefined ? 'scheduled' : 'rescheduled';
  return { status, deliverAt, transactionId: null };
}

function newRow(
  context: ApplyContext,
  from: {
    readonly timers: TimerOps;
    readonly op: TimerOp;
    readonly deliverAt: number;
    readonly before: TimerRow | undefined;
  },
): TimerRow {
  const { timers, op, deliverAt, before } = from;
  view.open(timers.bytes, op.bodyStart, op.bodyEnd);
  view.nextGroup();
  const { bytes } = view;
  const at = view.blockAt + view.recordStart(0);
  const length = view.recordLength(0);
  const record = readRecord(bytes, at, at + length);
  const small = record.payloadEnd - record.payloadStart <= MAX_INLINE_PAYLOAD_BYTES;
  return {
    partition: view.partitionName(),
    deliverAt,
    visibleAt: 0,
    attempts: 0,
    lastError: null,
    messageId: bytes.slice(view.idAt(0), view.idAt(0) + 16),
    transactionHash: bytes.slice(view.hashAt(0), view.hashAt(0) + 16),
    createdAt: before?.createdAt ?? context.now,
    updatedAt: context.now,
    place: {
      entryIndex: context.index,
      start: timers.entryOffset + at,
      length,
      crc: view.recordCrc(0),
    },
    messageFlags: view.messageFlags(0),
    record: bytes.subarray(at, small ? at + length : record.payloadStart),
  };
}

function cancel(context: ApplyContext, op: TimerOp): TimerResult {
  const tenant = context.tenant();
  const name: TimerName | undefined =
    tenant === undefined ? undefined : { tenant, queue: op.queue, timerKey: op.timerKey };
  const row = name === undefined ? undefined : findTimer(context, name);
  if (name === undefined || row === undefined) {
    return { status: 'absent', deliverAt: 0, transactionId: null };
  }
  removeTimer(context, name, row);
  return { status: 'cancelled', deliverAt: 0, transactionId: transactionIdOf(row) };
}

/** UTF-8 bytes, a copy. */
export function transactionIdOf(row: TimerRow): Uint8Array {
  const { transactionIdStart, transactionIdEnd } = readRecord(row.record, 0, row.record.length);
  return row.record.slice(transactionIdStart, transactionIdEnd);
}

function bodyOf({ bytes, entryOffset }: TimerOps, op: TimerOp): PushBody {
  return { bytes, start: op.bodyStart, end: op.bodyEnd, entryOffset };
}

function byDue(a: Due, b: Due): number {
  if (a.deliverAt !== b.deliverAt) return a.deliverAt - b.deliverAt;
  return (
    compareBytes(encodeUtf8(a.op.queue), encodeUtf8(b.op.queue)) ||
    compareBytes(encodeUtf8(a.op.timerKey), encodeUtf8(b.op.timerKey))
  );
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}
