/** The way to the other members of a raft group, from the configuration. */
import { nodeId, type GroupId } from '../common/ids.js';
import type { QueenConfig } from '../config/index.js';
import { MACHINE_VERSION } from '../machine/machine.js';
import type { GroupLog } from './group/ports.js';
import { groupClusterId } from './group-directories.js';
import { addressesOf, groupAddress } from './group-options.js';
import type { RepairPeers } from './log-repair.js';
import type { ClusterGroupOptions } from './open-cluster-group.js';
import { PeerTlsFiles } from './peer-tls.js';
import { peersOf, PeerNetwork, type PeerTlsSource } from './transport/index.js';

const MIB = 1024 * 1024;
/** Identity of clusters without QUEEN_CELL_ID. */
const CLUSTER_ID = 'cluster';
const LOOPBACK: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '::1']);

export function clusterIdOf({ server }: QueenConfig, id: GroupId): string {
  return groupClusterId(server.cellId ?? CLUSTER_ID, id);
}

/** Whom to ask for entries of a damaged log. */
export function repairPeersOf(
  config: QueenConfig,
  { id, log }: { readonly id: GroupId; readonly log: GroupLog },
): RepairPeers {
  return {
    peers: peersOf(addressesOf(config, id)),
    clusterId: clusterIdOf(config, id),
    kinds: MACHINE_VERSION,
    token: config.raft.token,
    ...tlsOf(config, log),
  };
}

export function connectPeers(
  config: QueenConfig,
  { id, log }: { readonly id: GroupId; readonly log: GroupLog },
  own: Parameters<ClusterGroupOptions['connect']>[0],
): PeerNetwork {
  const { raft, server } = config;
  const listen = raft.listen ?? { host: '127.0.0.1', port: 0 };
  const isOpen = raft.token === null && raft.tlsCa === null;
  if (id === 0 && isOpen && !LOOPBACK.has(listen.host) && raft.peers.length > 1) {
    log.warn('the raft port listens beyond loopback without QUEEN_RAFT_TOKEN and TLS', {});
  }
  return new PeerNetwork({
    self: nodeId(raft.nodeId),
    peers: peersOf(own.addresses),
    advertised: addressesOf(config, id).get(nodeId(raft.nodeId))?.raft ?? null,
    kinds: MACHINE_VERSION,
    generation: own.generation,
    listen: groupAddress(listen, id),
    token: raft.token,
    clusterId: new TextEncoder().encode(own.clusterId),
    directoryId: own.directoryId,
    limits: {
      maxFrameBytes: 2 * server.maxBodyBytes + MIB,
      commandQueueBytes: raft.forwardInflightBytes,
    },
    log,
    ...tlsOf(config, log),
  });
}

/** Mutual TLS between members when all three files are named; the configuration checks that. */
function tlsOf({ raft }: QueenConfig, log: GroupLog): { tls?: PeerTlsSource } {
  const { tlsCert, tlsKey, tlsCa } = raft;
  if (tlsCert === null || tlsKey === null || tlsCa === null) return {};
  return { tls: PeerTlsFiles.open({ cert: tlsCert, key: tlsKey, ca: tlsCa }, log) };
}
