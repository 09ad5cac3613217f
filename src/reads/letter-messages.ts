/**
 * The message behind a dead letter, read by the letter's own reference: retention may have cut it off
 * its partition long ago, the letter keeps its bytes.
 */
import { RecordGoneError } from '../common/record-gone.js';
import { MESSAGE_FLAG, readRecord } from '../machine/commands/push-record.js';
import type { DeadLetterRow } from '../machine/tables/dead-letter-row.js';
import type { Group } from '../raft/group/group.js';
import { clearPayload } from './clear-payload.js';

/** What a dead letter shows of its message; slices of one record. */
export interface LetterMessage {
  readonly transactionId: Uint8Array;
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
  const transactionId = record.subarray(view.transactionIdStart, view.transactionIdEnd);
  return { transactionId, payload, encrypted };
}
