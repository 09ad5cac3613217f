/** Answers of the timer plane as plain JSON objects (state.md §2.2, §2.6). */
import { timestampText } from '../common/timestamp.js';
import { readUtf8 } from '../common/utf8.js';
import { uuidText } from '../common/uuid-v7.js';
import { MESSAGE_FLAG, readRecord } from '../machine/commands/index.js';
import type { TimerResult } from '../machine/commands/index.js';
import type { TimerRow } from '../machine/tables/timer-row.js';
import type { MintedOperation } from './timer-command.js';

export type TimerElement = Readonly<Record<string, unknown>>;

/** One element of `results`. */
export function resultElement(
  { operation, messageId }: MintedOperation,
  result: TimerResult,
): TimerElement {
  const { status } = result;
  const named = { queue: operation.queue, timerKey: operation.timerKey };
  if (status === 'absent') return { ok: false, status, ...named, txn: operation.txn };
  if (status === 'cancelled')
    return { ok: true, status, ...named, txn: text(result.transactionId) };
  return {
    ...{ ok: true, status, ...named, txn: operation.txn },
    messageId: messageId === null ? null : uuidText(messageId),
    deliverAt: timestampText(result.deliverAt),
  };
}

/** A pending timer without its payload. */
export function timerFields(
  name: { readonly queue: string; readonly timerKey: string },
  row: TimerRow,
): TimerElement {
  const view = readRecord(row.record, 0, row.record.length);
  const { transactionIdStart, transactionIdEnd, producerSubStart, producerSubEnd } = view;
  return {
    ...{ queue: name.queue, timerKey: name.timerKey, partition: row.partition },
    deliverAt: timestampText(row.deliverAt),
    txn: readUtf8(row.record, transactionIdStart, transactionIdEnd),
    messageId: uuidText(row.messageId),
    payloadZstd: false,
    encrypted: (row.messageFlags & MESSAGE_FLAG.encrypted) !== 0,
    producerSub:
      producerSubStart < 0 ? null : readUtf8(row.record, producerSubStart, producerSubEnd),
    ...{ attempts: row.attempts, lastError: row.lastError, claimed: false },
    createdAt: timestampText(row.createdAt),
    updatedAt: timestampText(row.updatedAt),
  };
}

function text(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : readUtf8(bytes, 0, bytes.length);
}
