/**
 * What each raft group of this process takes from the configuration. Groups share the process: caches,
 * buffers and the pace of background checks are divided between them. Group N uses every raft address
 * at port + N (cluster.md §5).
 */
import { totalmem } from 'node:os';
import { groupId, nodeId, type GroupId, type NodeId } from '../common/ids.js';
import { formatHostPort, type HostPort } from '../config/addresses.js';
import type { QueenConfig } from '../config/index.js';
import type { ClusterTiming } from './group/cluster/cluster-parts.js';
import type { AddressBook } from './group/cluster/members.js';
import type { GroupLog } from './group/ports.js';
import { groupDirectory } from './group-directories.js';
import type { LocalGroupOptions } from './open-local-group.js';
import type { AesPayloadCipher } from './payload-cipher.js';
import { refuseKv } from './refuse-kv.js';

const SECOND_MS = 1000;
/** Between two looks for log segments to free. */
const COLLECT_MS = 1000;
const MIN_DEAD_PERCENT = 50;
/** Boot wait for a leader; then the port opens and answers 503 until there is one. */
const BOOT_WAIT_MS = 30_000;
/** A cache takes at most this part of the memory the process may have. */
const CACHE_SHARE = 8;

/** What the groups of one process share. */
export interface SharedParts {
  readonly cipher: AesPayloadCipher | null;
  readonly log: GroupLog;
}

/** What both replicators take from the configuration. */
export function fileOptions(
  config: QueenConfig,
  id: GroupId,
  { cipher, log }: SharedParts,
): LocalGroupOptions {
  const { raft, storage, retention } = config;
  const { groups } = raft;
  return {
    group: id,
    directory: groupDirectory(raft.dir, id),
    nodeId: raft.nodeId,
    segmentBytes: storage.segmentBytes,
    sealAgeMs: storage.sealAgeMs,
    overlayMaxBytes: share(storage.overlayMaxBytes, groups),
    checkpointMs: storage.durableEveryMs,
    checkpointBytes: storage.durableEveryBytes,
    tailCacheBytes: share(Math.min(storage.tailCacheBytes, memoryBytes() / CACHE_SHARE), groups),
    logKeepEntries: raft.logKeepEntries,
    windowMinSeconds: Math.ceil(retention.txnWindowMinMs / SECOND_MS),
    keepRows: !retention.rowsWindow,
    slowCommandMs: config.planner.slowCommandMs,
    cipher,
    ...(storage.reclaim
      ? {
          collector: {
            intervalMs: COLLECT_MS,
            minDeadPercent: storage.compactMinDeadPct ?? MIN_DEAD_PERCENT,
          },
        }
      : {}),
    diskGate: { highPercent: storage.diskHighPct, lowPercent: storage.diskLowPct },
    scrub: {
      bytesPerSecond: share(storage.scrubBytesPerSecond, groups),
      pauseMs: storage.scrubPauseMs,
      rowsPerSecond: share(storage.storeScrubRowsPerSecond, groups),
      storeEveryMs: storage.storeScrubEveryMs,
    },
    log: groupLog(log, id, groups),
    ...(raft.testRefuseApplyKv === null ? {} : { refuse: refuseKv(raft.testRefuseApplyKv) }),
  };
}

export function clusterTiming({ raft, planner }: QueenConfig): ClusterTiming {
  return {
    tickMs: raft.heartbeatMs,
    electionTicks: Math.max(2, Math.round(raft.electionMs / raft.heartbeatMs)),
    heartbeatTicks: 1,
    pipelineEntries: planner.pipelineEntries,
    logCacheBytes: share(Math.min(raft.logCacheBytes, memoryBytes() / CACHE_SHARE), raft.groups),
    leaderLeaseMs: planner.leaderLeaseMs,
    readyLagEntries: raft.readyLagEntries,
    bootWaitMs: BOOT_WAIT_MS,
    logKeepEntries: raft.logKeepEntries,
    purgeHoldMs: raft.purgeHoldMs,
    promoteMaxLag: raft.promoteMaxLagEntries,
    clusterVersionMs: raft.clusterVersionMs,
    holdMs: raft.holdMs,
  };
}

export function groupIds(groups: number): GroupId[] {
  return Array.from({ length: groups }, (_, id) => groupId(id));
}

/** The members as QUEEN_RAFT_PEERS lists them, where this group reaches them. */
export function addressesOf({ raft }: QueenConfig, id: GroupId): AddressBook {
  return new Map(
    raft.peers.map((peer) => [
      nodeId(peer.nodeId),
      { raft: formatHostPort(groupAddress(peer.raft, id)), http: formatHostPort(peer.http) },
    ]),
  );
}

export function groupAddress({ host, port }: HostPort, id: GroupId): HostPort {
  // Port 0 is any free one.
  return { host, port: port === 0 ? 0 : port + id };
}

/** With several groups each belongs to one of the listed nodes; with one nobody is preferred. */
export function preferredOf({ raft }: QueenConfig, id: GroupId): { preferred?: NodeId } {
  const { peers, groups } = raft;
  const peer = peers[id % Math.max(peers.length, 1)];
  return groups === 1 || peers.length < 2 || peer === undefined
    ? {}
    : { preferred: nodeId(peer.nodeId) };
}

/** Lines of several groups say which one they are about. */
function groupLog(log: GroupLog, id: GroupId, groups: number): GroupLog {
  if (groups === 1) return log;
  return {
    info: (event, fields) => log.info(event, { group: id, ...fields }),
    warn: (event, fields) => log.warn(event, { group: id, ...fields }),
    error: (event, fields) => log.error(event, { group: id, ...fields }),
  };
}

function share(amount: number, groups: number): number {
  return groups === 1 ? amount : Math.max(1, Math.floor(amount / groups));
}

/** Memory of the container, else of the machine. */
function memoryBytes(): number {
  const constrained = process.constrainedMemory();
  const total = totalmem();
  return constrained > 0 && constrained < total ? constrained : total;
}
