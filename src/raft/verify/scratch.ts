/**
 * A directory that opens like the verified one and may be written to: what is never written again
 * (sealed segments, tables, runs of ids) are symbolic links, the rest is copied. So opening and replaying
 * there changes nothing in the original, and costs about one segment and LevelDB's log.
 */
import { chmod, copyFile, mkdir, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CHECKPOINT_FILE, namesIn, STORE_DIRECTORY } from '../../storage/index.js';
import {
  IDENTITY_FILE,
  isMissing,
  MANIFEST_FILE,
  segmentFileName,
  SYNCED_FILE,
  type SegmentRow,
} from '../wal/index.js';

/** The original may be read-only. */
const WRITABLE = 0o600;
/** LevelDB's own notes: locks are not shared, log lines of the past not needed. */
const LEFT_OUT: ReadonlySet<string> = new Set(['LOCK', 'LOG', 'LOG.old']);

export interface ScratchParts {
  /** Null: without the log. */
  readonly segments: readonly SegmentRow[] | null;
  /** Names of the runs of ids to take along. */
  readonly runs: readonly string[];
}

export async function makeScratch(from: string, to: string, parts: ScratchParts): Promise<void> {
  const place = { from: resolve(from), to };
  await mkdir(to, { recursive: true });
  await copyPresent(place, IDENTITY_FILE);
  await copyPresent(place, CHECKPOINT_FILE);
  await takeStore(place);
  await mkdir(join(to, 'ids'));
  for (const run of parts.runs) await linkOne(place, join('ids', run));
  if (parts.segments === null) return;
  await mkdir(join(to, 'wal'));
  for (const name of [MANIFEST_FILE, SYNCED_FILE]) await copyPresent(place, join('wal', name));
  for (const { sequence, revision, state } of parts.segments) {
    const path = join('wal', segmentFileName(sequence, revision));
    if (state === 'active') await copyPresent(place, path);
    else if (state !== 'removing') await linkOne(place, path);
  }
}

interface Place {
  readonly from: string;
  readonly to: string;
}

async function takeStore(place: Place): Promise<void> {
  const names = await namesIn(join(place.from, STORE_DIRECTORY));
  await mkdir(join(place.to, STORE_DIRECTORY));
  for (const name of names) {
    if (LEFT_OUT.has(name)) continue;
    const path = join(STORE_DIRECTORY, name);
    if (/\.(ldb|sst)$/.test(name)) await linkOne(place, path);
    else await copyPresent(place, path);
  }
}

/** Every file of a backup, as links. */
export async function linkBackup(
  from: string,
  to: string,
  paths: readonly string[],
): Promise<void> {
  await mkdir(join(to, 'wal'), { recursive: true });
  for (const path of paths) await linkOne({ from: resolve(from), to }, path);
}

function linkOne({ from, to }: Place, path: string): Promise<void> {
  return symlink(join(from, path), join(to, path));
}

async function copyPresent({ from, to }: Place, path: string): Promise<void> {
  try {
    await copyFile(join(from, path), join(to, path));
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  await chmod(join(to, path), WRITABLE);
}
