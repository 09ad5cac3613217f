/**
 * The message behind a dead letter, read by the letter's own reference: retention may have cut it off
 * its partition long ago, the letter keeps its bytes.
 */
import { RecordGoneError } from '../common/record-gone.js';
import { MESSAGE_FLAG, readRecord, TRACE_ID_BYTES } from '../machine/commands/push-record.js';
import type { DeadLetterRow } from '../machine/tables/dead-letter-row.js';
import type { Group } from '../raft/group/group.js';
import { clearPayload } from './clear-payload.js';

/** What a dead letter shows of its message; slices of one record. */
export interface LetterMessage {
  readonly transactionId: Uint8Array;
  readonly producerSub: Uint8Array | null;
  readonly traceId: Uint8Array | null;
  readonly payload: Uint8Array;
  readonly encrypted: boolean;
}

/** Null when the letter went meanwhile, and its bytes with it. */
export async function letterMessage(
  group: Pick<Group, 'readRecord' | 'cipher'>,
  letter: DeadLetterRow,
): Promise<LetterMessage | null> {
  const { entryIndex, blockOffset, start, length, crc } = letter;
  const place = { entryIndex, start: blockOffset + start, length, crc };
  const record = await group.readRecord(place).catch((error: unknown) => {
    if (error instanceof RecordGoneError) return null;
    throw error;
  });
  if (record === null) return null;
  const view = readRecord(record, 0, record.length);
  const encrypted = (view.flags & MESSAGE_FLAG.encrypted) !== 0;
  const payload = clearPayload(record, group.cipher);
  const { transactionIdStart, transactionIdEnd, producerSubStart, producerSubEnd } = view;
  const transactionId = record.subarray(transactionIdStart, transactionIdEnd);
  const hasSub = producerSubStart >= 0;
  const producerSub = hasSub ? record.subarray(producerSubStart, producerSubEnd) : null;
  const traceAt = view.traceIdStart;
  const traceId = traceAt < 0 ? null : record.subarray(traceAt, traceAt + TRACE_ID_BYTES);
  return { transactionId, producerSub, traceId, payload, encrypted };
}
