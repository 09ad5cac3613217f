/**
 * Queue options as configure takes them (messages.md §3, §9.1): names, types, defaults, clamps and
 * refusals. The only place that knows the wire names and the configure defaults.
 */
import { QueenError } from '../common/errors.js';
import type { QueueOptions } from '../machine/commands/catalogue.js';

export const CONFIGURE_DEFAULTS: QueueOptions = {
  leaseTime: 300,
  retryLimit: 3,
  deadLetterQueue: true,
  dlqAfterMaxRetries: true,
  dedupWindowSeconds: 3600,
  delayedProcessing: 0,
  windowBuffer: 0,
  retentionEnabled: false,
  retentionSeconds: 0,
  completedRetentionSeconds: 0,
  maxWaitTimeSeconds: 0,
  encryptionEnabled: false,
  retentionSinkHold: '',
  retentionSinkHoldMaxSeconds: 604_800,
  namespace: '',
  task: '',
  priority: 0,
  retryDelay: 1000,
  ttl: 3600,
  maxSize: 0,
  minPopWaitTime: 0,
};

const INT32_MIN = -2_147_483_648;
const INT32_MAX = 2_147_483_647;
const SINK_NAME = /^[A-Za-z0-9._-]{0,64}$/;
const SINK_HOLD_MIN_S = 60;
const SINK_HOLD_MAX_S = 31_536_000;
const POP_WAIT_MAX_MS = 60_000;

type OptionName = keyof QueueOptions;

/** The options named in `source`, validated and clamped; unknown names are ignored. */
export function parseOptions(source: Readonly<Record<string, unknown>>): Partial<QueueOptions> {
  const parsed: Partial<Record<OptionName, number | boolean | string>> = {};
  for (const name of Object.keys(CONFIGURE_DEFAULTS) as OptionName[]) {
    if (!Object.hasOwn(source, name) || source[name] === undefined) continue;
    parsed[name] = parseOption(name, source[name]);
  }
  return parsed as Partial<QueueOptions>;
}

function parseOption(name: OptionName, value: unknown): number | boolean | string {
  const fallback = CONFIGURE_DEFAULTS[name];
  if (typeof fallback === 'string') return parseText(name, value);
  if (value === null) return fallback;
  if (typeof fallback === 'boolean') {
    if (typeof value !== 'boolean') throw bad(`${name} must be a boolean`);
    return value;
  }
  return clampNumber(name, parseInteger(name, value));
}

function parseText(name: OptionName, value: unknown): string {
  const text = typeof value === 'string' ? value : '';
  if (name === 'retentionSinkHold' && !SINK_NAME.test(text)) {
    throw bad('retentionSinkHold must match [A-Za-z0-9._-]{0,64}');
  }
  return text;
}

function parseInteger(name: OptionName, value: unknown): number {
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    throw bad(`${name} must be an integer`);
  }
  if (value < INT32_MIN || value > INT32_MAX) throw bad(`${name} must be an integer (32 bit)`);
  return value === 0 ? 0 : value;
}

function clampNumber(name: OptionName, value: number): number {
  if (name === 'minPopWaitTime') return Math.min(Math.max(value, 0), POP_WAIT_MAX_MS);
  if (name === 'dedupWindowSeconds') return Math.max(value, 0);
  if (
    name === 'retentionSinkHoldMaxSeconds' &&
    (value < SINK_HOLD_MIN_S || value > SINK_HOLD_MAX_S)
  ) {
    throw bad(`${name} must be between ${SINK_HOLD_MIN_S} and ${SINK_HOLD_MAX_S}`);
  }
  return value;
}

function bad(text: string): QueenError {
  return new QueenError('bad_request', text);
}
