/**
 * Makes a data directory from a backup: the state of its moment, consumer positions included, owned by
 * one node alone and in a new recovery generation, so that nodes with the former data are refused.
 * The directory must not hold anything yet. A file says until the end that it is unfinished: an attempt
 * that was killed is neither continued nor started from.
 */
import { rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { logIndex, nodeId } from '../../common/ids.js';
import { membersKey } from '../../machine/tables/keyspaces.js';
import { makeDirectory, namesIn, syncDirectory } from '../../storage/index.js';
import { lockDirectory, type DirectoryLock } from '../directory-lock.js';
import { encodeMembers, firstMembers, type MemberAddress } from '../group/cluster/members.js';
import { isOfVolume, refuseHalfRestored, RESTORING_FILE } from '../own-directory.js';
import { markDirectoryReady, NodeFilePort, openIdentity, readWholeFile } from '../wal/index.js';
import { decodeDescriptor, DESCRIPTOR_FILE, type SnapshotDescriptor } from './descriptor.js';
import { writeSynced } from './export.js';
import { buildLog, buildStore } from './install.js';
import { filesOf } from './snapshot-files.js';

export interface RestoreOptions {
  /** The backup. */
  readonly from: string;
  readonly directory: string;
  readonly nodeId: number;
  readonly clusterId: string;
  /** Address of the only member; null for a single-node broker. */
  readonly member: MemberAddress | null;
  /** The one name the directory may hold already. */
  readonly besides?: string;
}

export async function restoreSnapshot(options: RestoreOptions): Promise<SnapshotDescriptor> {
  const { from, directory, clusterId } = options;
  const descriptor = await readBackup(from);
  await makeDirectory(directory);
  await refuseHalfRestored(directory);
  const names = await namesIn(directory);
  const present = names.filter((name) => name !== options.besides && !isOfVolume(name));
  if (present.length > 0) {
    throw new Error(`${directory} is not empty (${present[0]}…): restore into an empty directory`);
  }
  const lock = await lockUnfinished(directory);
  try {
    const files = new NodeFilePort();
    await files.fsyncDir(dirname(directory));
    const expected = { clusterId, nodeId: nodeId(options.nodeId) };
    const { identity } = await openIdentity({ files, directory, expected });
    const generation = descriptor.generation + 1;
    const row = { key: membersKey(), value: memberRow(options, descriptor, generation) };
    await buildStore(directory, from, { descriptor, row });
    await buildLog(directory, from, { identity, descriptor, old: null, generation });
    await syncDirectory(directory);
    await markDirectoryReady(files, directory, identity);
    await rm(join(directory, RESTORING_FILE));
    await syncDirectory(directory);
  } finally {
    await lock.release();
  }
  return descriptor;
}

/** The mark comes first: also the lock is something that a start does not mind. */
async function lockUnfinished(directory: string): Promise<DirectoryLock> {
  const mark = join(directory, RESTORING_FILE);
  await writeSynced(mark, new Uint8Array(0));
  await syncDirectory(directory);
  try {
    return await lockDirectory(directory);
  } catch (error) {
    // A node began here in the same moment; nothing of this attempt is in its way.
    await rm(mark, { force: true });
    throw error;
  }
}

/** The descriptor of a complete backup. */
export async function readBackup(from: string): Promise<SnapshotDescriptor> {
  const path = join(from, DESCRIPTOR_FILE);
  const bytes = await readWholeFile(new NodeFilePort(), path);
  if (bytes === undefined) throw new Error(`${from} is no complete backup: ${path} is missing`);
  const descriptor = decodeDescriptor(path, bytes);
  for (const file of filesOf(descriptor)) {
    const { size } = await stat(join(from, file.path));
    if (size !== file.sizeBytes) {
      throw new Error(`${file.path} of the backup has ${size} bytes instead of ${file.sizeBytes}`);
    }
  }
  return descriptor;
}

/** Null: a single-node broker has no members. */
function memberRow(
  { nodeId: id, member }: RestoreOptions,
  { appliedIndex }: SnapshotDescriptor,
  generation: number,
): Uint8Array | null {
  if (member === null) return null;
  const self = nodeId(id);
  const members = firstMembers([self], new Map([[self, member]]));
  return encodeMembers({ ...members, index: logIndex(appliedIndex), generation });
}
