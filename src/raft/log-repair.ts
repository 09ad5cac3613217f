/**
 * Repair of the log of one data directory from the other members: by `queen repair` while the node is
 * stopped, and at the start of a member whose log met damage. A node that meets damage while it serves
 * stops and leaves `repair.pending`, so that its next start reads every record before it serves again.
 *
 *   damage met ─► node stops, repair.pending ─► restart: examine all, rebuild from a member ─► serve
 */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { isBlanked } from '../common/blank-bytes.js';
import { logIndex, nodeId, type NodeId } from '../common/ids.js';
import { appliedIndexOf, syncDirectory, syncDirectoryNow } from '../storage/index.js';
import type { GroupLog } from './group/ports.js';
import { isThere } from './is-there.js';
import { contextOf, fetchEntries } from './transport/index.js';
import type { PeerAddress, PeerNetworkOptions } from './transport/index.js';
import { NodeFilePort, repairWal, WalDamageError } from './wal/index.js';
import type { DirectoryIdentity, EntrySource, RepairReport } from './wal/index.js';

export const REPAIR_FILE = 'repair.pending';
const DAMAGE_NAMES: ReadonlySet<string> = new Set(['WalDamageError', 'MessageDamageError']);
/** Rounds over the members at a start: they may be starting too. */
const ROUNDS = 20;
const ROUND_MS = 500;

/** How the other members are reached. */
export interface RepairPeers extends Pick<
  PeerNetworkOptions,
  'token' | 'tls' | 'kinds' | 'limits'
> {
  readonly peers: readonly PeerAddress[];
  /** As members tell each other; not the id that a directory of a single-node broker keeps. */
  readonly clusterId: string;
}

export interface LogRepairOptions {
  readonly directory: string;
  readonly identity: DirectoryIdentity;
  /** Null: a node without peers; its log is examined, and repaired where nothing is lost. */
  readonly peers: RepairPeers | null;
  readonly log: GroupLog;
}

/**
 * Remembers across the stop that the log met damage: file and name are durable when it returns.
 * Synchronous, the process may end any moment.
 */
export function noteDamage(directory: string, error: unknown): void {
  if (!(error instanceof Error) || !DAMAGE_NAMES.has(error.name)) return;
  const file = openSync(join(directory, REPAIR_FILE), 'w');
  try {
    writeSync(file, `${error.message}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  syncDirectoryNow(directory);
}

/** Opens the log; what met damage, now or before the last stop, is repaired first if that is possible. */
export async function openRepaired<T>(
  options: LogRepairOptions,
  open: () => Promise<T>,
): Promise<T> {
  if (options.peers === null) return open();
  if (await isThere(join(options.directory, REPAIR_FILE))) {
    await repairWhenReachable(options);
    return open();
  }
  try {
    return await open();
  } catch (error) {
    if (!(error instanceof WalDamageError)) throw error;
    options.log.error('damaged log at the start; asking the other members', { why: error.message });
    // A start sees only some of the damage: one that was killed in the middle must read it all again.
    noteDamage(options.directory, error);
    await repairWhenReachable(options).catch((failure: unknown) => {
      // What cannot be repaired is told as the start found it, with what was tried.
      throw failure instanceof WalDamageError ? failure : error;
    });
  }
  return open();
}

async function repairWhenReachable(options: LogRepairOptions): Promise<void> {
  for (let round = 1; ; round += 1) {
    try {
      await repairLog(options);
      return;
    } catch (error) {
      if (round >= ROUNDS || !isUnreached(error)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, ROUND_MS));
  }
}

/** Damage that a member might still mend. */
function isUnreached(error: unknown): boolean {
  return error instanceof WalDamageError && error.maybeLater;
}

/** Examines every record and rebuilds what is damaged; the directory must not be in use. */
export async function repairLog(options: LogRepairOptions): Promise<RepairReport> {
  const { directory, identity, log } = options;
  const report = await repairWal({
    files: new NodeFilePort(),
    directory: join(directory, 'wal'),
    identity,
    sources: sourcesOf(options),
    durableIndex: await appliedIndexOf(directory),
    isPartial: isBlanked,
    full: true,
    log: (event, fields) => log.warn(event, fields),
  });
  await removeMark(directory);
  return report;
}

function sourcesOf({ identity, peers, log }: LogRepairOptions): EntrySource[] {
  if (peers === null) return [];
  const self: NodeId = nodeId(identity.nodeId);
  const context = contextOf({
    ...peers,
    self,
    clusterId: new TextEncoder().encode(peers.clusterId),
    directoryId: Buffer.from(identity.directoryId, 'hex'),
    log,
  });
  return peers.peers
    .filter((peer) => peer.nodeId !== self)
    .map((peer): EntrySource => {
      return (indexes, generation) =>
        fetchEntries(peer, indexes.map(logIndex), { ...context, generation });
    });
}

async function removeMark(directory: string): Promise<void> {
  const path = join(directory, REPAIR_FILE);
  if (!(await isThere(path))) return;
  await unlink(path);
  await syncDirectory(directory);
}
