/**
 * Creates an empty log. The manifest comes last, so a log without one was never used and whatever a
 * crash left of an earlier attempt is thrown away; anything that could have been used is refused.
 */
import { dirname } from 'node:path';
import { logIndex, nodeId, term } from '../../common/ids.js';
import { ActiveSegment } from './active-segment.js';
import { FOREIGN_FILE_CURE, REPLACE_NODE_CURE, WalDamageError } from './errors.js';
import type { FilePort } from './file-port.js';
import {
  MANIFEST_FILE,
  parseSegmentFileName,
  segmentFileName,
  writeManifest,
  type SegmentRow,
} from './manifest.js';
import { segmentSalt } from './segment-header.js';
import { readSyncedMark, SYNCED_FILE, SyncedMarkFile } from './synced-mark.js';
import type { DirectoryIdentity, HardState, LogPosition } from './types.js';

/** What the first segment of a new log says. */
export interface WalSeed {
  /** Opaque membership bytes kept in every segment header. */
  readonly configuration?: Uint8Array;
  /** Recovery generation; 0 unless restored or force-recovered. */
  readonly generation?: number;
  /** Where the log begins; before the first entry by default, a snapshot's position on restore. */
  readonly base?: LogPosition;
  readonly hardState?: HardState;
  /** Segments that lie in the directory already, for the messages in them; ascending. */
  readonly imported?: readonly SegmentRow[];
}

const START: LogPosition = { index: logIndex(0), term: term(0) };
const FIRST_SEQUENCE = 1;
const FIRST_BATCH = 1;

export interface CreationPlace {
  readonly files: FilePort;
  readonly directory: string;
  readonly identity: DirectoryIdentity;
}

/** Creates the files, durable when it resolves. The caller opens the log afterwards as any other. */
export async function createWal(place: CreationPlace, seed: WalSeed): Promise<void> {
  const { files, directory, identity } = place;
  await files.mkdir(directory);
  await files.fsyncDir(dirname(directory));
  const imported = seed.imported ?? [];
  // A gap: an imported segment is not continued by this log's own ones.
  const sequence = Math.max(FIRST_SEQUENCE, ...imported.map((row) => row.sequence + 2));
  await removeUnusedAttempt(place, sequence, imported);
  const base = seed.base ?? START;
  const hardState = seed.hardState ?? { term: base.term, vote: nodeId(0), commit: base.index };
  if (hardState.commit > base.index) throw new RangeError(`commit ${hardState.commit} above base`);
  const active = await ActiveSegment.create(files, directory, {
    sequence,
    salt: segmentSalt(identity.directoryId, sequence, FIRST_BATCH),
    identity,
    generation: seed.generation ?? 0,
    hardState,
    base,
    firstBatch: FIRST_BATCH,
    configuration: seed.configuration ?? new Uint8Array(0),
  });
  await active.file.close();
  const mark = await SyncedMarkFile.open(files, directory, false);
  await mark.close(true);
  await writeManifest(files, directory, {
    identity,
    edit: 1,
    segments: [...imported.map(retiredRow(base.index)), activeRow(sequence, base.index)],
  });
}

/** Entries above the base are not part of what was taken over. */
function retiredRow(baseIndex: number): (row: SegmentRow) => SegmentRow {
  return (row) => ({ ...row, state: 'retired', last: Math.min(row.last, baseIndex) });
}

/** The manifest row of a segment that was just begun. */
export function activeRow(sequence: number, baseIndex: number): SegmentRow {
  return {
    sequence,
    revision: 0,
    state: 'active',
    first: baseIndex + 1,
    last: baseIndex,
    sizeBytes: 0,
    checksum: 0,
  };
}

/** The refusal when a log that must be there has no manifest. */
export function missingManifest(directory: string): WalDamageError {
  return new WalDamageError({
    file: `${directory}/${MANIFEST_FILE}`,
    byteOffset: 0,
    reason: 'the manifest is missing, and with it the knowledge which segments belong to the log',
    cure: REPLACE_NODE_CURE,
  });
}

async function removeUnusedAttempt(
  place: CreationPlace,
  sequence: number,
  imported: readonly SegmentRow[],
): Promise<void> {
  const { files, directory } = place;
  const names = await files.readdir(directory);
  const only = segmentFileName(sequence, 0);
  const kept = new Set(imported.map((row) => segmentFileName(row.sequence, row.revision)));
  for (const name of names) {
    if (name !== only && !kept.has(name) && parseSegmentFileName(name)) {
      throw new WalDamageError({
        file: `${directory}/${name}`,
        byteOffset: 0,
        reason: 'a segment file lies where a new log was to be created',
        cure: FOREIGN_FILE_CURE,
      });
    }
  }
  if (typeof (await readSyncedMark(files, directory)) !== 'string') {
    throw missingManifest(directory);
  }
  const stale = names.filter((name) => [only, SYNCED_FILE].includes(name) || name.endsWith('.tmp'));
  for (const name of stale) await files.unlink(`${directory}/${name}`);
  if (stale.length > 0) await files.fsyncDir(directory);
}
