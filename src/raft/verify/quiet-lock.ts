/**
 * The lock of a data directory, taken without writing into it: LevelDB locks the file its own LOCK leads
 * to, so a LevelDB in the scratch whose LOCK is a link to that of the directory holds the real lock.
 * Nothing else may open that file meanwhile: closing it would let the lock go.
 */
import { mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ClassicLevel } from 'classic-level';
import { DirectoryLocked, isLocked, type DirectoryLock } from '../directory-lock.js';
import { isThere } from '../is-there.js';

const FREE: DirectoryLock = { release: () => Promise.resolve() };

/** Throws DirectoryLocked. A directory without a lock file is used by nobody. */
export async function lockQuietly(
  directory: string,
  scratch: string,
  noted: (line: string) => void,
): Promise<DirectoryLock> {
  const file = join(resolve(directory), 'lock', 'LOCK');
  if (!(await isThere(file))) return FREE;
  await mkdir(scratch, { recursive: true });
  await symlink(file, join(scratch, 'LOCK'));
  const level = new ClassicLevel(scratch, { createIfMissing: true });
  try {
    await level.open();
  } catch (error) {
    if (isLocked(error)) throw new DirectoryLocked(directory);
    const { cause } = error as Error;
    noted(`the lock was not taken (${String(cause)}): no broker may run in ${directory} meanwhile`);
    return FREE;
  }
  return { release: () => level.close() };
}
