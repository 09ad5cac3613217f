/**
 * Verifies the files of a store that is not open, and writes nothing: the checkpoint record, every block
 * of every table, the batches of LevelDB's log against the record. Rows are read by whoever opens it.
 */
import { join } from 'node:path';
import { readCheckpoint } from './checkpoint-record.js';
import { StoreDamageError } from './errors.js';
import { verifyLevel } from './leveldb/verifier.js';
import { namesIn } from './names-in.js';
import { STORE_DIRECTORY } from './store.js';

export interface StoreVerification {
  readonly tables: number;
  readonly bytes: number;
  /** An unconfirmed tail that the next open cuts. */
  readonly tailBytes: number;
  /** The directory of the store is missing or empty. */
  readonly isGone: boolean;
  /** The last confirmed checkpoint; null before the first, and where nothing can be told. */
  readonly confirmed: { readonly index: number; readonly term: number; digest: string } | null;
  readonly isSound: boolean;
}

const NOTHING = { tables: 0, bytes: 0, tailBytes: 0, isGone: false, confirmed: null };

export async function verifyStore(
  directory: string,
  damaged: (error: StoreDamageError) => void,
): Promise<StoreVerification> {
  let isSound = true;
  const onDamage = (error: StoreDamageError): void => {
    isSound = false;
    damaged(error);
  };
  try {
    const known = await readCheckpoint(directory);
    const record = known?.record;
    const confirmed =
      record === undefined || record.checkpoint === 0
        ? null
        : {
            index: record.appliedIndex,
            term: record.appliedTerm,
            digest: Buffer.from(record.digest).toString('hex'),
          };
    const level = join(directory, STORE_DIRECTORY);
    if ((await namesIn(level)).length === 0) {
      return { ...NOTHING, confirmed, isGone: true, isSound };
    }
    const found = await verifyLevel({ directory: level, known, readOnly: true, onDamage });
    const { tableCount: tables, checkedBytes: bytes, cutBytes: tailBytes } = found;
    return { tables, bytes, tailBytes, isGone: false, confirmed, isSound };
  } catch (error) {
    if (!(error instanceof StoreDamageError)) throw error;
    onDamage(error);
    return { ...NOTHING, isSound };
  }
}
