/**
 * Compares the directory listing with the manifest. The only tolerated strangers are what a crash in
 * the middle of a roll, a removal or a rewrite can leave; they were never used and are dropped once
 * everything else is verified. Any other segment file means that files were mixed or lost.
 */
import { FOREIGN_FILE_CURE, WalDamageError } from './errors.js';
import type { FilePort } from './file-port.js';
import { parseSegmentFileName, type Manifest, type SegmentRow } from './manifest.js';
import { MAX_HEADER_BYTES, readSegmentHeader } from './segment-header.js';

export interface DirectorySurvey {
  /** Names to unlink once the log is known to be sound. */
  readonly leftovers: readonly string[];
}

export async function surveyDirectory(
  place: { readonly files: FilePort; readonly directory: string },
  manifest: Manifest,
): Promise<DirectorySurvey> {
  const { files, directory } = place;
  const rows = new Map(manifest.segments.map((row) => [row.sequence, row]));
  const active = manifest.segments[manifest.segments.length - 1] as SegmentRow;
  const leftovers: string[] = [];
  for (const name of (await files.readdir(directory)).sort()) {
    if (name.endsWith('.tmp')) leftovers.push(name);
    if (!name.endsWith('.seg')) continue;
    const path = `${directory}/${name}`;
    const parsed = parseSegmentFileName(name);
    if (!parsed) throw stranger(path, 'is not a name this log gives to its files');
    const row = rows.get(parsed.sequence);
    if (row) {
      if (row.state === 'removing') leftovers.push(name);
      else if (row.revision !== parsed.revision) leftovers.push(staleRevision(path, name, row));
      continue;
    }
    if (parsed.sequence !== active.sequence + 1 || parsed.revision !== 0) {
      throw stranger(path, 'is not listed in the manifest');
    }
    if (!(await isUnused(files, path))) {
      throw stranger(path, 'holds records but is not listed in the manifest');
    }
    leftovers.push(name);
  }
  return { leftovers };
}

/**
 * A rewrite leaves the old revision before it is unlinked, or the new one before it is listed. The
 * active segment is never rewritten.
 */
function staleRevision(path: string, name: string, row: SegmentRow): string {
  const { revision = 0 } = parseSegmentFileName(name) ?? {};
  const isNeighbour = Math.abs(revision - row.revision) === 1;
  if (row.state === 'retired' || (row.state === 'sealed' && isNeighbour)) return name;
  throw stranger(path, 'is another revision of a live segment');
}

/** True when a file was created by a roll and never written to. */
async function isUnused(files: FilePort, path: string): Promise<boolean> {
  const file = await files.open(path, 'read');
  try {
    const sizeBytes = await file.sizeBytes();
    try {
      return (await readSegmentHeader(file, path)).sizeBytes === sizeBytes;
    } catch (error) {
      if (error instanceof WalDamageError) return sizeBytes <= MAX_HEADER_BYTES;
      throw error;
    }
  } finally {
    await file.close();
  }
}

function stranger(file: string, reason: string): WalDamageError {
  return new WalDamageError({ file, byteOffset: 0, reason, cure: FOREIGN_FILE_CURE });
}
