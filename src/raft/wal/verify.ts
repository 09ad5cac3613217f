/**
 * Verifies a log that is not open, and writes nothing: manifest, every record of every segment (retired
 * and rewritten ones too), the order of segments, terms and hard state, and the tail of the active one.
 * It goes on after damage, so that all of it is told at once; the words are those of a refused start.
 */
import { examineSegment, Salvage, wantedIndexes, type Examined, type LogPlace } from './examine.js';
import { REPLACE_NODE_CURE, WalDamageError } from './errors.js';
import type { FilePort } from './file-port.js';
import { readManifest, type Manifest, type SegmentRow } from './manifest.js';
import { inspectWal } from './recovery.js';
import type { HardState } from './types.js';
import { missingManifest } from './wal-creation.js';

/** Entries that are named one by one in a line. */
const MAX_NAMED = 20;

export interface WalVerification extends LogPlace {
  damaged(error: WalDamageError): void;
  /** Something to know that is no damage. */
  noted(line: string): void;
}

export interface VerifiedWal {
  /** Sealed and retired segments read, and their bytes. */
  readonly segments: number;
  readonly bytes: number;
  /** Null without a manifest that can be read. */
  readonly rows: readonly SegmentRow[] | null;
  /** What a start would find; null when it would be refused. */
  readonly found: FoundLog | null;
}

export interface FoundLog {
  readonly firstIndex: number;
  readonly lastIndex: number;
  readonly lastTerm: number;
  readonly hardState: HardState;
}

export async function verifyWal(place: WalVerification): Promise<VerifiedWal> {
  const manifest = await orTold(place, () => presentManifest(place));
  if (manifest === null) return { segments: 0, bytes: 0, rows: null, found: null };
  let segments = 0;
  let bytes = 0;
  const told = new Set<string>();
  const tell = (error: WalDamageError): void => {
    if (!told.has(error.message)) place.damaged(error);
    told.add(error.message);
  };
  for (const row of manifest.segments) {
    if (row.state !== 'sealed' && row.state !== 'retired') continue;
    const examined = await examineSegment(place, row, true);
    segments += 1;
    bytes += row.sizeBytes;
    if (examined.damage === null) continue;
    tell(examined.damage);
    await tellEntries(place, examined);
  }
  const found = await orTold({ ...place, damaged: tell }, () => inspect(place, manifest));
  return { segments, bytes, rows: manifest.segments, found };
}

async function presentManifest({ files, directory }: LogPlace): Promise<Manifest> {
  const manifest = await readManifest(files, directory);
  if (manifest === undefined) throw missingManifest(directory);
  return manifest;
}

async function orTold<T>(
  { damaged }: Pick<WalVerification, 'damaged'>,
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof WalDamageError)) throw error;
    damaged(error);
    return null;
  }
}

async function inspect(place: WalVerification, manifest: Manifest): Promise<FoundLog> {
  const { directory, noted } = place;
  const { file, path, sizeBytes, recovered, survey, terms } = await inspectWal(
    place,
    manifest,
    'read',
  );
  await file.close();
  const { keptBytes, tornBy, hardState } = recovered;
  if (tornBy !== undefined) {
    const cut = `the last ${sizeBytes - keptBytes} bytes of ${path} (from byte ${keptBytes})`;
    noted(`${cut} were never confirmed (${tornBy}); the next start cuts them`);
  }
  for (const name of survey.leftovers) {
    noted(`${directory}/${name} is left over; the next start removes it`);
  }
  if (hardState.term < terms.lastTerm) {
    throw new WalDamageError({
      file: path,
      byteOffset: keptBytes,
      reason: `the hard state is of term ${hardState.term}, the log of term ${terms.lastTerm}`,
      cure: REPLACE_NODE_CURE,
    });
  }
  const { baseIndex, last, lastTerm } = terms;
  return { firstIndex: baseIndex + 1, lastIndex: last, lastTerm, hardState };
}

/** Which entries of a damaged segment are hit, where its own table still tells. */
async function tellEntries(place: WalVerification, examined: Examined): Promise<void> {
  if (examined.footer === null) return;
  const wanted = wantedIndexes(examined);
  const lost = await unsound(place.files, examined, wanted);
  const named = lost.slice(0, MAX_NAMED).join(', ') + (lost.length > MAX_NAMED ? ', …' : '');
  const { path } = examined;
  if (lost.length === 0) return place.noted(`all ${wanted.length} entries of ${path} verify`);
  place.noted(`${lost.length} of ${wanted.length} entries of ${path} do not verify: ${named}`);
}

async function unsound(
  files: FilePort,
  examined: Examined,
  wanted: readonly number[],
): Promise<number[]> {
  const salvage = await Salvage.open(files, examined);
  const lost: number[] = [];
  try {
    for (const index of wanted) if ((await salvage.read(index)) === null) lost.push(index);
  } finally {
    await salvage.close();
  }
  return lost;
}
