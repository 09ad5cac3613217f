/**
 * Verifies the runs of an id index that is not open, page by page, and writes nothing. A damaged one is
 * named; the index is derived, so nothing else depends on it.
 */
import { join } from 'node:path';
import { namesIn } from '../names-in.js';
import { IdRun } from './id-run.js';
import { IdRunDamage, pageCount } from './run-format.js';

/** Names of the runs that are whole. */
export async function verifyRuns(
  directory: string,
  damaged: (error: IdRunDamage) => void,
): Promise<string[]> {
  const sound: string[] = [];
  for (const name of (await namesIn(directory)).sort()) {
    if (!name.endsWith('.run')) continue;
    try {
      await verifyRun(join(directory, name));
      sound.push(name);
    } catch (error) {
      if (!(error instanceof IdRunDamage)) throw error;
      damaged(error);
    }
  }
  return sound;
}

async function verifyRun(path: string): Promise<void> {
  const run = await IdRun.open(path);
  try {
    const pages = pageCount(run.head.slots);
    for (let page = 0; page < pages; page += 1) await run.readPage(page);
  } finally {
    await run.close();
  }
}
