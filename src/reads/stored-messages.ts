/**
 * Reads of single messages for listings: a few at a time, payloads inside a byte budget. Bytes are
 * written to the answer as they are stored, never parsed.
 */
import type { JsonWriter } from '../common/json/json-writer.js';
import type { Group, StoredMessage } from '../raft/group/group.js';

/** Messages read at the same time. */
const READ_AHEAD = 16;
/** Payload bytes one listing carries; rows beyond show no payload. */
export const LISTING_PAYLOAD_BYTES = 32 * 1024 * 1024;

export interface MessageAddress {
  readonly partitionId: number;
  readonly offset: number;
}

/** What a payload is shown by. */
export type ShownPayload = Pick<StoredMessage, 'payload'>;

/** Calls `visit` for each address in order; null when the message cannot be read any more. */
export function readEach<T extends MessageAddress>(
  group: Pick<Group, 'readMessages'>,
  rows: readonly T[],
  visit: (row: T, message: StoredMessage | null) => void,
): Promise<void> {
  const read = async ({ partitionId, offset }: T): Promise<StoredMessage | null> =>
    (await group.readMessages(partitionId, offset, offset))[0] ?? null;
  return readInSlices(rows, read, visit);
}

/** Reads a few rows' messages at a time and visits them in order. */
export async function readInSlices<T, M>(
  rows: readonly T[],
  read: (row: T) => Promise<M>,
  visit: (row: T, message: M) => void,
): Promise<void> {
  for (let at = 0; at < rows.length; at += READ_AHEAD) {
    const slice = rows.slice(at, at + READ_AHEAD);
    const messages = await Promise.all(slice.map(read));
    slice.forEach((row, i) => visit(row, messages[i] as M));
  }
}

/** Counts payload bytes of one answer. */
export class PayloadBudget {
  private left = LISTING_PAYLOAD_BYTES;

  /** Whether the payload may be shown; the first one always may. */
  admits(message: ShownPayload | null): boolean {
    if (message === null || this.left <= 0) return false;
    this.left -= message.payload.length;
    return true;
  }
}

/** The payload as JSON: its own bytes, null when it is empty or not to be shown. */
export function writePayload(out: JsonWriter, message: ShownPayload | null, shown: boolean): void {
  if (message === null || !shown || message.payload.length === 0) out.null();
  else out.fragment(message.payload);
}
