/**
 * What one log line contains: time in microseconds, flat fields, and the text form
 * `<RFC3339 UTC µs>  <LEVEL> <target>: <message> key=value …`. One event is always one line, whatever
 * a field holds, and a field whose name says secret never shows its text.
 */

export type LogFields = Readonly<Record<string, unknown>>;
export type FlatValue = string | number | boolean | null;
export type FlatFields = Record<string, FlatValue>;

/** Longest text of one field; a log line is no place for payloads. */
export const MAX_FIELD_CHARS = 8192;
/** Names that the line itself uses; a field of that name gets a trailing underscore. */
const RESERVED = new Set(['timestamp', 'level', 'target', 'message']);
const SECRET_NAME = /secret|token|passw|authorization|cookie|(api|encryption|private)_?key/i;
const MASKED = /^<(unset|set:\d+ chars)>$/;
/** The wall clock may be set: the fine part of the time is trusted only within this of it. */
const MAX_DRIFT_MS = 2;

export interface MicrosClock {
  /** Microseconds since the epoch. */
  now(): number;
}

/** Milliseconds from the wall clock, the three digits below from the monotonic one. */
export function createMicrosClock(): MicrosClock {
  let anchorMs = Date.now() - performance.now();
  return {
    now: () => {
      const wallMs = Date.now();
      const fineMs = anchorMs + performance.now();
      if (Math.abs(fineMs - wallMs) <= MAX_DRIFT_MS) return Math.round(fineMs * 1000);
      anchorMs = wallMs - performance.now();
      return wallMs * 1000;
    },
  };
}

/** 2026-01-31T12:00:00.123456Z */
export function formatMicros(micros: number): string {
  const text = new Date(Math.floor(micros / 1000)).toISOString();
  return `${text.slice(0, -1)}${String(micros % 1000).padStart(3, '0')}Z`;
}

function clip(text: string): string {
  return text.length <= MAX_FIELD_CHARS ? text : `${text.slice(0, MAX_FIELD_CHARS)}…`;
}

function describeError(error: Error): string {
  const own = `${error.name}: ${error.message}`;
  return error.cause instanceof Error ? `${own} (caused by ${describeError(error.cause)})` : own;
}

function toJson(value: object): string {
  try {
    return JSON.stringify(value, (_key, item: unknown) =>
      typeof item === 'bigint' ? String(item) : item,
    );
  } catch (error) {
    // A cycle or a throwing getter must not take the caller down with it.
    return `<unprintable: ${String(error)}>`;
  }
}

function flatten(value: unknown): FlatValue {
  if (typeof value === 'string') return clip(value);
  if (typeof value === 'boolean' || value === null) return value;
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value instanceof Error) return clip(describeError(value));
  return typeof value === 'object' ? clip(toJson(value)) : clip(String(value));
}

function mask(name: string, value: FlatValue): FlatValue {
  if (typeof value !== 'string' || !SECRET_NAME.test(name) || MASKED.test(value)) return value;
  return `<set:${value.length} chars>`;
}

/** Undefined fields are dropped. */
export function flatFields(fields: LogFields): FlatFields {
  const flat: FlatFields = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    flat[RESERVED.has(name) ? `${name}_` : name] = mask(name, flatten(value));
  }
  return flat;
}

const PLAIN = /^[^\s"'=\\\p{Cc}]+$/u;
const CONTROL = /[\p{Cc}\u2028\u2029]/gu;

function quote(text: string): string {
  return PLAIN.test(text) ? text : JSON.stringify(text).replace(CONTROL, escapeControl);
}

function escapeControl(char: string): string {
  if (char === '\n') return '\\n';
  if (char === '\r') return '\\r';
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

export interface LogRecord {
  readonly micros: number;
  /** Upper case. */
  readonly level: string;
  readonly target: string;
  readonly message: string;
  readonly fields: FlatFields;
}

export function textLine({ micros, level, target, message, fields }: LogRecord): string {
  const pairs = Object.entries(fields).map(([name, value]) => {
    return ` ${name}=${typeof value === 'string' ? quote(value) : String(value)}`;
  });
  const text = message.replace(CONTROL, escapeControl);
  return `${formatMicros(micros)}  ${level} ${target}: ${text}${pairs.join('')}\n`;
}
