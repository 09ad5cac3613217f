/**
 * The rows of one node for a question about a window, folded into buckets by the node itself, so that a
 * long window is a small answer. As text: a header line, then one line per bucket. Written and read in
 * slices, because a busy node has thousands of rows in each bucket.
 */
import { Slices } from '../../reads/slices.js';
import { emptyFrame, foldFrame, frameText, readFrame, type Frame } from './frame.js';
import type { FrameStore, FrameWindow } from './frame-store.js';
import { foldProcess, noProcessValues } from './row-fields.js';
import { bucketStartMs } from './windows.js';

/** Frames that began this long ago still say how the node is. */
const RECENT_MS = 5 * 60_000;
/** Queue rows written or read between two turns of the loop. */
const ROWS_PER_SLICE = 250;

export interface RowsQuery extends FrameWindow {
  readonly widthMinutes: number;
  /** Hex; only rows of its queues. Null: no queue rows. */
  readonly tenant: string | null;
}

export interface NodeRows {
  readonly nodeId: number;
  readonly hostname: string;
  readonly port: number;
  readonly pid: number;
  /** When its newest frame ended, null without any. */
  readonly newestMs: number | null;
  /** Process rows of everything kept, and of the last minutes. */
  readonly lifetime: readonly number[];
  readonly recent: readonly number[];
  /** Oldest first; `startMs` is the start of the bucket, `widthMs` the time rows cover in it. */
  readonly buckets: readonly Frame[];
}

export interface NodeIdentity {
  readonly nodeId: number;
  readonly hostname: string;
  readonly port: number;
  readonly pid: number;
}

export async function ownRows(
  self: NodeIdentity,
  store: FrameStore,
  query: RowsQuery & { readonly nowMs: number },
): Promise<NodeRows> {
  const slices = new Slices();
  const lifetime = noProcessValues();
  const recent = noProcessValues();
  for (const { process, startMs } of store.all()) {
    foldProcess(lifetime, process);
    if (startMs >= query.nowMs - RECENT_MS) foldProcess(recent, process);
  }
  const buckets = new Map<number, Frame>();
  for (const frame of store.between(query)) {
    const startMs = bucketStartMs(frame.startMs, query.widthMinutes);
    const bucket = buckets.get(startMs) ?? emptyFrame(startMs);
    buckets.set(startMs, bucket);
    foldFrame(bucket, ofTenant(frame, query.tenant));
    if (slices.isSpent(1 + frame.queues.size)) await slices.pause();
  }
  const { last } = store;
  const newestMs = last === undefined ? null : last.startMs + last.widthMs;
  return { ...self, newestMs, lifetime, recent, buckets: [...buckets.values()] };
}

function ofTenant(frame: Frame, tenant: string | null): Frame {
  if (tenant === null) return { ...frame, queues: new Map() };
  const rows = [...frame.queues].filter(([, row]) => row.tenant === tenant);
  return { ...frame, queues: new Map(rows) };
}

export async function rowsText({ buckets, ...header }: NodeRows): Promise<string> {
  const lines = [JSON.stringify(header)];
  let rows = 0;
  for (const bucket of buckets) {
    lines.push(frameText(bucket));
    rows += bucket.queues.size;
    if (rows >= ROWS_PER_SLICE) rows = await pause();
  }
  return lines.join('\n');
}

/** Null when it is no such text. */
export async function readRows(text: string): Promise<NodeRows | null> {
  const end = text.indexOf('\n');
  const header = headerOf(end < 0 ? text : text.slice(0, end));
  if (header === null) return null;
  const buckets: Frame[] = [];
  let rows = 0;
  for (let at = end; at >= 0;) {
    const next = text.indexOf('\n', at + 1);
    const frame = readFrame(text.slice(at + 1, next < 0 ? undefined : next));
    if (frame === null) return null;
    buckets.push(frame);
    rows += frame.queues.size;
    if (rows >= ROWS_PER_SLICE) rows = await pause();
    at = next;
  }
  return { ...header, buckets };
}

async function pause(): Promise<0> {
  await new Promise((resolve) => setImmediate(resolve));
  return 0;
}

function headerOf(line: string): Omit<NodeRows, 'buckets'> | null {
  try {
    const header = JSON.parse(line) as Partial<NodeRows>;
    const known = typeof header.nodeId === 'number' && typeof header.hostname === 'string';
    return known && Array.isArray(header.lifetime) && Array.isArray(header.recent)
      ? (header as Omit<NodeRows, 'buckets'>)
      : null;
  } catch {
    // Not an answer of this build; the member counts as silent.
    return null;
  }
}
