/**
 * Where LevelDB's own log ends: the file that took the last batch and its length. Asked after each
 * synced batch, so that the checkpoint record can tell confirmed bytes from a tail.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export interface LogPosition {
  logNumber: number;
  logLength: number;
}

export function logFileName(logNumber: number): string {
  return `${String(logNumber).padStart(6, '0')}.log`;
}

/**
 * The end of the newest log. A log that grew since `previous` took the batch; else LevelDB has
 * started a new file, found by listing.
 */
export async function findLogEnd(
  levelDirectory: string,
  previous: LogPosition | undefined,
): Promise<LogPosition> {
  if (previous !== undefined) {
    const length = await lengthOf(levelDirectory, previous.logNumber);
    if (length > previous.logLength) return { logNumber: previous.logNumber, logLength: length };
  }
  let newest = 0;
  for (const name of await readdir(levelDirectory)) {
    const match = /^(\d+)\.log$/.exec(name);
    if (match !== null) newest = Math.max(newest, Number(match[1]));
  }
  if (newest === 0) throw new Error(`no log file in ${levelDirectory}`);
  return { logNumber: newest, logLength: await lengthOf(levelDirectory, newest) };
}

async function lengthOf(levelDirectory: string, logNumber: number): Promise<number> {
  const file = join(levelDirectory, logFileName(logNumber));
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return found?.size ?? 0;
}
