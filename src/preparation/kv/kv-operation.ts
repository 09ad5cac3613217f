/** Key-value operations as a call means them, validated; and what a call answers, before it is JSON. */
import type { KvPlannedOp, KvReason } from '../../machine/commands/index.js';
import type { KvRow } from '../../machine/tables/kv-rows.js';

export const PLANNED_OPS = ['put', 'putIfAbsent', 'delete', 'incr', 'check'] as const;
export type PlannedOpName = (typeof PLANNED_OPS)[number];

/** Goes through the log. */
export interface KvPlanned {
  readonly kind: 'planned';
  readonly op: PlannedOpName;
  readonly planned: KvPlannedOp;
}

export interface KvGet {
  readonly kind: 'get';
  readonly op: 'get';
  readonly namespace: string;
  readonly key: string;
}

export interface KvGetMany {
  readonly kind: 'getMany';
  readonly op: 'getMany';
  readonly namespace: string;
  readonly keys: readonly string[];
}

export interface KvGetPrefix {
  readonly kind: 'getPrefix';
  readonly op: 'getPrefix';
  readonly namespace: string;
  readonly prefix: string;
  /** '' = from the first. */
  readonly after: string;
  readonly limit: number;
  readonly keysOnly: boolean;
}

export type KvRead = KvGet | KvGetMany | KvGetPrefix;
export type KvOperation = KvPlanned | KvRead;

export interface KvFound {
  readonly key: string;
  readonly row: KvRow;
}

export interface KvVerdictResult {
  readonly kind: 'planned';
  readonly key: string;
  readonly applied: boolean;
  readonly reason: KvReason | null;
  /** JSON text; null = null. */
  readonly value: Uint8Array | null;
  readonly version: number;
}

export interface KvGetResult {
  readonly kind: 'get';
  readonly key: string;
  readonly row: KvRow | null;
}

export interface KvGetManyResult {
  readonly kind: 'getMany';
  readonly rows: readonly KvFound[];
  readonly missing: readonly string[];
  readonly truncated: boolean;
}

export interface KvGetPrefixResult {
  readonly kind: 'getPrefix';
  readonly rows: readonly KvFound[];
  readonly truncated: boolean;
  readonly nextAfter: string | null;
}

export type KvReadResult = KvGetResult | KvGetManyResult | KvGetPrefixResult;
export type KvResult = KvVerdictResult | KvReadResult;

/** A required operation lost: nothing was written. */
export interface KvAbort {
  /** In the order of the call. */
  readonly failedIndex: number;
  readonly operation: KvPlanned;
  readonly reason: KvReason;
  readonly version: number;
  readonly value: Uint8Array | null;
}

export type KvAnswer =
  | { readonly abort: KvAbort; readonly results: null }
  | { readonly abort: null; readonly results: readonly KvResult[] };
