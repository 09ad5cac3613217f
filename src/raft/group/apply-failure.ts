/**
 * What is told about an entry that could not be applied (cluster.md §2.10), and the marker that may
 * stand in its place. DETERMINISTIC: every member fails at it alike, a fault of the broker. NODE-LOCAL:
 * this node's disk. The digest names the entry's bytes, so operators can compare members.
 *
 *   marker = the entry's own header (its stamp stays used) with a count of 0 commands
 */
import { createHash } from 'node:crypto';
import { QueenError } from '../../common/errors.js';
import { COMMAND_HEADER, CommandKind } from '../../machine/commands/catalogue.js';
import { ENTRY_HEADER_BYTES } from './entry-payload.js';
import type { GroupStatus } from './group.js';
import type { LogEntry } from './ports.js';

export type ApplyFailure = Required<NonNullable<GroupStatus['failure']>>;

export const DETERMINISTIC = 'DETERMINISTIC';
export const NODE_LOCAL = 'NODE-LOCAL';

const DIGEST_DIGITS = 16;
const COUNT_AT = 10;

/** An entry that an operator's skip marker replaced. */
export interface SkippedEntry {
  readonly index: number;
  readonly term: number;
  /** Of what it held; null when another member replaced it. */
  readonly digest: string | null;
}

/** Kept across starts by the wiring; every call is synchronous, the process may end any moment. */
export interface StopNotes {
  /** Store, log or stored bytes are damaged or cannot be written. */
  damaged(error: unknown): void;
  applyFailed(failure: ApplyFailure): void;
  /** After every entry; `isMarker`: it was replaced by an operator. */
  applied(entry: LogEntry, isMarker: boolean): void;
  readonly skipped: readonly SkippedEntry[];
}

export const NO_NOTES: StopNotes = {
  damaged: () => undefined,
  applyFailed: () => undefined,
  applied: () => undefined,
  skipped: [],
};

export function applyFailureOf(entry: LogEntry, error: unknown): ApplyFailure {
  // System errors and damage of files carry a code or are an error of a file; all else is the entry's,
  // and so is what a client would be refused for.
  const isRefusal = error instanceof QueenError;
  const isLocal = error instanceof Error && !isRefusal && ('code' in error || 'file' in error);
  const payload = Buffer.concat(entry.parts);
  return {
    class: isLocal ? NODE_LOCAL : DETERMINISTIC,
    error: error instanceof Error ? error.message : String(error),
    index: entry.index,
    term: entry.term,
    digest: payloadDigest(payload),
    ...contentOf(payload),
  };
}

/** A failure outside apply: store, log, stored bytes. */
export function localFailure(error: unknown, index: number): NonNullable<GroupStatus['failure']> {
  const text = error instanceof Error ? error.message : String(error);
  return { class: NODE_LOCAL, error: text, index };
}

export function payloadDigest(payload: Uint8Array): string {
  return createHash('sha256').update(payload).digest('hex').slice(0, DIGEST_DIGITS);
}

/** The log line: class and, where it helps, the setting that passes over the entry. */
export function failureLine(
  { class: kind, index, digest }: ApplyFailure,
  /** Raft group of a cluster; null: a single-node broker, which passes over nothing. */
  group: number | null,
): string {
  const head = `APPLY FAILED at entry ${index}: ${kind}`;
  if (group === null) return `${head}; start a fixed release, or restore a backup`;
  if (kind !== DETERMINISTIC) return `${head}; repair this node or replace it`;
  const place = group === 0 ? '' : `g${group}/`;
  const setting = `QUEEN_RAFT_APPLY_SKIP=${place}${index}:${digest}`;
  return `${head}; every node stops here. To pass over it start EVERY node with ${setting}`;
}

/** Kinds of the commands, and how much they are. */
export function contentOf(payload: Uint8Array): {
  readonly command: string | null;
  readonly effect: string | null;
} {
  if (payload.length < ENTRY_HEADER_BYTES) return { command: null, effect: null };
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const names = new Set<string>();
  for (let at = ENTRY_HEADER_BYTES; at + COMMAND_HEADER.body <= payload.length;) {
    const kind = payload[at + COMMAND_HEADER.kind] ?? 0;
    names.add(CommandKind[kind] ?? `kind ${kind}`);
    at += 4 + view.getUint32(at, true);
  }
  const effect = `${view.getUint32(COUNT_AT, true)} commands, ${payload.length} bytes`;
  return { command: [...names].join(','), effect };
}

export function markerOf(payload: Uint8Array): Buffer {
  const marker = Buffer.from(payload.subarray(0, ENTRY_HEADER_BYTES));
  marker.writeUInt32LE(0, COUNT_AT);
  return marker;
}

/** Of an entry of a cluster: nobody proposes one without commands. */
export function isMarker(entry: LogEntry): boolean {
  return entry.commandCount === 0 && entry.parts.length > 0;
}
