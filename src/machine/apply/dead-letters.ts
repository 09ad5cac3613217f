/**
 * Filing dead letters (spec §2.6). A dead letter is a reference: where the record stands in the log,
 * taken from the append index row of the signal's base offset. If any of them cannot be resolved,
 * nothing of the target may change, so rows are built first and written after.
 */
import type { AckSignal, AckTarget } from '../commands/catalogue.js';
import { AppendRowView } from '../tables/append-row.js';
import { encodeDeadLetterRow } from '../tables/dead-letter-row.js';
import type { DeadLetterRow } from '../tables/dead-letter-row.js';
import { appendKey, deadLetterKey } from '../tables/keyspaces.js';
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
    context.rows.put(
      deadLetterKey(row.queueId, row.failedAt, row.deadLetterId),
      encodeDeadLetterRow(row),
    );
    context.digest.bytes(row.deadLetterId);
    context.digest.number(row.offset);
    context.digest.word(row.crc);
    context.digest.text(row.error);
  }
  if (rows.length > 0) context.tables.partitions.addDeadLetters(slot, rows.length);
}
