/** `queen repair` for every raft group of a stopped node, as the configuration names them. */
import type { QueenConfig } from '../config/index.js';
import type { GroupLog } from './group/ports.js';
import { checkGroupCount, groupDirectory } from './group-directories.js';
import { groupIds } from './group-options.js';
import { repairPeersOf } from './group-peers.js';
import { repairDirectory } from './repair-directory.js';
import type { RepairReport } from './wal/index.js';

/** Examines the logs of QUEEN_RAFT_DIR and repairs them from the members. */
export async function repairConfigured(config: QueenConfig, log: GroupLog): Promise<RepairReport> {
  const { dir, nodeId, clustered, peers, groups } = config.raft;
  await checkGroupCount(dir, groups);
  const reports: RepairReport[] = [];
  for (const id of groupIds(groups)) {
    reports.push(
      await repairDirectory({
        ...{ directory: groupDirectory(dir, id), nodeId, log },
        peers: clustered && peers.length > 1 ? repairPeersOf(config, { id, log }) : null,
      }),
    );
  }
  return {
    segments: reports.reduce((sum, { segments }) => sum + segments, 0),
    repaired: reports.flatMap(({ repaired }) => repaired),
  };
}
