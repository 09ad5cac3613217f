/** Key-value calls for machine specs in one line each: operations with defaults, and what they did. */
import { encodeUtf8, readUtf8 } from '../../src/common/utf8.js';
import { encodeKvCall, KvOpKind, NO_EXPECT } from '../../src/machine/commands/index.js';
import type { KvCallOutcome, KvPlannedOp } from '../../src/machine/commands/index.js';
import { TENANT, type MachineHarness } from './machine-harness.js';

export interface OpOptions {
  readonly ns?: string;
  readonly key?: string;
  readonly expect?: number;
  readonly required?: boolean;
  readonly ttlMicros?: number;
  readonly min?: string;
  readonly max?: string;
}

function op(kind: KvOpKind, value: string, options: OpOptions): KvPlannedOp {
  return {
    kind,
    namespace: options.ns ?? 'ns',
    key: options.key ?? 'k',
    required: options.required ?? false,
    expect: options.expect ?? NO_EXPECT,
    ttlMicros: options.ttlMicros ?? 0,
    value: encodeUtf8(value),
    min: options.min ?? null,
    max: options.max ?? null,
  };
}

export const put = (value: string, options: OpOptions = {}): KvPlannedOp =>
  op(KvOpKind.Put, value, options);
export const del = (options: OpOptions = {}): KvPlannedOp => op(KvOpKind.Delete, '', options);
export const incr = (delta: string, options: OpOptions = {}): KvPlannedOp =>
  op(KvOpKind.Incr, delta, options);
export const check = (expect: number, options: OpOptions = {}): KvPlannedOp =>
  op(KvOpKind.Check, '', { ...options, expect });

export function kvBytes(operations: readonly KvPlannedOp[], reads = false): Uint8Array {
  return encodeKvCall(TENANT, { reads, operations });
}

export function kv(harness: MachineHarness, ...operations: KvPlannedOp[]): KvCallOutcome {
  return harness.run<KvCallOutcome>(kvBytes(operations));
}

export interface ShownVerdict {
  readonly applied: boolean;
  readonly reason: string | null;
  readonly value: string | null;
  readonly version: number;
}

export function shown(outcome: KvCallOutcome, at = 0): ShownVerdict {
  const { applied, reason, value, version } = outcome.results[at]!;
  return { applied, reason, value: value === null ? null : text(value), version };
}

export function text(bytes: Uint8Array): string {
  return readUtf8(bytes, 0, bytes.length);
}
