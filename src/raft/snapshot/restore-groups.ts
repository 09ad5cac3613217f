/**
 * A data directory made from the backups of every raft group of a node; they lie below one another as
 * the groups of a data directory do. Group 0 comes after the others and the number of groups last, so
 * a directory that was restored only partly is refused at the start.
 */
import { join } from 'node:path';
import { formatHostPort, parseHostPort } from '../../config/addresses.js';
import type { GroupId } from '../../common/ids.js';
import { namesIn } from '../../storage/index.js';
import type { MemberAddress } from '../group/cluster/members.js';
import { GROUPS, groupClusterId, groupDirectory, recordGroupCount } from '../group-directories.js';
import { groupAddress, groupIds } from '../group-options.js';
import { isOfVolume, refuseHalfRestored } from '../own-directory.js';
import { DESCRIPTOR_FILE } from './descriptor.js';
import { readBackup, restoreSnapshot, type RestoreOptions } from './restore.js';

export interface RestoreGroupsOptions extends RestoreOptions {
  readonly groups: number;
}

/** The applied index of every group. */
export async function restoreGroups(options: RestoreGroupsOptions): Promise<number[]> {
  const { from, directory, groups, clusterId, member } = options;
  const held = await groupsOf(from);
  if (held !== groups) {
    throw new Error(
      `the backup ${from} holds ${held} raft groups and QUEEN_RAFT_GROUPS is ${groups}`,
    );
  }
  const ids = groupIds(groups);
  for (const id of ids) await readBackup(groupDirectory(from, id));
  await refuseUsed(directory);
  const indexes: number[] = [];
  for (const id of ids.reverse()) {
    const { appliedIndex } = await restoreSnapshot({
      ...{ from: groupDirectory(from, id), directory: groupDirectory(directory, id) },
      nodeId: options.nodeId,
      clusterId: member === null ? clusterId : groupClusterId(clusterId, id),
      member: member === null ? null : memberIn(member, id),
      ...(id === 0 && groups > 1 ? { besides: GROUPS } : {}),
    });
    indexes.unshift(appliedIndex);
  }
  await recordGroupCount(directory, groups);
  return indexes;
}

/** Groups a backup holds: it is written from the last to group 0. */
export async function groupsOf(from: string): Promise<number> {
  return 1 + (await namesIn(join(from, GROUPS))).filter((name) => /^g\d+$/.test(name)).length;
}

async function refuseUsed(directory: string): Promise<void> {
  await refuseHalfRestored(directory);
  const names = await namesIn(directory);
  const present = names.find((name) => !isOfVolume(name));
  if (present === undefined) return;
  const what = names.includes(DESCRIPTOR_FILE)
    ? 'is itself a backup'
    : `is not empty (${present}…)`;
  throw new Error(`QUEEN_RAFT_DIR=${directory} ${what}: restore into an empty directory`);
}

function memberIn(member: MemberAddress, id: GroupId): MemberAddress {
  const place = member.raft === null ? null : parseHostPort(member.raft);
  return place === null ? member : { ...member, raft: formatHostPort(groupAddress(place, id)) };
}
