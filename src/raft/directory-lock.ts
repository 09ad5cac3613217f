/**
 * One process per data directory. Node offers no file lock, LevelDB takes a real one (fcntl, released
 * by the kernel when the process dies, seen across containers that share the volume), so an empty
 * LevelDB under `<dir>/lock` is the lock. It holds no data: damaged, it is made anew.
 */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ClassicLevel } from 'classic-level';

export class DirectoryLocked extends Error {
  override readonly name = 'DirectoryLocked';

  constructor(directory: string) {
    super(
      `the data directory ${directory} is in use by another process. Stop that process, or give ` +
        `this one its own QUEEN_RAFT_DIR; a directory never serves two nodes.`,
    );
  }
}

export interface DirectoryLock {
  release(): Promise<void>;
}

/** LevelDB's file the lock is taken on; it outlives every repair. */
const LOCK_FILE = 'LOCK';

export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const path = join(directory, 'lock');
  await mkdir(path, { recursive: true });
  const level = (await openLock(path, directory)) ?? (await openAnew(path, directory));
  return { release: () => level.close() };
}

/** Undefined when the files of the lock are damaged: LevelDB reads them with the lock in its hands. */
async function openLock(path: string, directory: string): Promise<ClassicLevel | undefined> {
  const level = new ClassicLevel(path, { createIfMissing: true });
  try {
    await level.open();
    return level;
  } catch (error) {
    if (isLocked(error)) throw new DirectoryLocked(directory);
    return undefined;
  }
}

async function openAnew(path: string, directory: string): Promise<ClassicLevel> {
  for (const name of await readdir(path)) {
    if (name !== LOCK_FILE) await rm(join(path, name), { recursive: true });
  }
  const level = await openLock(path, directory);
  if (level !== undefined) return level;
  throw new Error(
    `the lock under ${path}/ cannot be taken: it is neither held nor free. Check the permissions of ` +
      'the data directory and its disk, then start the node again; the lock holds no data.',
  );
}

/** LevelDB says that somebody else holds it. */
export function isLocked(error: unknown): boolean {
  const cause =
    error !== null && typeof error === 'object' && 'cause' in error ? error.cause : null;
  const code = cause !== null && typeof cause === 'object' && 'code' in cause ? cause.code : null;
  return code === 'LEVEL_LOCKED';
}
