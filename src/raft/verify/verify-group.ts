/**
 * Verifies one raft group of a data directory, or of a backup: the files where they lie, read only; then
 * the state they make, on a scratch.
 */
import { join } from 'node:path';
import { nodeId } from '../../common/ids.js';
import { verifyRuns } from '../../storage/id-index/index.js';
import { verifyStore, type StoreVerification } from '../../storage/index.js';
import { ApplyRecords } from '../apply-records.js';
import { LOCAL, silentLog } from '../group-files.js';
import { isThere } from '../is-there.js';
import { REPAIR_FILE } from '../log-repair.js';
import { pendingSnapshot } from '../snapshot/install.js';
import { readBackup, restoreSnapshot } from '../snapshot/restore.js';
import { DESCRIPTOR_FILE, type SnapshotDescriptor } from '../snapshot/descriptor.js';
import { filesOf, SNAPSHOTS_DIRECTORY } from '../snapshot/snapshot-files.js';
import {
  decodeIdentity,
  examineSegment,
  FOREIGN_FILE_CURE,
  IDENTITY_FILE,
  NodeFilePort,
  readWholeFile,
  verifyWal,
  WalDamageError,
  type DirectoryIdentity,
  type OpenedIdentity,
  type VerifiedWal,
} from '../wal/index.js';
import type { Finding } from './finding.js';
import { Findings } from './finding.js';
import { linkBackup, makeScratch } from './scratch.js';
import { replayState, scanStore, type Moment, type ReplayedState } from './state-replay.js';

export interface GroupReport {
  readonly group: number;
  readonly isSound: boolean;
  readonly findings: readonly Finding[];
  readonly clusterId: string | null;
  readonly nodeId: number | null;
  /** First and last entry of the raft log, term and vote; null where no log could be read. */
  readonly log: {
    readonly firstIndex: number;
    readonly lastIndex: number;
    readonly term: number;
    readonly vote: number;
    readonly commit: number;
  } | null;
  readonly checkpoint: Moment | null;
  readonly end: Moment | null;
  readonly at: Moment | null;
  readonly uncommitted: number;
  readonly read: {
    readonly segments: number;
    readonly segmentBytes: number;
    readonly tables: number;
    readonly tableBytes: number;
    readonly rows: number;
    readonly messages: number;
    readonly deadLetters: number;
    readonly timers: number;
  };
}

export interface GroupPlace {
  readonly group: number;
  readonly directory: string;
  /** A directory of its own, not there yet. */
  readonly scratch: string;
  readonly at: number | null;
}

const BACKUP_CURE =
  'Make another backup, or restore an older one: this one cannot be restored whole.';
const NO_WAL: VerifiedWal = { segments: 0, bytes: 0, rows: null, found: null };
const NO_STORE: StoreVerification = {
  ...{ tables: 0, bytes: 0, tailBytes: 0, isGone: true, confirmed: null, isSound: false },
};

export async function verifyGroup(place: GroupPlace): Promise<GroupReport> {
  const { directory, scratch } = place;
  const findings = new Findings(place.group);
  findings.alias(scratch, directory);
  const opened = await findings.during(() => identityOf(directory));
  if (opened === null) return reportOf(place, findings, {});
  const { identity, ready } = opened;
  const marker = await findings.during(async () => ({ name: await pendingSnapshot(directory) }));
  if (marker === null) return reportOf(place, findings, { identity });
  if (marker.name !== null) return verifyPending(place, findings, { identity, name: marker.name });
  if (!ready) {
    findings.noted(`${directory} never finished its first start: it holds nothing yet`);
    return reportOf(place, findings, { identity });
  }
  await findings.during(() => notes(directory, findings));
  const wal = await verifyWal({
    ...{ files: new NodeFilePort(), directory: join(directory, 'wal'), identity },
    damaged: (error) => findings.damaged(error),
    noted: (line) => findings.noted(line),
  });
  const store = await verifyStore(directory, (error) => findings.damaged(error));
  if (store.tailBytes > 0) {
    const tail = `the last ${store.tailBytes} bytes of the log of ${join(directory, 'store')}`;
    findings.noted(`${tail} were never confirmed; the next start cuts them`);
  }
  const runs = await verifyRuns(join(directory, 'ids'), (error) => findings.damaged(error));
  const state = store.isSound ? await stateOf(place, findings, { identity, wal, runs }) : null;
  if (state?.end === undefined || state.end === null) {
    findings.noted('the state was not made, and what rows point to in the log was not read');
  }
  return reportOf(place, findings, { identity, wal, store, state });
}

async function stateOf(
  { directory, scratch, at }: GroupPlace,
  findings: Findings,
  parts: {
    readonly identity: DirectoryIdentity;
    readonly wal: VerifiedWal;
    readonly runs: readonly string[];
  },
): Promise<ReplayedState> {
  const { identity, wal, runs } = parts;
  const { found } = wal;
  const segments = found === null ? null : wal.rows;
  await makeScratch(directory, scratch, { segments, runs });
  if (found === null) return scanStore(scratch, findings);
  const { commit } = found.hardState;
  return replayState({ directory: scratch, identity, commit, at, findings });
}

/** The next start loads what was received, so that is what is verified. */
async function verifyPending(
  place: GroupPlace,
  findings: Findings,
  { identity, name }: { readonly identity: DirectoryIdentity; readonly name: string },
): Promise<GroupReport> {
  const staged = join(place.directory, SNAPSHOTS_DIRECTORY, name);
  findings.noted(`a received snapshot waits in ${staged}; it is what the next start loads`);
  const parts = await backupParts({ ...place, directory: staged }, findings);
  return reportOf(place, findings, { ...parts, identity });
}

export async function verifyBackup(place: GroupPlace): Promise<GroupReport> {
  const findings = new Findings(place.group, BACKUP_CURE);
  return reportOf(place, findings, await backupParts(place, findings));
}

/** Reads all of it, then restores it into the scratch and looks at what came out. */
async function backupParts(place: GroupPlace, findings: Findings): Promise<ReportParts> {
  const { directory, scratch, at } = place;
  const staged = join(scratch, 'backup');
  const restored = join(scratch, 'restored');
  findings.alias(staged, directory);
  findings.alias(restored, directory);
  const descriptor = await findings.during(() => readBackup(directory));
  if (descriptor === null) return {};
  const wal = await verifyBackupSegments(directory, descriptor, findings);
  const confirmed = {
    index: descriptor.appliedIndex,
    term: descriptor.appliedTerm,
    digest: descriptor.digest,
  };
  const store = { ...NO_STORE, bytes: descriptor.rowsBytes, confirmed };
  await linkBackup(
    directory,
    staged,
    filesOf(descriptor).map(({ path }) => path),
  );
  const target = { from: staged, directory: restored, nodeId: 1, clusterId: LOCAL, member: null };
  const made = await findings.during(() => restoreSnapshot(target));
  if (made === null) return { wal, store };
  const { identity } = await identityOf(restored);
  const { index: commit } = confirmed;
  const state = await replayState({
    directory: restored,
    identity,
    commit,
    at,
    findings,
    quiet: true,
  });
  return { wal, store, state };
}

async function verifyBackupSegments(
  directory: string,
  { segments, clusterId }: SnapshotDescriptor,
  findings: Findings,
): Promise<VerifiedWal> {
  let bytes = 0;
  for (const row of segments) {
    const identity = { clusterId, nodeId: nodeId(0), directoryId: row.origin ?? '' };
    const at = { files: new NodeFilePort(), directory: join(directory, 'wal'), identity };
    const { damage } = await examineSegment(at, row, true);
    if (damage !== null) findings.damaged(damage);
    bytes += row.sizeBytes;
  }
  return { ...NO_WAL, segments: segments.length, bytes };
}

/** True when the directory is what `queen backup` makes. */
export function isBackup(directory: string): Promise<boolean> {
  return isThere(join(directory, DESCRIPTOR_FILE));
}

async function identityOf(directory: string): Promise<OpenedIdentity> {
  const path = join(directory, IDENTITY_FILE);
  const bytes = await readWholeFile(new NodeFilePort(), path);
  if (bytes !== undefined) return decodeIdentity(path, bytes);
  throw new WalDamageError({
    file: path,
    byteOffset: 0,
    reason: 'the file is missing, and with it the knowledge whose data this is',
    cure: FOREIGN_FILE_CURE,
  });
}

/** What earlier runs left word of. */
async function notes(directory: string, findings: Findings): Promise<void> {
  if (await isThere(join(directory, REPAIR_FILE))) {
    findings.noted(`${join(directory, REPAIR_FILE)}: the log met damage before the last stop`);
  }
  const { lastFailure, skipped } = new ApplyRecords(directory, silentLog);
  if (lastFailure !== null) {
    findings.noted(`entry ${lastFailure.index} stopped this node: ${lastFailure.error}`);
  }
  for (const { index } of skipped) findings.noted(`entry ${index} was replaced by a skip marker`);
}

interface ReportParts {
  readonly identity?: DirectoryIdentity;
  readonly wal?: VerifiedWal;
  readonly store?: StoreVerification;
  readonly state?: ReplayedState | null;
}

function reportOf({ group }: GroupPlace, findings: Findings, parts: ReportParts): GroupReport {
  const { identity, wal = NO_WAL, store = NO_STORE, state } = parts;
  const { found } = wal;
  const hardState = found?.hardState;
  return {
    group,
    isSound: findings.damages === 0,
    findings: findings.list,
    clusterId: identity?.clusterId ?? null,
    nodeId: identity?.nodeId ?? null,
    log:
      found === null || hardState === undefined
        ? null
        : { firstIndex: found.firstIndex, lastIndex: found.lastIndex, ...hardState },
    checkpoint: store.confirmed,
    end: state?.end ?? null,
    at: state?.at ?? null,
    uncommitted: state?.uncommitted ?? 0,
    read: {
      ...{ segments: wal.segments, segmentBytes: wal.bytes },
      ...{ tables: store.tables, tableBytes: store.bytes, rows: state?.rows ?? 0 },
      ...{ messages: state?.messages ?? 0, deadLetters: state?.deadLetters ?? 0 },
      timers: state?.timers ?? 0,
    },
  };
}
