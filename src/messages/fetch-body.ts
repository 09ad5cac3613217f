/** Bodies of the reads by offset (messages.md §12): entries, bounds, refusals. */
import { HttpException } from '@nestjs/common';
import { QueenError } from '../common/errors.js';
import { parseTimestamp } from '../common/timestamp.js';
import type { JsonObject } from '../http/json-body.js';
import type { EntryFields } from '../reads/reader-entries.js';
import { entryObjects, entryPartition, entryQueue } from '../reads/reader-entries.js';

const MAX_ENTRIES = 1024;
const DEFAULT_BYTES = 1024 * 1024;
const MAX_BYTES = 8 * 1024 * 1024;
const MAX_WAIT_MS = 30_000;
const MAX_LIMIT = 1000;
const MICROS_PER_MS = 1000;

export interface FetchEntry {
  readonly queue: string;
  readonly partition: string;
  readonly offset: number;
  readonly maxBytes: number;
}

export interface FetchBody {
  readonly entries: readonly FetchEntry[];
  readonly maxWaitMs: number;
  readonly minBytes: number;
}

export interface OffsetEntry {
  readonly queue: string;
  readonly partition: string;
  readonly instantMicros: number;
}

export interface ChangedEntry {
  readonly queue: string;
  /** µs, null = by name. */
  readonly since: number | null;
  readonly after: string | null;
  readonly limit: number;
}

export function parseFetch(body: JsonObject): FetchBody {
  return {
    entries: entriesOf(body).map((entry, i) => ({
      queue: entryQueue(entry, i),
      partition: entryPartition(entry, i),
      offset: offsetOf(entry, i),
      maxBytes: numberOf(entry, 'maxBytes', { fallback: DEFAULT_BYTES, min: 1, max: MAX_BYTES, i }),
    })),
    maxWaitMs: numberOf(body, 'maxWaitMs', { fallback: 0, min: 0, max: MAX_WAIT_MS }),
    minBytes: numberOf(body, 'minBytes', { fallback: 1, min: 0, max: Number.MAX_SAFE_INTEGER }),
  };
}

export function parseOffsets(body: JsonObject): OffsetEntry[] {
  return entriesOf(body).map((entry, i) => ({
    queue: entryQueue(entry, i),
    partition: entryPartition(entry, i),
    instantMicros: instantOf(entry, i),
  }));
}

export function parseChanged(body: JsonObject): ChangedEntry[] {
  return entriesOf(body).map((entry, i) => ({
    queue: entryQueue(entry, i),
    since: sinceOf(entry, i),
    after: cursorOf(entry, i),
    limit: numberOf(entry, 'limit', { fallback: MAX_LIMIT, min: 1, max: MAX_LIMIT, i }),
  }));
}

function entriesOf(body: JsonObject): EntryFields[] {
  const entries = entryObjects(body['entries'], 'bad_body');
  // This refusal has no code on the wire.
  if (entries.length > MAX_ENTRIES) throw new HttpException('too many entries', 400);
  return entries;
}

function offsetOf(entry: EntryFields, i: number): number {
  const { offset } = entry;
  if (typeof offset !== 'number' || !Number.isInteger(offset)) {
    throw new QueenError('bad_body', `entries[${i}].offset must be an integer`);
  }
  if (offset < 0) throw new QueenError('bad_request', `entries[${i}].offset must be 0 or more`);
  return offset;
}

interface NumberRule {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
  /** Of the entry it stands in; absent: the body. */
  readonly i?: number;
}

/** Absent and null are the fallback; a number is clamped. */
function numberOf(fields: EntryFields, name: string, rule: NumberRule): number {
  const value = fields[name] ?? rule.fallback;
  if (typeof value !== 'number') {
    const at = rule.i === undefined ? name : `entries[${rule.i}].${name}`;
    throw new QueenError('bad_body', `${at} must be a number`);
  }
  return Math.min(Math.max(Math.trunc(value), rule.min), rule.max);
}

/** Epoch milliseconds or an ISO time. */
function instantOf(entry: EntryFields, i: number): number {
  const { timestamp } = entry;
  if (typeof timestamp === 'string') {
    const instant = parseTimestamp(timestamp);
    if (instant !== undefined) return instant;
  }
  const isMillis = Number.isSafeInteger(timestamp) && (timestamp as number) >= 0;
  if (!isMillis) {
    const text = `entries[${i}].timestamp must be epoch milliseconds or an ISO-8601 time`;
    throw new QueenError('bad_request', text);
  }
  return Math.min((timestamp as number) * MICROS_PER_MS, Number.MAX_SAFE_INTEGER);
}

function sinceOf(entry: EntryFields, i: number): number | null {
  const { since } = entry;
  if (since === undefined || since === null) return null;
  const instant = typeof since === 'string' ? parseTimestamp(since) : undefined;
  if (instant === undefined) {
    throw new QueenError('bad_request', `entries[${i}].since must be an ISO-8601 time`);
  }
  return instant;
}

function cursorOf(entry: EntryFields, i: number): string | null {
  const { after } = entry;
  if (after === undefined || after === null) return null;
  if (typeof after === 'string') return after;
  throw new QueenError('bad_body', `entries[${i}].after must be a string`);
}
