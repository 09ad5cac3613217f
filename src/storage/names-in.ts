/**
 * What a directory holds that may never have been made: nothing then. Any other failure is thrown, for
 * a directory that cannot be read is not empty.
 */
import { readdir } from 'node:fs/promises';

export async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
