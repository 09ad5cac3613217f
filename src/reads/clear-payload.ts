/** The payload of a stored record as a client sent it: what this broker sealed is opened, nothing else. */
import { QueenError } from '../common/errors.js';
import { isSealed } from '../common/sealed-payload.js';
import { MESSAGE_FLAG, readRecord } from '../machine/commands/push-record.js';
import type { PayloadCipher } from '../raft/group/group.js';

/** A slice of the record, or the opened bytes; 503 without the key. Ciphertext never leaves as data. */
export function clearPayload(record: Uint8Array, cipher: PayloadCipher | null): Uint8Array {
  const { flags, payloadStart, payloadEnd } = readRecord(record, 0, record.length);
  const stored = record.subarray(payloadStart, payloadEnd);
  if ((flags & MESSAGE_FLAG.encrypted) === 0 || !isSealed(stored)) return stored;
  if (cipher === null) {
    throw new QueenError('retry', 'QUEEN_ENCRYPTION_KEY is not set on this node');
  }
  return cipher.open(stored) ?? stored;
}
