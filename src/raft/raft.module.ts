/**
 * Opens the raft groups of this process from the configuration and provides them. The boot fails here,
 * with file and cure, when a data directory cannot be served.
 */
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { Module } from '@nestjs/common';
import type { QueenConfig } from '../config/index.js';
import { QUEEN_CONFIG } from '../config/index.js';
import type { Logger } from '../logging/index.js';
import { LOGGER } from '../logging/index.js';
import { nodeId } from '../common/ids.js';
import { formatHostPort } from '../config/addresses.js';
import { MACHINE_VERSION } from '../machine/machine.js';
import type { AddressBook } from './group/cluster/members.js';
import type { GroupLog } from './group/ports.js';
import { Groups } from './groups.service.js';
import type { RepairPeers } from './log-repair.js';
import { openClusterGroup, type ClusterGroupOptions } from './open-cluster-group.js';
import { repairDirectory } from './repair-directory.js';
import type { RepairReport } from './wal/index.js';
import { openLocalGroup, type LocalGroupOptions } from './open-local-group.js';
import { AesPayloadCipher } from './payload-cipher.js';
import { peersOf, PeerNetwork, type PeerTls } from './transport/index.js';

const SECOND_MS = 1000;
/** Between two looks for log segments to free. */
const COLLECT_MS = 1000;
const MIN_DEAD_PERCENT = 50;
const MIB = 1024 * 1024;
/** Identity of clusters without QUEEN_CELL_ID. */
const CLUSTER_ID = 'cluster';
/** Boot wait for a leader; then the port opens and answers 503 until there is one. */
const BOOT_WAIT_MS = 30_000;
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '::1']);
/** A cache takes at most this part of the memory the process may have. */
const CACHE_SHARE = 8;
/** A received snapshot waits (cluster.md §2.9); whoever watches the process starts it again. */
const EXIT_RESTART = 75;
const RESTART_MS = 100;

/** Opens what the configuration names. */
export async function openGroups(config: QueenConfig, logger: Logger): Promise<Groups> {
  const log = logger.child('rsm');
  if (!config.raft.clustered) return new Groups([await openLocalGroup(fileOptions(config, log))]);
  return openMember(config, log);
}

function openCipher(config: QueenConfig, log: GroupLog): AesPayloadCipher | null {
  const { encryptionKey } = config.security;
  if (encryptionKey === null) return null;
  log.info('encryption service initialized (AES-256-GCM)');
  return new AesPayloadCipher(encryptionKey);
}

/** What both replicators take from the configuration. */
function fileOptions(config: QueenConfig, log: GroupLog): LocalGroupOptions {
  const { raft, storage, retention } = config;
  return {
    directory: raft.dir,
    nodeId: raft.nodeId,
    segmentBytes: storage.segmentBytes,
    overlayMaxBytes: storage.overlayMaxBytes,
    checkpointMs: storage.durableEveryMs,
    checkpointBytes: storage.durableEveryBytes,
    tailCacheBytes: Math.min(storage.tailCacheBytes, memoryBytes() / CACHE_SHARE),
    logKeepEntries: raft.logKeepEntries,
    windowMinSeconds: Math.ceil(retention.txnWindowMinMs / SECOND_MS),
    keepRows: !retention.rowsWindow,
    cipher: openCipher(config, log),
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
      bytesPerSecond: storage.scrubBytesPerSecond,
      rowsPerSecond: storage.storeScrubRowsPerSecond,
      storeEveryMs: storage.storeScrubEveryMs,
    },
    log,
  };
}

async function openMember(config: QueenConfig, log: GroupLog): Promise<Groups> {
  const { raft, planner } = config;
  let network: PeerNetwork | undefined;
  const opened = await openClusterGroup({
    ...fileOptions(config, log),
    clusterId: clusterIdOf(config),
    voters: raft.peers.length === 0 ? [raft.nodeId] : raft.peers.map((peer) => peer.nodeId),
    addresses: addressesOf(config),
    join: raft.join,
    restart: () => restartSoon(),
    ...(raft.peers.length > 1 ? { repairFrom: repairPeersOf(config) } : {}),
    forceRecover: raft.forceRecover !== null,
    timing: {
      tickMs: raft.heartbeatMs,
      electionTicks: Math.max(2, Math.round(raft.electionMs / raft.heartbeatMs)),
      heartbeatTicks: 1,
      pipelineEntries: planner.pipelineEntries,
      logCacheBytes: Math.min(raft.logCacheBytes, memoryBytes() / CACHE_SHARE),
      leaderLeaseMs: planner.leaderLeaseMs,
      readyLagEntries: raft.readyLagEntries,
      bootWaitMs: BOOT_WAIT_MS,
      logKeepEntries: raft.logKeepEntries,
      purgeHoldMs: raft.purgeHoldMs,
      promoteMaxLag: raft.promoteMaxLagEntries,
      clusterVersionMs: raft.clusterVersionMs,
      holdMs: raft.holdMs,
    },
    connect: (own) => (network = connectPeers(config, log, own)),
  });
  const { nodeId, applied } = opened.group.status();
  log.info('openraft replicator open', { node: nodeId, size: raft.peers.length || 1, applied });
  return new Groups([opened], network);
}

function clusterIdOf(config: QueenConfig): string {
  return config.server.cellId ?? CLUSTER_ID;
}

function repairPeersOf(config: QueenConfig): RepairPeers {
  return {
    peers: peersOf(addressesOf(config)),
    clusterId: clusterIdOf(config),
    kinds: MACHINE_VERSION,
    token: config.raft.token,
    ...tlsOf(config),
  };
}

/** Examines the log of QUEEN_RAFT_DIR and repairs it from the members; the node must be stopped. */
export function repairConfigured(config: QueenConfig, log: GroupLog): Promise<RepairReport> {
  const { dir: directory, nodeId: self, clustered, peers } = config.raft;
  return repairDirectory({
    ...{ directory, nodeId: self, log },
    peers: clustered && peers.length > 1 ? repairPeersOf(config) : null,
  });
}

/** The members as QUEEN_RAFT_PEERS lists them. */
function addressesOf({ raft }: QueenConfig): AddressBook {
  return new Map(
    raft.peers.map((peer) => [
      nodeId(peer.nodeId),
      { raft: formatHostPort(peer.raft), http: formatHostPort(peer.http) },
    ]),
  );
}

/** The answer to the sender of the snapshot leaves before the process does. */
function restartSoon(): void {
  setTimeout(() => process.exit(EXIT_RESTART), RESTART_MS);
}

function connectPeers(
  config: QueenConfig,
  log: GroupLog,
  own: Parameters<ClusterGroupOptions['connect']>[0],
): PeerNetwork {
  const { raft, server } = config;
  const listen = raft.listen ?? { host: '127.0.0.1', port: 0 };
  const isOpen = raft.token === null && raft.tlsCa === null;
  if (isOpen && !LOOPBACK.has(listen.host) && raft.peers.length > 1) {
    log.warn('the raft port listens beyond loopback without QUEEN_RAFT_TOKEN and TLS', {});
  }
  return new PeerNetwork({
    self: nodeId(raft.nodeId),
    peers: peersOf(own.addresses),
    advertised: addressesOf(config).get(nodeId(raft.nodeId))?.raft ?? null,
    kinds: MACHINE_VERSION,
    generation: own.generation,
    listen,
    token: raft.token,
    clusterId: new TextEncoder().encode(own.clusterId),
    directoryId: own.directoryId,
    limits: {
      maxFrameBytes: 2 * server.maxBodyBytes + MIB,
      commandQueueBytes: raft.forwardInflightBytes,
    },
    log,
    ...tlsOf(config),
  });
}

/** Mutual TLS between members when all three files are named; the configuration checks that. */
function tlsOf({ raft }: QueenConfig): { tls?: PeerTls } {
  const { tlsCert, tlsKey, tlsCa } = raft;
  if (tlsCert === null || tlsKey === null || tlsCa === null) return {};
  return {
    tls: { cert: readFileSync(tlsCert), key: readFileSync(tlsKey), ca: readFileSync(tlsCa) },
  };
}

/** Memory of the container, else of the machine. */
function memoryBytes(): number {
  const constrained = process.constrainedMemory();
  const total = totalmem();
  return constrained > 0 && constrained < total ? constrained : total;
}

@Module({
  providers: [{ provide: Groups, inject: [QUEEN_CONFIG, LOGGER], useFactory: openGroups }],
  exports: [Groups],
})
export class RaftModule {}
