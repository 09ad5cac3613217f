/**
 * Where `queen backup` writes. The target is absent, empty or an earlier backup; everything else is refused
 * before a byte is written. The new backup grows beside it and takes its place when it is whole and
 * synced, so a run that fails or is killed leaves the earlier one as it was. The lock lies beside what is
 * written, so that it is held until that stands in its place: another run would begin by removing it.
 *
 *   DIR   DIR.partial/{backup,lock}   the one being written     DIR.replaced   the earlier one, for two renames
 */
import { realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { groupId } from '../../common/ids.js';
import { makeDirectory, namesIn, syncDirectory } from '../../storage/index.js';
import { DirectoryLocked, lockDirectory, type DirectoryLock } from '../directory-lock.js';
import { groupDirectory, GROUPS } from '../group-directories.js';
import { groupIds } from '../group-options.js';
import { isThere } from '../is-there.js';
import { IDENTITY_FILE, parseSegmentFileName } from '../wal/index.js';
import { DESCRIPTOR_FILE, ROWS_FILE, SEGMENTS_DIRECTORY } from './descriptor.js';
import { groupsOf } from './restore-groups.js';
import { readBackup } from './restore.js';

const LOCK = 'lock';
const GROWING = 'backup';
const BACKUP_NAMES = [DESCRIPTOR_FILE, ROWS_FILE, SEGMENTS_DIRECTORY, GROUPS];

export interface BackupTarget {
  /** Absent, and below a directory that is locked; the backup is written into it. */
  readonly growing: string;
  /** What is written is whole: it takes the place of the target. */
  finish(): Promise<void>;
  /** Removes what was written; the target stays as it was. */
  discard(): Promise<void>;
}

/** Throws when `to` holds anything that a backup may not replace. */
export async function openBackupTarget(to: string): Promise<BackupTarget> {
  const target = (await isThere(to)) ? await realpath(to) : resolve(to);
  const [partial, replaced] = [`${target}.partial`, `${target}.replaced`];
  await refuseOther(target);
  await makeDirectory(dirname(target));
  await refuseMount(target);
  await refuseInside(dirname(target));
  const growing = join(partial, GROWING);
  await refuseForeign(partial, [GROWING, LOCK], 'is the place where the backup grows');
  await refuseForeign(growing, BACKUP_NAMES, 'is the place where the backup grows');
  await makeDirectory(partial);
  const lock = await lockOf(partial);
  try {
    // Under the lock: another run would be between its two renames.
    await putBack(target, replaced);
    await refuseOther(target);
    await refuseIncomplete(target);
    // What is left in the target now is a whole backup, or nothing.
    await rm(replaced, { recursive: true, force: true });
    await rm(growing, { recursive: true, force: true });
  } catch (error) {
    await leave(lock, partial);
    throw error;
  }
  return {
    growing,
    finish: async () => {
      await syncDirectory(growing);
      await swap({ target, growing, replaced });
      await leave(lock, partial);
    },
    discard: () => leave(lock, partial),
  };
}

async function swap(
  at: Readonly<Record<'target' | 'growing' | 'replaced', string>>,
): Promise<void> {
  const { target, growing, replaced } = at;
  const isReplacing = (await namesIn(target)).length > 0;
  if (isReplacing) await rename(target, replaced);
  try {
    await rename(growing, target);
  } catch (error) {
    if (isReplacing) await rename(replaced, target);
    throw error;
  }
  await syncDirectory(dirname(target));
  await rm(replaced, { recursive: true, force: true });
}

/**
 * A run was killed between its two renames, or before it removed what it had replaced. Somebody may have
 * made the directory again meanwhile: empty, it gives way to the backup.
 */
async function putBack(target: string, replaced: string): Promise<void> {
  if (!(await isThere(replaced))) return;
  await refuseForeign(replaced, BACKUP_NAMES, 'is the place where the earlier backup is put aside');
  const isVacant = !(await isThere(target)) || (await isEmptyDirectory(target));
  if (isVacant) await rename(replaced, target);
}

async function isEmptyDirectory(path: string): Promise<boolean> {
  return (await stat(path)).isDirectory() && (await namesIn(path)).length === 0;
}

async function refuseOther(target: string): Promise<void> {
  if (!(await isThere(target))) return;
  if (!(await stat(target)).isDirectory()) throw refusal(target, 'is a file');
  const names = await namesIn(target);
  if (names.length === 0) return;
  if (isDataDirectory(names)) throw refusal(target, 'is the data directory of a node');
  await refuseForeign(target, BACKUP_NAMES, 'is not empty');
}

async function refuseIncomplete(target: string): Promise<void> {
  if ((await namesIn(target)).length === 0) return;
  try {
    for (const id of groupIds(await groupsOf(target))) {
      await readBackup(groupDirectory(target, groupId(id)));
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(
      `${target} is not empty and no complete backup (${why}): nothing was written. Name another ` +
        'directory, or remove it first if it is of no use.',
      { cause: error },
    );
  }
}

function isDataDirectory(names: readonly string[]): boolean {
  const has = (name: string): boolean => names.includes(name);
  return has(IDENTITY_FILE) || has(LOCK) || has('raft-groups') || (has('wal') && has('store'));
}

/** Nothing but what a backup is made of, down to the names of its segments. */
async function refuseForeign(
  directory: string,
  allowed: readonly string[],
  what: string,
): Promise<void> {
  for (const name of await namesIn(directory)) {
    const path = join(directory, name);
    if (!allowed.includes(name)) throw refusal(directory, `${what} and holds ${name}`);
    if (name === SEGMENTS_DIRECTORY) {
      const other = (await namesIn(path)).find((file) => parseSegmentFileName(file) === undefined);
      if (other !== undefined) throw refusal(directory, `${what} and holds ${name}/${other}`);
    }
    if (name !== GROUPS) continue;
    for (const group of await namesIn(path)) {
      if (!/^g\d+$/.test(group)) throw refusal(directory, `${what} and holds ${name}/${group}`);
      await refuseForeign(join(path, group), BACKUP_NAMES, what);
    }
  }
}

/** A directory something is mounted on cannot be replaced by a rename. */
async function refuseMount(target: string): Promise<void> {
  if (!(await isThere(target))) return;
  const [own, above] = [await stat(target), await stat(dirname(target))];
  if (own.dev === above.dev && own.ino !== above.ino) return;
  const below = join(target, 'backup');
  throw refusal(target, 'is where a filesystem is mounted', `Name a directory in it: ${below}`);
}

/** Nothing but the broker's own may grow in a data directory. */
async function refuseInside(parent: string): Promise<void> {
  const has = (name: string): Promise<boolean> => isThere(join(parent, name));
  // Asked by name: a directory on the way may be passed and not be listed.
  if ((await has(IDENTITY_FILE)) && (await has('wal'))) {
    throw refusal(parent, 'is the data directory of a node, and the backup would lie in it');
  }
  if (dirname(parent) !== parent) await refuseInside(dirname(parent));
}

async function lockOf(partial: string): Promise<DirectoryLock> {
  try {
    return await lockDirectory(partial);
  } catch (error) {
    if (!(error instanceof DirectoryLocked)) throw error;
    throw new Error(`another "queen backup" writes ${partial}: wait for it, or name another`, {
      cause: error,
    });
  }
}

/** What is removed is still locked, so it is never that of another run. */
async function leave(lock: DirectoryLock, partial: string): Promise<void> {
  try {
    await rm(partial, { recursive: true, force: true });
  } finally {
    await lock.release();
  }
}

function refusal(
  directory: string,
  why: string,
  cure = `Name a directory that is absent, empty or an earlier backup, like ${join(dirname(directory), `${basename(directory)}-backup`)}`,
): Error {
  return new Error(`${directory} ${why}: nothing was written. ${cure}.`);
}
