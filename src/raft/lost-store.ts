/**
 * A single node whose `store/` is gone as a whole (cluster.md §2.5). The store is a checkpoint of the log:
 * while the log still begins with its first entry the state is made anew from it, else the start is
 * refused. Single files missing from the store are damage and not looked at here; a member has peers
 * and is replaced, for the first membership is not in its log.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  appliedIndexOf,
  CHECKPOINT_FILE,
  namesIn,
  STORE_DIRECTORY,
  syncDirectory,
} from '../storage/index.js';
import { RecoveryRefusal } from './group/recovery.js';
import type { GroupLog } from './group/ports.js';
import type { Wal } from './wal/index.js';

const CURE =
  'In a cluster replace this node: remove the member, empty its data directory and let it join ' +
  'again. On a single node restore a backup.';

export interface LostStoreOptions {
  readonly directory: string;
  readonly wal: Pick<Wal, 'firstIndex' | 'lastIndex'>;
  /** The node may make its state anew. */
  readonly isAlone: boolean;
  readonly log: GroupLog;
}

/** Comes before the store is opened. Throws RecoveryRefusal when the log does not hold it all. */
export async function settleLostStore(options: LostStoreOptions): Promise<void> {
  const { directory, wal, isAlone, log } = options;
  const path = join(directory, STORE_DIRECTORY);
  if ((await namesIn(path)).length > 0) return;
  const durable = await appliedIndexOf(directory);
  if (durable === 0) return;
  if (wal.firstIndex > 1) {
    throw new RecoveryRefusal(
      `Cannot re-apply logs: ${path} is gone and the raft log was purged up to index ` +
        `${wal.firstIndex - 1}. ${CURE}`,
    );
  }
  if (!isAlone || wal.lastIndex < durable) return;
  log.warn('store/ is gone; the state is made anew from the log', { from: 1, to: wal.lastIndex });
  await rm(join(directory, 'ids'), { recursive: true, force: true });
  await syncDirectory(directory);
  // Last: without it nothing was ever confirmed.
  await rm(join(directory, CHECKPOINT_FILE));
  await syncDirectory(directory);
}
