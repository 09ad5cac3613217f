/**
 * Opens the raft groups of this process from the configuration, all at once: a cluster's groups wait for
 * their leaders together. The boot fails here, with file and cure, when a data directory cannot be
 * served; what was opened until then is closed again.
 */
import { groupId, type GroupId } from '../common/ids.js';
import { uuidText } from '../common/uuid-v7.js';
import type { QueenConfig } from '../config/index.js';
import type { Logger } from '../logging/index.js';
import type { GroupLog } from './group/ports.js';
import { silentLog } from './group-files.js';
import { checkGroupCount, makeGroupCount } from './group-directories.js';
import { addressesOf, clusterTiming, fileOptions } from './group-options.js';
import { groupIds, preferredOf } from './group-options.js';
import { clusterIdOf, connectPeers, repairPeersOf } from './group-peers.js';
import { Groups, type OwnedGroup } from './groups.service.js';
import { openClusterGroup } from './open-cluster-group.js';
import { openLocalGroup, type LocalGroupOptions } from './open-local-group.js';
import { claimDirectory } from './own-directory.js';
import { AesPayloadCipher } from './payload-cipher.js';
import { TenantPlacement } from './tenant-placement.js';
import type { PeerNetwork } from './transport/index.js';

/** A received snapshot waits (cluster.md §2.9); whoever watches the process starts it again. */
const EXIT_RESTART = 75;
const RESTART_MS = 100;
/** Other groups that are led here may be handed over first. */
const RESTART_LEAVE_MS = 1_000;

/** Opens what the configuration names. */
export async function openGroups(config: QueenConfig, logger: Logger): Promise<Groups> {
  const log = logger.child('rsm');
  const { clustered, dir, groups: count, tenantGroups } = config.raft;
  await claimDirectory(dir);
  await checkGroupCount(dir, count);
  const shared = { log, cipher: openCipher(config, log) };
  const placement = new TenantPlacement(count, tenantGroups);
  const running: { groups?: Groups } = {};
  let network: PeerNetwork | undefined;
  const restart = (): void => restartSoon(() => running.groups?.leave());
  const owned = await openAll(config, async (id, locked) => {
    const files = { ...fileOptions(config, id, shared), locked };
    if (!clustered) return openLocalGroup(files);
    const member = await openMember(config, { id, restart, files });
    if (id === 0) network = member.network;
    return member.opened;
  });
  const groups = new Groups(owned, network, placement);
  running.groups = groups;
  try {
    refuseMisplaced(groups, placement);
  } catch (error) {
    await groups.close();
    throw error;
  }
  return groups;
}

/** All of them, or none. The others begin once the root is locked and says how many there are. */
async function openAll(
  { raft: { dir, groups } }: QueenConfig,
  open: (id: GroupId, locked: () => Promise<void>) => Promise<OwnedGroup>,
): Promise<OwnedGroup[]> {
  const [root, ...others] = groupIds(groups);
  const opening: Promise<OwnedGroup>[] = [];
  const counted = new Promise<void>((resolve, reject) => {
    const first = open(root ?? groupId(0), async () => {
      await makeGroupCount(dir, groups);
      resolve();
    });
    first.catch(reject);
    opening.push(first);
  });
  for (const id of others) opening.push(counted.then(() => open(id, () => Promise.resolve())));
  const outcomes = await Promise.allSettled([counted, ...opening]);
  const failed = outcomes.find((one) => one.status === 'rejected');
  const opened = outcomes.flatMap((one) => (one.status === 'fulfilled' ? (one.value ?? []) : []));
  if (failed === undefined) return opened;
  await Promise.all(opened.map(({ close }) => close()));
  throw failed.reason;
}

/** A tenant whose data lies in another group than where it is looked for would seem to have lost it. */
function refuseMisplaced(groups: Groups, placement: TenantPlacement): void {
  for (const group of groups.all()) {
    for (const tenant of group.tables.names.tenantUuids()) {
      const wanted = placement.of(tenant);
      if (wanted === group.id) continue;
      const text = uuidText(tenant);
      throw new Error(
        `the data of tenant ${text} is in raft group ${group.id}, and the settings place it in ` +
          `group ${wanted}: set QUEEN_TENANT_GROUPS=${text}=${group.id} on every node. A tenant ` +
          'moves only empty: purge it first.',
      );
    }
  }
}

function openCipher(config: QueenConfig, log: GroupLog): AesPayloadCipher | null {
  const { encryptionKey } = config.security;
  if (encryptionKey === null) return null;
  log.info('encryption service initialized (AES-256-GCM)');
  return new AesPayloadCipher(encryptionKey);
}

interface MemberPlace {
  readonly id: GroupId;
  readonly restart: () => void;
  readonly files: LocalGroupOptions;
}

interface Member {
  readonly opened: OwnedGroup;
  readonly network: PeerNetwork | undefined;
}

async function openMember(
  config: QueenConfig,
  { id, restart, files }: MemberPlace,
): Promise<Member> {
  const { raft } = config;
  const log = files.log ?? silentLog;
  let network: PeerNetwork | undefined;
  const opened = await openClusterGroup({
    ...files,
    ...preferredOf(config, id),
    clusterId: clusterIdOf(config, id),
    voters: raft.peers.length === 0 ? [raft.nodeId] : raft.peers.map((peer) => peer.nodeId),
    addresses: addressesOf(config, id),
    join: raft.join,
    applySkip: raft.applySkip,
    restart,
    ...(raft.peers.length > 1 ? { repairFrom: repairPeersOf(config, { id, log }) } : {}),
    forceRecover: raft.forceRecover !== null,
    timing: clusterTiming(config),
    connect: (own) => (network = connectPeers(config, { id, log }, own)),
  });
  const { nodeId: node, applied } = opened.group.status();
  log.info('openraft replicator open', { node, size: raft.peers.length || 1, applied });
  return { opened, network };
}

/** The answer to the sender of the snapshot leaves before the process does. */
function restartSoon(leave: () => Promise<void> | undefined): void {
  const exit = (): never => process.exit(EXIT_RESTART);
  setTimeout(() => {
    setTimeout(exit, RESTART_LEAVE_MS);
    Promise.resolve(leave()).then(exit, exit);
  }, RESTART_MS);
}
