/**
 * Traces (spec messages.md §13): what clients say happened to a message. Appended with their entries by
 * name and by message; swept with them. Counts of names and messages are kept exact.
 */
import { partitionId } from '../../common/ids.js';
import { CommandKind } from '../commands/catalogue.js';
import type {
  AppendTraceCommand,
  AppendTraceOutcome,
  SweepTracesCommand,
  SweepTracesOutcome,
} from '../commands/traces.js';
import type { PrefetchSink } from '../machine.js';
import {
  messageEntryKey,
  nameEntryKey,
  nameMessageKey,
  traceKey,
  tracedMessageKey,
  traceNameKey,
  traceNamesKey,
} from '../tables/trace-keys.js';
import type { TracePlace } from '../tables/trace-keys.js';
import {
  decodeTraceCount,
  decodeTraceNameRow,
  decodeTraceRow,
  encodeTraceCount,
  encodeTraceEntry,
  encodeTraceNameRow,
  encodeTraceRow,
} from '../tables/trace-row.js';
import type { TraceEvent, TraceRow } from '../tables/trace-row.js';
import type { ApplyContext } from './context.js';

export function prefetchAppendTrace(
  context: ApplyContext,
  command: AppendTraceCommand,
  sink: PrefetchSink,
): void {
  const tenant = context.tenant();
  if (tenant === undefined) return;
  for (const key of traceCountKeys({ ...command.event, tenant })) sink.row(key);
}

/** Keys of every count that a trace stands in. */
export function traceCountKeys(trace: TraceEvent & { readonly tenant: number }): Uint8Array[] {
  const { tenant, names } = trace;
  const keys = [tracedMessageKey(trace), traceNamesKey(tenant)];
  for (const name of names) keys.push(traceNameKey(tenant, name), nameMessageKey(name, trace));
  return keys;
}

export function applyAppendTrace(
  context: ApplyContext,
  command: AppendTraceCommand,
): AppendTraceOutcome {
  const { event, rowId } = command;
  const named = event.partitionId === 0 ? undefined : partitionOf(context, event.partitionId);
  if (event.partitionId !== 0 && named === undefined) {
    return { kind: CommandKind.AppendTrace, stored: false };
  }
  const tenant = context.tables.names.ensureTenant(context.tenantUuid);
  const place: TracePlace = { createdAt: context.now, rowId };
  const row: TraceRow = {
    ...event,
    tenant,
    queue: named?.queue ?? '',
    partition: named?.partition ?? '',
  };
  const value = encodeTraceRow(row);
  context.rows.put(traceKey(place), value);
  if (row.partitionId !== 0) {
    context.rows.put(messageEntryKey(row, place), encodeTraceEntry());
    addToCount(context, tracedMessageKey(row), 1);
  }
  for (const name of row.names) addToName(context, name, { row, place });
  context.digest.bytes(context.tenantUuid);
  context.digest.bytes(rowId);
  context.digest.bytes(value);
  return { kind: CommandKind.AppendTrace, stored: true };
}

function partitionOf(context: ApplyContext, id: number) {
  const found = context.livePartition(partitionId(id));
  if (found === undefined || found.queue.tenant !== context.tenant()) return undefined;
  return { queue: found.queue.name, partition: context.tables.partitions.name(found.slot) };
}

export function prefetchSweepTraces(command: SweepTracesCommand, sink: PrefetchSink): void {
  for (const place of command.traces) sink.row(traceKey(place));
  for (const key of command.counts) sink.row(key);
}

/** What is gone already does not count. */
export function applySweepTraces(
  context: ApplyContext,
  command: SweepTracesCommand,
): SweepTracesOutcome {
  let removed = 0;
  for (const place of command.traces) {
    const value = context.rows.get(traceKey(place));
    if (value === undefined) continue;
    const row = decodeTraceRow(value);
    context.rows.delete(traceKey(place));
    if (row.partitionId !== 0) {
      context.rows.delete(messageEntryKey(row, place));
      addToCount(context, tracedMessageKey(row), -1);
    }
    for (const name of row.names) removeFromName(context, name, { row, place });
    context.digest.bytes(place.rowId);
    removed += 1;
  }
  return { kind: CommandKind.SweepTraces, removed };
}

interface PlacedTrace {
  readonly row: TraceRow;
  readonly place: TracePlace;
}

function addToName(context: ApplyContext, name: string, trace: PlacedTrace): void {
  const { row, place } = trace;
  context.rows.put(nameEntryKey(row.tenant, name, place), encodeTraceEntry());
  const isNew = addToCount(context, nameMessageKey(name, row), 1) === 1;
  changeName(context, name, { row, traces: 1, messages: isNew ? 1 : 0, seen: place.createdAt });
}

function removeFromName(context: ApplyContext, name: string, trace: PlacedTrace): void {
  const { row, place } = trace;
  context.rows.delete(nameEntryKey(row.tenant, name, place));
  const isLast = addToCount(context, nameMessageKey(name, row), -1) === 0;
  changeName(context, name, { row, traces: -1, messages: isLast ? -1 : 0, seen: 0 });
}

interface NameChange {
  readonly row: TraceRow;
  readonly traces: number;
  readonly messages: number;
  readonly seen: number;
}

function changeName(context: ApplyContext, name: string, change: NameChange): void {
  const { tenant } = change.row;
  const key = traceNameKey(tenant, name);
  const value = context.rows.get(key);
  const known = value === undefined ? null : decodeTraceNameRow(value);
  const traces = (known?.traces ?? 0) + change.traces;
  if (traces <= 0) {
    context.rows.delete(key);
    addToCount(context, traceNamesKey(tenant), -1);
    return;
  }
  const messages = Math.max(0, (known?.messages ?? 0) + change.messages);
  const lastSeen = Math.max(known?.lastSeen ?? 0, change.seen);
  context.rows.put(key, encodeTraceNameRow({ traces, messages, lastSeen }));
  if (known === null) addToCount(context, traceNamesKey(tenant), 1);
}

/** The count after the change; a count of nothing has no row. */
function addToCount(context: ApplyContext, key: Uint8Array, delta: number): number {
  const value = context.rows.get(key);
  const count = Math.max(0, (value === undefined ? 0 : decodeTraceCount(value)) + delta);
  if (count > 0) context.rows.put(key, encodeTraceCount(count));
  else context.rows.delete(key);
  return count;
}
