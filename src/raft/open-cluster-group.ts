/**
 * Opens the data directory of a cluster member under its lock, connects it to its peers and starts it.
 * The directory belongs to one replicator: one that a single-node broker wrote is refused here, and the
 * other way round (the cluster id in the identity tells).
 */
import { randomInt } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import type { Clock } from '../common/clock.js';
import { groupId, nodeId, type NodeId } from '../common/ids.js';
import { systemClock } from '../config/index.js';
import { MACHINE_VERSION } from '../machine/machine.js';
import { EMPTY_CONFIG, type ConfigState } from './core/index.js';
import { lockDirectory } from './directory-lock.js';
import type { GroupFiles, GroupFilesOptions, Undo } from './group-files.js';
import { handOver, openGroupFiles, silentLog, startScrub, unwind } from './group-files.js';
import type { GroupFigures } from './group-figures.js';
import { ClusterGroup } from './group/cluster/cluster-group.js';
import type { ClusterTiming } from './group/cluster/cluster-parts.js';
import type { PeerPort } from './group/cluster/peer-port.js';

const MIB = 1024 * 1024;

export interface ClusterGroupOptions extends GroupFilesOptions {
  /** Node ids of the first membership, this node included. */
  readonly voters: readonly number[];
  readonly timing: ClusterTiming;
  readonly tailCacheBytes?: number;
  readonly clock?: Clock;
  /** Builds the way to the peers once the directory's identity is known. */
  readonly connect: (own: {
    readonly directoryId: Uint8Array;
    readonly clusterId: string;
  }) => PeerPort;
}

export interface OpenedClusterGroup {
  readonly group: ClusterGroup;
  figures(): GroupFigures;
  close(): Promise<void>;
}

export async function openClusterGroup(options: ClusterGroupOptions): Promise<OpenedClusterGroup> {
  const { directory } = options;
  await mkdir(directory, { recursive: true });
  const lock = await lockDirectory(directory);
  const undo: Undo = [() => lock.release()];
  try {
    const files = await openGroupFiles(options, undo);
    const group = buildGroup(options, files);
    files.damaged.report = (error) => group.damaged(error);
    handOver(undo, files, () => group.stop());
    await group.start();
    startScrub(options, files, undo);
    return { group, figures: files.figures, close: () => unwind(undo, options.log) };
  } catch (error) {
    await unwind(undo, options.log);
    throw error;
  }
}

function buildGroup(options: ClusterGroupOptions, files: GroupFiles): ClusterGroup {
  const { store, rows, ids, machine, tailIndex, diskGate, directoryId, clusterId } = files;
  const self = nodeId(options.nodeId);
  const clock = options.clock ?? systemClock;
  return new ClusterGroup({
    ...{ directoryId, store, rows, ids, machine, tailIndex, clock },
    id: groupId(0),
    nodeId: self,
    kinds: MACHINE_VERSION,
    tailCacheBytes: options.tailCacheBytes ?? 128 * MIB,
    log: options.log ?? silentLog,
    wal: files.wal,
    walPort: files.walLog,
    timing: options.timing,
    config: firstConfig(options.voters),
    others: options.voters.map(nodeId).filter((id) => id !== self),
    peers: options.connect({ directoryId, clusterId }),
    random: (bound) => randomInt(bound),
    ...(diskGate === undefined ? {} : { diskGate }),
  });
}

function firstConfig(voters: readonly number[]): ConfigState {
  const ids: NodeId[] = [...voters].sort((a, b) => a - b).map(nodeId);
  return { ...EMPTY_CONFIG, voters: ids };
}
