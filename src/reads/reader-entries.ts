/**
 * Entries of the raw readers' bodies (positions, fetch, changed): an object with a queue and perhaps a
 * partition. A partition may be a number: its decimal spelling is the name; absent means `Default`.
 */
import { QueenError } from '../common/errors.js';

export type EntryFields = Readonly<Record<string, unknown>>;

const DEFAULT_PARTITION = 'Default';

/** The entries of a body; refuses what is no array of objects. */
export function entryObjects(value: unknown, code: 'bad_body' | 'bad_request'): EntryFields[] {
  if (!Array.isArray(value)) throw new QueenError(code, 'entries must be an array');
  return value.map((entry: unknown, i) => {
    if (entry === null || typeof entry !== 'object' || Array.isArray(entry)) {
      throw new QueenError(code, `entries[${i}] must be an object`);
    }
    return entry as EntryFields;
  });
}

export function entryQueue(entry: EntryFields, index: number): string {
  const { queue } = entry;
  if (typeof queue !== 'string' || queue === '') {
    throw new QueenError('bad_request', `entries[${index}].queue is required`);
  }
  return queue;
}

export function entryPartition(entry: EntryFields, index: number): string {
  const { partition } = entry;
  if (partition === undefined || partition === null || partition === '') return DEFAULT_PARTITION;
  if (typeof partition === 'string') return partition;
  if (typeof partition === 'number' && Number.isSafeInteger(partition)) return String(partition);
  throw new QueenError('bad_body', `entries[${index}].partition must be a string or a number`);
}
