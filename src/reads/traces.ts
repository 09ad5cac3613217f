/**
 * Reads over traces in a view: pages of names, and of the traces of a name or a message, newest first.
 * Totals are counts that stand in rows; a page walks only what it skips and shows.
 */
import {
  messageEntryRange,
  nameEntryRange,
  nameOfTraceKey,
  traceKeyOfEntry,
  tracedMessageKey,
  traceNameKey,
  traceNameRange,
  traceNamesKey,
} from '../machine/tables/trace-keys.js';
import type { TracedMessage } from '../machine/tables/trace-keys.js';
import {
  decodeTraceCount,
  decodeTraceNameRow,
  decodeTraceRow,
} from '../machine/tables/trace-row.js';
import type { TraceNameRow, TraceRow } from '../machine/tables/trace-row.js';
import { keyU64 } from '../common/key-writer.js';
import type { RowView } from './append-rows.js';
import { Slices } from './slices.js';

/** Rows of one page; a page may end earlier than its limit, but not before its first trace. */
const MAX_PAGE_BYTES = 2 * 1024 * 1024;

/** A view that also answers exact keys. */
export interface TraceView extends RowView {
  get(key: Uint8Array): Promise<Uint8Array | undefined>;
}

export interface TracePage {
  readonly limit: number;
  readonly offset: number;
}

export interface TraceName extends TraceNameRow {
  readonly name: string;
}

export interface ShownTrace {
  readonly row: TraceRow;
  readonly createdAt: number;
}

export interface Paged<T> {
  readonly rows: readonly T[];
  readonly total: number;
}

/** Names of a tenant in byte order. */
export async function traceNames(
  view: TraceView,
  tenant: number,
  page: TracePage,
): Promise<Paged<TraceName>> {
  const rows: TraceName[] = [];
  await walk(view, traceNameRange(tenant), page, (key, value) => {
    rows.push({ name: nameOfTraceKey(key), ...decodeTraceNameRow(value) });
  });
  return { rows, total: await countAt(view, traceNamesKey(tenant)) };
}

export async function tracesOfName(
  view: TraceView,
  of: { readonly tenant: number; readonly name: string },
  page: TracePage,
): Promise<Paged<ShownTrace>> {
  const row = await view.get(traceNameKey(of.tenant, of.name));
  const total = row === undefined ? 0 : decodeTraceNameRow(row).traces;
  const range = { ...nameEntryRange(of.tenant, of.name), reverse: true };
  return { rows: await entries(view, range, page), total };
}

export async function tracesOfMessage(
  view: TraceView,
  message: TracedMessage,
  page: TracePage,
): Promise<Paged<ShownTrace>> {
  const range = { ...messageEntryRange(message), reverse: true };
  const rows = await entries(view, range, page);
  return { rows, total: await countAt(view, tracedMessageKey(message)) };
}

type Range = Parameters<TraceView['iterate']>[0];

async function entries(view: TraceView, range: Range, page: TracePage): Promise<ShownTrace[]> {
  const keys: Uint8Array[] = [];
  await walk(view, range, page, (key) => keys.push(traceKeyOfEntry(key)));
  const traces: ShownTrace[] = [];
  let bytes = 0;
  for (const key of keys) {
    const value = await view.get(key);
    if (value === undefined) continue;
    bytes += value.length;
    if (bytes > MAX_PAGE_BYTES && traces.length > 0) break;
    traces.push({ row: decodeTraceRow(value), createdAt: keyU64(key, 1) });
  }
  return traces;
}

/** Visits the rows of the page. */
async function walk(
  view: TraceView,
  range: Range,
  page: TracePage,
  visit: (key: Uint8Array, value: Uint8Array) => void,
): Promise<void> {
  const { limit, offset } = page;
  const slices = new Slices();
  let at = 0;
  for await (const [key, value] of view.iterate({ ...range, limit: offset + limit })) {
    if (at >= offset) visit(key.slice(), value);
    at += 1;
    if (slices.isSpent()) await slices.pause();
  }
}

async function countAt(view: TraceView, key: Uint8Array): Promise<number> {
  const value = await view.get(key);
  return value === undefined ? 0 : decodeTraceCount(value);
}
