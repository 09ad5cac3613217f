/**
 * `queen repair`: examines every record of a stopped node's log under the lock of its directory, and
 * rebuilds damaged segments from the members.
 */
import { join } from 'node:path';
import { lockDirectory } from './directory-lock.js';
import type { GroupLog } from './group/ports.js';
import { isThere } from './is-there.js';
import { repairLog, type RepairPeers } from './log-repair.js';
import { PENDING_FILE } from './snapshot/snapshot-files.js';
import { decodeIdentity, IDENTITY_FILE, NodeFilePort } from './wal/index.js';
import { readWholeFile, type RepairReport } from './wal/index.js';

export interface RepairDirectoryOptions {
  readonly directory: string;
  readonly nodeId: number;
  readonly peers: RepairPeers | null;
  readonly log: GroupLog;
}

export async function repairDirectory(options: RepairDirectoryOptions): Promise<RepairReport> {
  const { directory, peers, log } = options;
  const path = join(directory, IDENTITY_FILE);
  const bytes = await readWholeFile(new NodeFilePort(), path);
  if (bytes === undefined) throw new Error(`${directory} is no data directory: ${path} is missing`);
  const { identity, ready } = decodeIdentity(path, bytes);
  if (identity.nodeId !== options.nodeId) {
    throw new Error(
      `${directory} belongs to node ${identity.nodeId}, QUEEN_RAFT_NODE_ID is ${options.nodeId}`,
    );
  }
  if (!ready || (await isThere(join(directory, PENDING_FILE)))) {
    throw new Error(
      `${directory} is not finished (first start, or a snapshot waits): start the node`,
    );
  }
  const lock = await lockDirectory(directory);
  try {
    return await repairLog({ directory, identity, peers, log });
  } finally {
    await lock.release();
  }
}
