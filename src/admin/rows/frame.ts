/**
 * What one node did in one stretch of time: the process row, gauges, and the rows of its queues. The
 * text form is one line of JSON; a line of an unknown version or shape reads as null.
 *
 *   {"v":1,"t":start ms,"w":width ms,"p":[process],"g":[count,gauges…],"q":[[queue id,tenant,name,row…]…]}
 */
import { foldGauges, foldProcess, foldQueue, noGauges, noProcessValues } from './row-fields.js';
import type { GaugeSamples } from './row-fields.js';

const VERSION = 1;

export interface QueueFrameRow {
  readonly queueId: number;
  /** Hex. */
  readonly tenant: string;
  readonly name: string;
  readonly values: number[];
}

export interface Frame {
  readonly startMs: number;
  widthMs: number;
  readonly process: number[];
  readonly gauges: GaugeSamples;
  /** By `rowKey`. */
  readonly queues: Map<string, QueueFrameRow>;
}

/** Queues are numbered per raft group, and a tenant lives in exactly one. */
export function rowKey({ tenant, queueId }: Pick<QueueFrameRow, 'tenant' | 'queueId'>): string {
  return `${tenant}/${queueId}`;
}

export function emptyFrame(startMs: number): Frame {
  return {
    ...{ startMs, widthMs: 0, process: noProcessValues(), gauges: noGauges() },
    queues: new Map(),
  };
}

/** Adds a frame to a wider one. Its rows must not be used afterwards. */
export function foldFrame(into: Frame, next: Frame): void {
  into.widthMs += next.widthMs;
  foldProcess(into.process, next.process);
  foldGauges(into.gauges, next.gauges);
  for (const [id, row] of next.queues) {
    const known = into.queues.get(id);
    if (known === undefined) into.queues.set(id, { ...row, values: [...row.values] });
    else foldQueue(known.values, row.values);
  }
}

const rounded = (values: readonly number[]): number[] =>
  values.map((value) => Math.round(value * 1000) / 1000);

export function frameText(frame: Frame): string {
  return JSON.stringify({
    v: VERSION,
    t: frame.startMs,
    w: Math.round(frame.widthMs),
    p: rounded(frame.process),
    g: [frame.gauges.count, ...rounded(frame.gauges.values)],
    q: [...frame.queues.values()].map(({ queueId, tenant, name, values }) => [
      ...[queueId, tenant, name],
      ...rounded(values),
    ]),
  });
}

export function readFrame(line: string): Frame | null {
  try {
    return frameOf(JSON.parse(line) as Record<string, unknown>);
  } catch {
    // A torn or foreign line: the rows of that minute are lost, nothing else.
    return null;
  }
}

function frameOf({ v, t, w, p, g, q }: Record<string, unknown>): Frame | null {
  if (v !== VERSION || !Number.isFinite(t) || !Number.isFinite(w)) return null;
  if (!isNumbers(p) || !isNumbers(g) || !Array.isArray(q)) return null;
  const frame = emptyFrame(t as number);
  frame.widthMs = w as number;
  foldProcess(frame.process, p);
  const [count = 0, ...values] = g;
  foldGauges(frame.gauges, { count, values });
  for (const row of q as unknown[]) {
    if (!Array.isArray(row)) return null;
    const [queueId, tenant, name, ...numbers] = row as unknown[];
    if (typeof queueId !== 'number' || typeof tenant !== 'string') return null;
    if (typeof name !== 'string' || !isNumbers(numbers)) return null;
    const read = { queueId, tenant, name, values: numbers };
    frame.queues.set(rowKey(read), read);
  }
  return frame;
}

function isNumbers(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((one) => Number.isFinite(one));
}
