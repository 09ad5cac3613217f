/** A backup of a group that serves: a snapshot like those for other members, streamed to whoever asks. */
import { randomBytes } from 'node:crypto';
import { readBackup } from './restore.js';
import { SnapshotFiles, writeFiles } from './snapshot-files.js';
import type { ConfigState } from '../core/index.js';
import { term, type NodeId } from '../../common/ids.js';
import { openSnapshotFrames, snapshotFrames } from '../transport/index.js';
import type { GroupLog } from '../group/ports.js';
import type { ExportSource } from './export.js';

export interface BackupStream {
  bytes(): AsyncIterable<Uint8Array>;
  /** Gives the disk back; call it when the stream has ended, however. Never rejects. */
  release(): Promise<void>;
}

export async function startBackup(
  place: { readonly directory: string; readonly self: NodeId; readonly log: GroupLog },
  source: ExportSource,
  config: ConfigState,
): Promise<BackupStream> {
  // A directory of its own for each: several may be read at once.
  const name = `backup-${randomBytes(6).toString('hex')}`;
  const files = new SnapshotFiles(place.directory, source, name);
  const exported = await files.create({ config });
  const { index, term: at } = exported.meta;
  const offer = {
    ...{ from: place.self, leaderTerm: term(0), index, term: at },
    ...{ clusterVersion: exported.clusterVersion, files: exported.files },
  };
  return {
    bytes: () => snapshotFrames({ offer, bytes: () => exported.bytes() }),
    release: () =>
      exported.release().catch((error: unknown) => {
        // The next start removes it.
        place.log.warn('files of a backup not removed', { error: String(error) });
      }),
  };
}

/**
 * Writes a received backup below `directory`, in the place of what was there but for `spare`; verified
 * and synced when it resolves.
 */
export async function writeBackup(
  directory: string,
  source: AsyncIterable<Uint8Array>,
  spare?: readonly string[],
): Promise<{ readonly index: number; readonly sizeBytes: number }> {
  const opened = await openSnapshotFrames(source);
  if (opened === null) throw new Error('what was received is no backup');
  const { offer, bytes } = opened;
  await writeFiles(directory, offer.files, { bytes, ...(spare === undefined ? {} : { spare }) });
  const { appliedIndex } = await readBackup(directory);
  const sizeBytes = offer.files.reduce((sum, file) => sum + file.sizeBytes, 0);
  return { index: appliedIndex, sizeBytes };
}
