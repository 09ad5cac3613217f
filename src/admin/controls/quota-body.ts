/**
 * The body of a quota call (admin.md §1.2): whose quota, of what, and its limits in camelCase or
 * snake_case. A limit that is absent or null is none; limits of another kind are not kept.
 */
import { QueenError } from '../../common/errors.js';
import { parseUuid } from '../../common/uuid-v7.js';
import type { JsonObject } from '../../http/json-body.js';
import { QUOTA_LIMITS, QuotaKind } from '../../machine/commands/index.js';
import type { QuotaLimit, QuotaLimits } from '../../machine/commands/index.js';

export const QUOTA_KINDS = {
  kv: QuotaKind.Kv,
  ephemeral: QuotaKind.Ephemeral,
  streams: QuotaKind.Streams,
};
export type QuotaKindName = keyof typeof QUOTA_KINDS;

export const BAD_KIND = { error: 'kind must be kv, ephemeral, or streams' };

const LIMITS_OF: Readonly<Record<QuotaKindName, readonly QuotaLimit[]>> = {
  kv: [
    'maxRows',
    'maxBytes',
    'maxTimers',
    'maxTimerHorizonSeconds',
    'maxReadsPerSecond',
    'maxWritesPerSecond',
  ],
  ephemeral: ['maxBytes', 'maxQueues', 'maxMessagesPerSecond'],
  streams: ['maxQueries'],
};

const ALIASES: Readonly<Record<QuotaLimit, readonly string[]>> = {
  maxRows: ['max_rows'],
  maxBytes: ['max_bytes'],
  maxTimers: ['max_timers'],
  maxTimerHorizonSeconds: ['maxTimerHorizonS', 'max_timer_horizon_s', 'max_timer_horizon_seconds'],
  maxReadsPerSecond: ['maxReadsPerSec', 'max_reads_per_sec', 'max_reads_per_second'],
  maxWritesPerSecond: ['maxWritesPerSec', 'max_writes_per_sec', 'max_writes_per_second'],
  maxQueues: ['max_queues'],
  maxMessagesPerSecond: ['maxMsgsPerSec', 'max_msgs_per_sec', 'max_messages_per_second'],
  maxQueries: ['max_queries'],
};

export interface QuotaRequest {
  /** Null: the request's own. */
  readonly tenant: Uint8Array | null;
  readonly kind: QuotaKindName;
  readonly enabled: boolean;
  readonly limits: QuotaLimits;
}

/** Null when the kind is none. */
export function parseQuota(body: JsonObject): QuotaRequest | null {
  const { kind, enabled = true } = body;
  if (kind !== 'kv' && kind !== 'ephemeral' && kind !== 'streams') return null;
  if (typeof enabled !== 'boolean') throw bad('enabled must be a boolean');
  const tenant = parseTenant(body['tenant'] ?? body['tenantId']);
  const own = LIMITS_OF[kind];
  const limits = Object.fromEntries(
    QUOTA_LIMITS.map((name) => [name, own.includes(name) ? limitOf(body, name) : null]),
  ) as unknown as QuotaLimits;
  return { tenant, kind, enabled, limits };
}

/** Null when none is named. */
export function parseTenant(value: unknown): Uint8Array | null {
  if (value === undefined || value === null || value === '') return null;
  const tenant = typeof value === 'string' ? parseUuid(value.trim()) : undefined;
  if (tenant === undefined) throw bad('tenant must be a UUID');
  return tenant;
}

function limitOf(body: JsonObject, name: QuotaLimit): number | null {
  const key = [name, ...ALIASES[name]].find((one) => body[one] !== undefined);
  const value = key === undefined ? null : body[key];
  if (value === null) return null;
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw bad(`${name} must be an integer of 0 or more`);
  }
  return Math.min(value, Number.MAX_SAFE_INTEGER - 1);
}

function bad(text: string): QueenError {
  return new QueenError('bad_request', text);
}
