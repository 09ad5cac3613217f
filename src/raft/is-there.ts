/**
 * Whether a name leads to something. For what looks at a directory nobody serves from; any failure
 * but "no such file" is thrown, for then nothing is known.
 */
import { stat } from 'node:fs/promises';
import { isMissing } from './wal/index.js';

export async function isThere(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}
