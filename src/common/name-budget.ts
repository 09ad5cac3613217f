/**
 * The name budget (spec messages.md §15): bytes(tenant) + bytes(queue) + max(bytes(partition),
 * bytes(group)) ≤ 447, so that every store key fits. Checked before anything is logged; the refusal
 * is 413 `name_too_long`.
 */

import { utf8Length } from './utf8.js';

export const NAME_BUDGET_BYTES = 447;
/** Longest transactionId of a message (messages.md §4.1). */
export const MAX_TRANSACTION_ID_BYTES = 65_535;
/** A tenant is always a UUID in text form. */
export const TENANT_NAME_BYTES = 36;

/** Bytes left for queue + max(partition, group). */
const OWN_NAMES_BYTES = NAME_BUDGET_BYTES - TENANT_NAME_BYTES;

/** UTF-8 sizes of the names of one request; absent ones are 0. */
export interface NameSizes {
  readonly queueBytes: number;
  readonly partitionBytes?: number;
  readonly groupBytes?: number;
}

/** The check alone, for hot paths: `laneBytes` is the larger of partition and group. */
export function isWithinNameBudget(queueBytes: number, laneBytes: number): boolean {
  return queueBytes + laneBytes <= OWN_NAMES_BYTES;
}

/** The refusal text naming the field, its length and the limit; undefined when the names fit. */
export function nameBudgetRefusal(sizes: NameSizes): string | undefined {
  const { queueBytes, partitionBytes = 0, groupBytes = 0 } = sizes;
  if (isWithinNameBudget(queueBytes, Math.max(partitionBytes, groupBytes))) return undefined;
  if (queueBytes > OWN_NAMES_BYTES) return refusal('queue', queueBytes);
  return groupBytes > partitionBytes
    ? refusal('group', groupBytes)
    : refusal('partition', partitionBytes);
}

/** The same for names that are strings. */
export function nameRefusal(names: {
  readonly queue: string;
  readonly partition?: string;
  readonly group?: string;
}): string | undefined {
  return nameBudgetRefusal({
    queueBytes: utf8Length(names.queue),
    partitionBytes: utf8Length(names.partition ?? ''),
    groupBytes: utf8Length(names.group ?? ''),
  });
}

function refusal(field: string, sizeBytes: number): string {
  return (
    `${field} name is too long: ${sizeBytes} bytes; tenant, queue and the longer of partition and ` +
    `group may have ${NAME_BUDGET_BYTES} bytes together`
  );
}
