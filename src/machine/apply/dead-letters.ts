/**
 * Filing and removing dead letters (spec §2.6, §11). A dead letter is a reference: where the record stands in the log,
 * taken from the append index row of the signal's base offset. If any of them cannot be resolved,
 * nothing of the target may change, so rows are built first and written after. Each letter has two
 * pointer rows (by message, by id) and counts on its partition, its queue and its (queue, group).
 */
import { partitionId } from '../../common/ids.js';
import type { AckSignal, AckTarget, DeadLetterName } from '../commands/catalogue.js';
import { AppendRowView } from '../tables/append-row.js';
import {
  decodeDeadLetterRow,
  decodeLetterCount,
  encodeDeadLetterRow,
  encodeLetterCount,
  encodeLetterPointer,
} from '../tables/dead-letter-row.js';
import type { DeadLetterRow } from '../tables/dead-letter-row.js';
import {
  appendKey,
  deadLetterKey,
  groupLettersKey,
  letterIdKey,
  messageLetterKey,
} from '../tables/keyspaces.js';
import type { ApplyContext, LivePartition } from './context.js';

/** What stands in a dead letter when nobody gave a reason. */
export const RETRIES_EXHAUSTED = 'Retries exhausted';

const append = new AppendRowView();

export interface Filing {
  readonly partition: LivePartition;
  readonly target: AckTarget;
  readonly groupId: number;
  /** Retry counter before the call. */
  readonly retryCount: number;
}

/** Rows for all filed signals; undefined when one message cannot be found any more. */
export function prepareDeadLetters(
  context: ApplyContext,
  filed: readonly AckSignal[],
  filing: Filing,
): DeadLetterRow[] | undefined {
  const rows: DeadLetterRow[] = [];
  for (const signal of filed) {
    const row = deadLetterOf(context, signal, filing);
    if (row === undefined) return undefined;
    rows.push(row);
  }
  return rows;
}

function deadLetterOf(
  context: ApplyContext,
  signal: AckSignal,
  filing: Filing,
): DeadLetterRow | undefined {
  const { partition, target } = filing;
  const { offset, baseOffset } = signal;
  if (baseOffset > offset) return undefined;
  const value = context.rows.get(appendKey(partition.queue.id, target.partitionId, baseOffset));
  if (value === undefined) return undefined;
  append.open(value);
  const i = offset - baseOffset;
  if (i >= append.count) return undefined;
  return {
    queueId: partition.queue.id,
    partitionId: target.partitionId,
    groupId: filing.groupId,
    offset,
    entryIndex: append.entryIndex,
    blockOffset: append.blockOffset,
    start: append.start(i),
    length: append.length(i),
    crc: append.crc(i),
    messageFlags: append.flags(i),
    messageId: append.copyId(i),
    transactionHash: append.bytes.slice(append.hashAt(i), append.hashAt(i) + 16),
    retryCount: filing.retryCount,
    failedAt: context.now,
    deadLetterId: signal.deadLetterId,
    error: signal.error ?? target.fallbackError ?? RETRIES_EXHAUSTED,
  };
}

export function writeDeadLetters(
  context: ApplyContext,
  slot: number,
  rows: readonly DeadLetterRow[],
): void {
  for (const row of rows) {
    putRows(context, row);
    context.digest.bytes(row.deadLetterId);
    context.digest.number(row.offset);
    context.digest.word(row.crc);
    context.digest.text(row.error);
  }
  const [first] = rows;
  if (first === undefined) return;
  context.tables.partitions.addDeadLetters(slot, rows.length);
  addToGroup(context, first, rows.length);
}

/** Removes a dead letter with all its rows; false when the tenant has none of that name. */
export function removeDeadLetter(context: ApplyContext, name: DeadLetterName): boolean {
  const row = findDeadLetter(context, name);
  if (row === undefined) return false;
  const { rows, tables, digest } = context;
  rows.delete(deadLetterKey(row.queueId, row.failedAt, row.deadLetterId));
  rows.delete(messageLetterKey(placeOf(row), row.deadLetterId));
  rows.delete(letterIdKey(row.queueId, row.deadLetterId));
  addToGroup(context, row, -1);
  const slot = tables.partitions.byId(partitionId(row.partitionId));
  if (slot >= 0) tables.partitions.addDeadLetters(slot, -1);
  digest.bytes(row.deadLetterId);
  digest.number(row.offset);
  return true;
}

export function findDeadLetter(
  context: ApplyContext,
  name: DeadLetterName,
): DeadLetterRow | undefined {
  const queue = context.tables.queues.byId(name.queueId);
  if (queue === undefined || queue.tenant !== context.tenant()) return undefined;
  const value = context.rows.get(deadLetterKey(name.queueId, name.failedAt, name.deadLetterId));
  return value === undefined ? undefined : decodeDeadLetterRow(value);
}

export function deadLetterRowKey(name: DeadLetterName): Uint8Array {
  return deadLetterKey(name.queueId, name.failedAt, name.deadLetterId);
}

function putRows(context: ApplyContext, row: DeadLetterRow): void {
  const { rows } = context;
  const { queueId, failedAt, deadLetterId } = row;
  rows.put(deadLetterKey(queueId, failedAt, deadLetterId), encodeDeadLetterRow(row));
  rows.put(messageLetterKey(placeOf(row), deadLetterId), encodeLetterPointer(failedAt));
  rows.put(letterIdKey(queueId, deadLetterId), encodeLetterPointer(failedAt));
}

function placeOf(row: DeadLetterRow) {
  const { queueId, partitionId: partition, transactionHash: hash, offset } = row;
  return { queueId, partitionId: partition, hash, offset };
}

function addToGroup(context: ApplyContext, row: DeadLetterRow, delta: number): void {
  const key = groupLettersKey(row.queueId, row.groupId);
  const value = context.rows.get(key);
  const count = (value === undefined ? 0 : decodeLetterCount(value)) + delta;
  if (count > 0) context.rows.put(key, encodeLetterCount(count));
  else context.rows.delete(key);
}
