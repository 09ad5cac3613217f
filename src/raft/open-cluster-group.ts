/**
 * Opens the data directory of a cluster member under its lock, connects it to its peers and starts it.
 * A directory that a single-node broker wrote is taken over: it becomes a cluster of one that grows by
 * adding members. Who the members are is told by the store; the configured list starts a cluster.
 */
import { randomInt } from 'node:crypto';
import type { Clock } from '../common/clock.js';
import { groupId, nodeId, type GroupId, type NodeId } from '../common/ids.js';
import { systemClock } from '../config/index.js';
import { MACHINE_VERSION } from '../machine/machine.js';
import { ApplyRecords, skipEntries } from './apply-records.js';
import type { ApplySkip } from '../config/repairs.js';
import type { GroupFiles, GroupFilesOptions } from './group-files.js';
import { LOCAL, openGroupFiles, silentLog, unwind } from './group-files.js';
import type { GroupFigures } from './group-figures.js';
import { ClusterGroup } from './group/cluster/cluster-group.js';
import type { ClusterTiming, FirstMembers } from './group/cluster/cluster-parts.js';
import {
  firstMembers,
  readMembers,
  UNKNOWN_ADDRESS,
  type AddressBook,
} from './group/cluster/members.js';
import { forceRecover } from './force-recover.js';
import type { PeerPort } from './group/cluster/peer-port.js';
import { startBackup, type BackupStream } from './snapshot/backup.js';
import { SnapshotFiles } from './snapshot/snapshot-files.js';
import { serveGroup, underLock } from './serve-group.js';

const MIB = 1024 * 1024;
const DEFAULT_CLUSTER_ID = 'cluster';

export interface ClusterGroupOptions extends GroupFilesOptions {
  /** 0 when absent. */
  readonly group?: GroupId;
  /** The member that is to lead this group whenever it can; absent: whoever wins keeps leading. */
  readonly preferred?: NodeId;
  /** Node ids of the first membership, this node included. */
  readonly voters: readonly number[];
  /** Addresses of the listed nodes. */
  readonly addresses?: AddressBook;
  /** Join an existing cluster, never start one. */
  readonly join?: boolean;
  /** Entries to be replaced by skip markers (QUEEN_RAFT_APPLY_SKIP). */
  readonly applySkip?: readonly ApplySkip[];
  /** UNSAFE: this node becomes the only member (QUEEN_RAFT_FORCE_RECOVER). */
  readonly forceRecover?: boolean;
  readonly timing: ClusterTiming;
  readonly tailCacheBytes?: number;
  readonly clock?: Clock;
  /** A received snapshot waits: the process is to be started again. */
  readonly restart?: () => void;
  /** Builds the way to the peers once the directory's identity is known. */
  readonly connect: (own: {
    readonly directoryId: Uint8Array;
    readonly clusterId: string;
    readonly generation: number;
    /** The members to talk to at first. */
    readonly addresses: AddressBook;
  }) => PeerPort;
}

export interface OpenedClusterGroup {
  readonly group: ClusterGroup;
  figures(): GroupFigures;
  backup(): Promise<BackupStream>;
  close(): Promise<void>;
}

export function openClusterGroup(options: ClusterGroupOptions): Promise<OpenedClusterGroup> {
  return underLock(options, async (undo) => {
    const clusterId = clusterIdOf(options);
    const files = await openGroupFiles({ ...options, clusterId, adoptLocal: true }, undo);
    const first = await firstOf(options, files);
    const records = new ApplyRecords(options.directory, options.log ?? silentLog);
    await skipNamed(options, files, records);
    if (options.forceRecover === true) await recoverAlone(options, files, first);
    const group = buildGroup(options, files, { first, records });
    await serveGroup(group, { options, files, undo });
    return {
      ...{ group, figures: files.figures },
      backup: () => backupOf(options, files, group),
      close: () => unwind(undo, options.log),
    };
  });
}

/** What a single-node broker wrote belongs to this node alone, whoever else is listed. */
async function firstOf(options: ClusterGroupOptions, files: GroupFiles): Promise<FirstMembers> {
  const self = nodeId(options.nodeId);
  const addresses = options.addresses ?? new Map();
  const wasLocal = files.clusterId === LOCAL && clusterIdOf(options) !== LOCAL;
  const voters: NodeId[] = wasLocal ? [self] : options.voters.map((id) => nodeId(id));
  return {
    stored: await readMembers(files.store, files.machine.membersRange),
    listed: firstMembers(voters, addresses),
    join: options.join === true && !wasLocal,
    own: addresses.get(self) ?? UNKNOWN_ADDRESS,
  };
}

function backupOf(
  { directory, nodeId: id, log = silentLog }: ClusterGroupOptions,
  { machine, rows, wal, clusterId, ids, pins }: GroupFiles,
  group: ClusterGroup,
): Promise<BackupStream> {
  const source = { machine, rows, wal, pins, clusterId, localRange: ids.journalRange };
  const { config } = group.cluster.members();
  return startBackup({ directory, self: nodeId(id), log }, source, config);
}

function skipNamed(
  { applySkip, log, group }: ClusterGroupOptions,
  { wal, store }: GroupFiles,
  records: ApplyRecords,
): Promise<void> {
  return skipEntries({
    ...{ wal, records, durableIndex: store.durableIndex, log: log ?? silentLog },
    skips: (applySkip ?? []).filter((skip) => skip.group === (group ?? 0)),
  });
}

function recoverAlone(
  options: ClusterGroupOptions,
  { wal }: GroupFiles,
  first: FirstMembers,
): Promise<void> {
  const { directory, nodeId: self, log } = options;
  const members = first.stored ?? first.listed;
  return forceRecover({
    ...{ directory, self: nodeId(self), wal, members, own: first.own, log: log ?? silentLog },
  });
}

function clusterIdOf(options: ClusterGroupOptions): string {
  return options.clusterId ?? DEFAULT_CLUSTER_ID;
}

function buildGroup(
  options: ClusterGroupOptions,
  files: GroupFiles,
  { first, records }: { readonly first: FirstMembers; readonly records: ApplyRecords },
): ClusterGroup {
  const { store, rows, ids, machine, tailIndex, pins, diskGate, directoryId, wal, stages } = files;
  const clusterId = clusterIdOf(options);
  const { addresses } = first.stored ?? first.listed;
  return new ClusterGroup({
    ...{ directoryId, store, rows, ids, machine, tailIndex, pins, wal, first, stages },
    id: options.group ?? groupId(0),
    ...(options.preferred === undefined ? {} : { preferred: options.preferred }),
    nodeId: nodeId(options.nodeId),
    kinds: MACHINE_VERSION,
    tailCacheBytes: options.tailCacheBytes ?? 128 * MIB,
    clock: options.clock ?? systemClock,
    log: options.log ?? silentLog,
    walPort: files.walLog,
    timing: options.timing,
    snapshots: new SnapshotFiles(options.directory, {
      ...{ machine, rows, wal, pins, clusterId },
      localRange: ids.journalRange,
    }),
    restart: options.restart ?? ((): void => undefined),
    stopNotes: records,
    ...(options.refuse === undefined ? {} : { refuse: options.refuse }),
    // 0 = not known: a node without a log may join a cluster of any generation.
    peers: options.connect({
      ...{ directoryId, clusterId, addresses },
      generation: wal.lastIndex === 0 ? 0 : wal.generation + 1,
    }),
    random: (bound) => randomInt(bound),
    ...(diskGate === undefined ? {} : { diskGate }),
    cipher: options.cipher ?? null,
    ...(options.collector === undefined ? {} : { collector: options.collector }),
  });
}
