/**
 * Options of an ephemeral queue (state.md §5.5): what a client may send, and what is in force. A value
 * out of range is clamped when it is applied, not when it is sent, so that a declaration keeps its words
 * when the node's ceilings change. A wrong type or an unknown name is refused before the log.
 */
import { QueenError } from '../../common/errors.js';
import type { JsonObject } from '../../http/json-body.js';

export type FullPolicy = 'reject' | 'dropOldest';

export interface WindowBuffer {
  readonly ms: number;
  readonly count: number;
}

export interface EphemeralOptions {
  readonly maxBytes: number;
  readonly maxLength: number;
  readonly policy: FullPolicy;
  /** 0 = off. */
  readonly ttlMs: number;
  readonly leaseMs: number;
  readonly retryLimit: number;
  /** Null = off. */
  readonly window: WindowBuffer | null;
}

/** What the configuration says; see QUEEN_EPHEMERAL_*. */
export interface OptionLimits {
  readonly queueMaxBytes: number;
  readonly queueMaxLength: number;
  readonly leaseSeconds: number;
  readonly retryLimit: number;
}

const SECOND_MS = 1000;
const MAX_LEASE_MS = 24 * 3600 * SECOND_MS;
const MAX_RETRIES = 1000;
const MAX_WINDOW_MS = 60_000;
const MAX_WINDOW_COUNT = 10_000;

const NUMBERS = ['maxBytes', 'maxLength', 'ttlSeconds', 'leaseSeconds', 'retryLimit'] as const;
const WINDOW_PARTS: readonly string[] = ['ms', 'count'];
const POLICIES: readonly unknown[] = ['reject', 'dropOldest'];

/** Throws `ephemeral_bad_request` naming the first option that makes no sense. */
export function checkOptions(options: JsonObject): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === null) continue;
    if ((NUMBERS as readonly string[]).includes(name)) checkNumber(name, value);
    else if (name === 'policy') {
      if (!POLICIES.includes(value)) refuse('policy must be "reject" or "dropOldest"');
    } else if (name === 'windowBuffer') checkWindow(value);
    else refuse(`unknown option ${JSON.stringify(name)}`);
  }
}

function checkNumber(name: string, value: unknown): void {
  if (typeof value !== 'number' || !Number.isFinite(value)) refuse(`${name} must be a number`);
}

function checkWindow(value: unknown): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    refuse('windowBuffer must be an object with ms and count');
  }
  for (const [part, number] of Object.entries(value)) {
    if (!WINDOW_PARTS.includes(part)) refuse(`unknown option "windowBuffer.${part}"`);
    if (number !== null) checkNumber(`windowBuffer.${part}`, number);
  }
}

function refuse(text: string): never {
  throw new QueenError('ephemeral_bad_request', text);
}

/** The options in force: defaults for what is not set, clamped. Never throws: the log may hold any. */
export function effectiveOptions(sent: JsonObject, limits: OptionLimits): EphemeralOptions {
  const number = (name: string, fallback: number): number => {
    const value = sent[name];
    return typeof value === 'number' && Number.isFinite(value) ? value : fallback;
  };
  const whole = (name: string, fallback: number, range: Range): number =>
    Math.trunc(clamp(number(name, fallback), range));
  return {
    maxBytes: whole('maxBytes', limits.queueMaxBytes, { min: 1, max: limits.queueMaxBytes }),
    maxLength: whole('maxLength', limits.queueMaxLength, { min: 1, max: limits.queueMaxLength }),
    policy: sent['policy'] === 'dropOldest' ? 'dropOldest' : 'reject',
    ttlMs: Math.max(0, number('ttlSeconds', 0)) * SECOND_MS,
    leaseMs: clamp(number('leaseSeconds', limits.leaseSeconds) * SECOND_MS, {
      min: 1,
      max: MAX_LEASE_MS,
    }),
    retryLimit: whole('retryLimit', limits.retryLimit, { min: 0, max: MAX_RETRIES }),
    window: effectiveWindow(sent['windowBuffer']),
  };
}

interface Range {
  readonly min: number;
  readonly max: number;
}

function clamp(value: number, { min, max }: Range): number {
  return Math.min(Math.max(value, min), max);
}

function effectiveWindow(sent: unknown): WindowBuffer | null {
  if (typeof sent !== 'object' || sent === null) return null;
  const parts = sent as JsonObject;
  const part = (name: string, max: number): number => {
    const value = parts[name];
    const given = typeof value === 'number' && Number.isFinite(value) ? value : 0;
    return Math.trunc(clamp(given, { min: 0, max }));
  };
  const window = { ms: part('ms', MAX_WINDOW_MS), count: part('count', MAX_WINDOW_COUNT) };
  return window.ms === 0 && window.count === 0 ? null : window;
}

/** As the listing shows them: every option, seconds for times. */
export function shownOptions(options: EphemeralOptions): JsonObject {
  return {
    maxBytes: options.maxBytes,
    maxLength: options.maxLength,
    policy: options.policy,
    ttlSeconds: options.ttlMs / SECOND_MS,
    leaseSeconds: options.leaseMs / SECOND_MS,
    retryLimit: options.retryLimit,
    windowBuffer: options.window ?? { ms: 0, count: 0 },
  };
}

/** Options of a declaration as they stand in the log; what is no object there means none. */
export function parseOptions(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {};
}
