/**
 * One process per data directory. Node offers no file lock, LevelDB takes a real one (fcntl, released
 * by the kernel when the process dies, seen across containers that share the volume), so an empty
 * LevelDB under `<dir>/lock` is the lock.
 */
import { mkdir } from 'node:fs/promises';
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

export async function lockDirectory(directory: string): Promise<DirectoryLock> {
  const path = join(directory, 'lock');
  await mkdir(path, { recursive: true });
  const level = new ClassicLevel(path, { createIfMissing: true });
  try {
    await level.open();
  } catch (error) {
    if (isLocked(error)) throw new DirectoryLocked(directory);
    throw error;
  }
  return { release: () => level.close() };
}

function isLocked(error: unknown): boolean {
  const cause =
    error !== null && typeof error === 'object' && 'cause' in error ? error.cause : null;
  const code = cause !== null && typeof cause === 'object' && 'code' in cause ? cause.code : null;
  return code === 'LEVEL_LOCKED';
}
