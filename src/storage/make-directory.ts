/**
 * Makes a directory with everything above it. Not `mkdir` with `recursive`: below /proc, where a name is
 * refused as if its parent were missing, Node tries that for ever. Fails with the path in plain words.
 */
import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

export async function makeDirectory(path: string): Promise<void> {
  if ((await attempt(path)) !== 'ENOENT') return;
  const parent = dirname(path);
  if (parent !== path) await makeDirectory(parent);
  if ((await attempt(path)) === 'ENOENT')
    throw failure(path, 'its filesystem takes no directories');
}

/** ENOENT: what is above it has to be made first. */
async function attempt(path: string): Promise<'ENOENT' | null> {
  try {
    await mkdir(path);
    return null;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return code;
    if (code === 'ENOTDIR') throw failure(path, 'a name in this path is a file', error);
    if (await isDirectory(path)) return null;
    throw failure(path, code === 'EEXIST' ? 'a file has this name' : message, error);
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    // Told by the failure that led here.
    return false;
  }
}

function failure(path: string, why: string, cause?: unknown): Error {
  return new Error(`the directory ${path} cannot be made: ${why}`, { cause });
}
