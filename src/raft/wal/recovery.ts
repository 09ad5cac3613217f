/**
 * Opens what is on disk. First everything is verified without changing a byte; only when the whole
 * set is sound are leftovers of an interrupted roll removed, the torn tail cut and everything synced
 * again (pages that survived a kill may not be on the disk yet). Never repairs damage.
 */
import { logIndex } from '../../common/ids.js';
import { ActiveSegment } from './active-segment.js';
import { recoverActive, type RecoveredActive } from './active-recovery.js';
import { REPLACE_NODE_CURE, WalDamageError } from './errors.js';
import { isMissing, readUpTo, writeFully, type FilePort, type OpenFile } from './file-port.js';
import { readFooter, readTrailer, type SegmentSummary, type TermRun } from './footer.js';
import { checkSameDirectory } from './identity.js';
import { surveyDirectory, type DirectorySurvey } from './directory-survey.js';
import { MANIFEST_FILE, segmentFileName, type Manifest, type SegmentRow } from './manifest.js';
import { readSegmentHeader, type SegmentHeader } from './segment-header.js';
import type { Segment } from './segment-set.js';
import { readSyncedMark, SyncedMarkFile, type SyncedMark } from './synced-mark.js';
import { TermRuns } from './term-runs.js';
import type { DirectoryIdentity, HardState, WalLog } from './types.js';

/** Piece in which the last batch is written again. */
const REWRITE_BYTES = 4 * 1024 * 1024;

interface LogSource {
  readonly files: FilePort;
  readonly directory: string;
  readonly identity: DirectoryIdentity;
}

export interface RecoverySource extends LogSource {
  readonly log: WalLog;
}

export interface RecoveredWal {
  readonly segments: readonly Segment[];
  readonly edit: number;
  readonly active: ActiveSegment;
  readonly terms: TermRuns;
  readonly hardState: HardState;
  readonly mark: SyncedMarkFile;
}

interface Verified {
  readonly segment: Segment;
  readonly header: SegmentHeader;
  readonly headerBytes: number;
  readonly summary: SegmentSummary | undefined;
  /** Only of sealed segments: the raft log needs the terms of its entries. */
  readonly runs: readonly TermRun[];
}

/** What lies on the disk, verified and not changed. Whoever has it closes the file. */
export interface InspectedWal {
  readonly segments: readonly Segment[];
  readonly terms: TermRuns;
  readonly survey: DirectorySurvey;
  readonly hasMark: boolean;
  /** The active segment. */
  readonly file: OpenFile;
  readonly path: string;
  readonly header: SegmentHeader;
  readonly headerBytes: number;
  readonly sizeBytes: number;
  readonly recovered: RecoveredActive;
}

/** Throws WalDamageError where a start is refused; writes nothing. */
export async function inspectWal(
  source: LogSource,
  manifest: Manifest,
  mode: 'read' | 'update',
): Promise<InspectedWal> {
  const { files, directory, identity } = source;
  checkSameDirectory(`${directory}/${MANIFEST_FILE}`, manifest.identity, identity);
  const survey = await surveyDirectory(source, manifest);
  const mark = await readSyncedMark(files, directory);
  const verified: Verified[] = [];
  for (const row of manifest.segments) {
    if (row.state !== 'removing') verified.push(await verifySegment(source, row));
  }
  checkSequence(source, verified);
  const last = verified[verified.length - 1] as Verified;
  const markHere = typeof mark === 'string' ? undefined : markOf(source, mark, last);
  const terms = liveTerms(verified);
  const path = pathOf(source, last.segment.row);
  const { header, headerBytes } = last;
  const file = await files.open(path, mode);
  try {
    const sizeBytes = await file.sizeBytes();
    const recovered = await recoverActive(
      { file, path, header, headerBytes, sizeBytes, mark: markHere },
      terms,
    );
    const { commit } = recovered.hardState;
    if (commit > terms.last) {
      throw damage(path, sizeBytes, `ends at entry ${terms.last}, below the commit ${commit}`);
    }
    return {
      segments: verified.map((v) => v.segment),
      ...{ terms, survey, hasMark: mark !== 'absent' },
      ...{ file, path, header, headerBytes, sizeBytes, recovered },
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

export async function recoverWal(
  source: RecoverySource,
  manifest: Manifest,
): Promise<RecoveredWal> {
  const { files, directory } = source;
  const inspected = await inspectWal(source, manifest, 'update');
  const { file, header, headerBytes, recovered, terms } = inspected;
  try {
    await settle(source, inspected);
    const markFile = await SyncedMarkFile.open(files, directory, inspected.hasMark);
    const { keptBytes, lastBatch, chain, table, hardState } = recovered;
    markFile.write(header.sequence, keptBytes, lastBatch, header.salt);
    const active = new ActiveSegment(file, header, headerBytes, {
      sizeBytes: keptBytes,
      lastBatch,
      chain,
      table,
    });
    return {
      segments: inspected.segments,
      edit: manifest.edit,
      active,
      terms,
      hardState: raiseToBase(hardState, terms.baseIndex),
      mark: markFile,
    };
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function verifySegment(source: LogSource, row: SegmentRow): Promise<Verified> {
  const path = pathOf(source, row);
  const file = await openPresent(source, path);
  try {
    const { header, sizeBytes: headerBytes } = await readSegmentHeader(file, path);
    checkSameDirectory(path, header.identity, originOf(row, header, source));
    if (header.sequence !== row.sequence) {
      throw damage(path, 24, `the file holds segment ${header.sequence}, not ${row.sequence}`);
    }
    const segment: Segment = { row, salt: header.salt, base: header.base };
    if (row.state === 'active') {
      return { segment, header, headerBytes, summary: undefined, runs: [] };
    }
    const sizeBytes = await file.sizeBytes();
    if (sizeBytes !== row.sizeBytes) {
      const at = Math.min(sizeBytes, row.sizeBytes);
      throw damage(path, at, `the file has ${sizeBytes} bytes instead of ${row.sizeBytes}`);
    }
    const { summary, checksum } = await readTrailer(file, path, sizeBytes);
    const sound =
      checksum === row.checksum &&
      summary.sequence === row.sequence &&
      (row.last < row.first || (row.first >= summary.first && row.last <= summary.last));
    if (!sound) throw damage(path, summary.footerPosition, 'the footer contradicts the manifest');
    if (row.state === 'retired') return { segment, header, headerBytes, summary, runs: [] };
    const { runs } = await readFooter(file, path, { sizeBytes, salt: header.salt });
    return { segment, header, headerBytes, summary, runs };
  } finally {
    await file.close();
  }
}

/** Every live segment must begin where the one before it ends, in entries, batches and hard state. */
function checkSequence(source: LogSource, verified: readonly Verified[]): void {
  for (let i = 1; i < verified.length; i += 1) {
    const before = verified[i - 1] as Verified;
    const here = verified[i] as Verified;
    const path = pathOf(source, here.segment.row);
    if (here.segment.row.sequence > before.segment.row.sequence + 1) {
      if (before.segment.row.state !== 'retired') throw damage(path, 24, 'a segment is missing');
    } else if (before.summary) {
      if (here.header.firstBatch !== before.summary.batch + 1) {
        throw damage(path, 104, 'the batch numbers do not continue the segment before');
      }
      if (here.header.hardState.term < before.summary.hardState.term) {
        throw damage(path, 64, 'the hard state is older than in the segment before');
      }
    }
    if (before.segment.row.state === 'retired') continue;
    const { row } = here.segment;
    const { last } = before.segment.row;
    // A segment emptied by a truncation keeps the base it began with.
    const voided = row.state !== 'active' && row.last < row.first;
    if (row.first !== last + 1 || (!voided && here.header.base.index !== last)) {
      throw damage(path, 88, `begins after entry ${here.header.base.index}, not after ${last}`);
    }
  }
}

function markOf(source: LogSource, mark: SyncedMark, active: Verified): SyncedMark | undefined {
  const { sequence } = active.segment.row;
  if (mark.segment > sequence) {
    throw damage(
      `${source.directory}/${MANIFEST_FILE}`,
      0,
      `ends with segment ${sequence}, but segment ${mark.segment} was already written to`,
    );
  }
  if (mark.segment < sequence) return undefined;
  if (mark.salt !== active.header.salt) {
    throw damage(pathOf(source, active.segment.row), 20, 'is not the file that was synced last');
  }
  return mark;
}

function liveTerms(verified: readonly Verified[]): TermRuns {
  const live = verified.filter((v) => v.segment.row.state !== 'retired');
  const { base } = (live[0] as Verified).segment;
  const terms = new TermRuns(base.index, base.term);
  for (const { segment, runs } of live) {
    const { first, last } = segment.row;
    for (let i = 0; i < runs.length; i += 1) {
      const run = runs[i] as TermRun;
      const end = Math.min(last, (runs[i + 1]?.start ?? Number.MAX_SAFE_INTEGER) - 1);
      const start = Math.max(first, run.start);
      if (start > end) continue;
      terms.push(start, run.term);
      terms.push(end, run.term);
    }
  }
  return terms;
}

/** The only part of recovery that writes. Everything it does can be repeated after another crash. */
async function settle(source: RecoverySource, settlement: InspectedWal): Promise<void> {
  const { files, directory, log } = source;
  const { file, path, sizeBytes, recovered, survey } = settlement;
  const { keptBytes, lastBatchStart, tornBy } = recovered;
  if (keptBytes < sizeBytes) {
    log('wal_tail_cut', { file: path, byte: keptBytes, cutBytes: sizeBytes - keptBytes, tornBy });
    await file.truncate(keptBytes);
  }
  // A failed sync may have marked pages clean that never reached the disk: write them again.
  for (let at = lastBatchStart; at < keptBytes; at += REWRITE_BYTES) {
    const piece = await readUpTo(file, at, Math.min(REWRITE_BYTES, keptBytes - at));
    await writeFully(file, [piece], at);
  }
  await file.fdatasync();
  for (const name of survey.leftovers) {
    log('wal_leftover_removed', { file: `${directory}/${name}` });
    await files.unlink(`${directory}/${name}`);
  }
  await files.fsyncDir(directory);
}

/** Only committed entries are ever purged, so the base is committed even if that was never stored. */
function raiseToBase(hardState: HardState, baseIndex: number): HardState {
  if (hardState.commit >= baseIndex) return hardState;
  return { ...hardState, commit: logIndex(baseIndex) };
}

/** A segment that a snapshot brought says whose it was, until it is rewritten here. */
function originOf(
  row: SegmentRow,
  { identity: found }: SegmentHeader,
  { identity }: LogSource,
): DirectoryIdentity {
  if (row.origin === undefined || row.state !== 'retired') return identity;
  return found.directoryId === row.origin ? found : identity;
}

async function openPresent(source: LogSource, path: string): Promise<OpenFile> {
  try {
    return await source.files.open(path, 'read');
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw damage(path, 0, 'the file is listed in the manifest but missing');
  }
}

function pathOf(source: LogSource, row: SegmentRow): string {
  return `${source.directory}/${segmentFileName(row.sequence, row.revision)}`;
}

function damage(file: string, byteOffset: number, reason: string): WalDamageError {
  return new WalDamageError({ file, byteOffset, reason, cure: REPLACE_NODE_CURE });
}
