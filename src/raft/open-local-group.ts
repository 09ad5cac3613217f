/**
 * Opens the data directory of a single voter under its lock; then the group loads, replays and takes
 * the lead. What does not fit together is refused with file and cure; what was opened is closed again.
 */
import type { Clock } from '../common/clock.js';
import { groupId, nodeId, type GroupId } from '../common/ids.js';
import { systemClock } from '../config/index.js';
import { MACHINE_VERSION } from '../machine/machine.js';
import { ApplyRecords } from './apply-records.js';
import type { GroupFiles, GroupFilesOptions } from './group-files.js';
import { openGroupFiles, silentLog, unwind } from './group-files.js';
import { EMPTY_CONFIG } from './core/index.js';
import { readMembers } from './group/cluster/members.js';
import { LocalGroup } from './group/local-group.js';
import type { GroupFigures } from './group-figures.js';
import { serveGroup, underLock } from './serve-group.js';
import { startBackup, type BackupStream } from './snapshot/backup.js';

const MIB = 1024 * 1024;

export interface LocalGroupOptions extends GroupFilesOptions {
  /** 0 when absent. */
  readonly group?: GroupId;
  readonly tailCacheBytes?: number;
  /** Entries kept in the raft log behind the durable index. */
  readonly logKeepEntries?: number;
  readonly clock?: Clock;
}

export interface OpenedLocalGroup {
  readonly group: LocalGroup;
  /** Numbers for the metrics, as of now. */
  figures(): GroupFigures;
  backup(): Promise<BackupStream>;
  /** Stops the group and gives the directory back. */
  close(): Promise<void>;
}

export function openLocalGroup(options: LocalGroupOptions): Promise<OpenedLocalGroup> {
  return underLock(options, async (undo) => {
    const files = await openGroupFiles(options, undo);
    await refuseMember(options.directory, files);
    const group = buildGroup(options, files);
    await serveGroup(group, { options, files, undo });
    return {
      ...{ group, figures: files.figures },
      backup: () => backupOf(options, files),
      close: () => unwind(undo, options.log),
    };
  });
}

/** A directory that has become a cluster member's never serves alone again by accident. */
async function refuseMember(directory: string, files: GroupFiles): Promise<void> {
  const members = await readMembers(files.store, files.machine.membersRange);
  if (members === null) return;
  throw new Error(
    `the data directory ${directory} belongs to a member of a cluster (voters ` +
      `${members.config.voters.join(', ')}): start it with QUEEN_RAFT_REPLICATOR=openraft`,
  );
}

function backupOf(
  { directory, nodeId: id, log = silentLog }: LocalGroupOptions,
  { machine, rows, wal, clusterId, ids, pins }: GroupFiles,
): Promise<BackupStream> {
  const self = nodeId(id);
  const source = { machine, rows, wal, pins, clusterId, localRange: ids.journalRange };
  return startBackup({ directory, self, log }, source, { ...EMPTY_CONFIG, voters: [self] });
}

function buildGroup(options: LocalGroupOptions, files: GroupFiles): LocalGroup {
  const { store, rows, ids, machine, tailIndex, pins, diskGate, directoryId, stages } = files;
  const { logKeepEntries } = options;
  return new LocalGroup({
    ...{ directoryId, store, rows, ids, machine, tailIndex, pins, stages },
    id: options.group ?? groupId(0),
    nodeId: nodeId(options.nodeId),
    // A single voter begins a term with every start, so the term counts its boots.
    bootCount: files.walLog.term + 1,
    kinds: MACHINE_VERSION,
    tailCacheBytes: options.tailCacheBytes ?? 128 * MIB,
    clock: options.clock ?? systemClock,
    log: options.log ?? silentLog,
    wal: files.walLog,
    ...(diskGate === undefined ? {} : { diskGate }),
    ...(logKeepEntries === undefined ? {} : { logKeepEntries }),
    cipher: options.cipher ?? null,
    stopNotes: new ApplyRecords(options.directory, options.log ?? silentLog),
    ...(options.refuse === undefined ? {} : { refuse: options.refuse }),
    ...(options.collector === undefined ? {} : { collector: options.collector }),
  });
}
