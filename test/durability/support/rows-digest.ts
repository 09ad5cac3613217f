/**
 * What two starts from the same files must agree on: every replicated row but the sessions (each boot
 * opens one), as one hash per keyspace, and the machine's running digest.
 */
import { createHash } from 'node:crypto';
import { KEYSPACE } from '../../../src/machine/tables/keyspaces.js';
import type { Machine } from '../../../src/machine/machine.js';
import type { LocalGroup } from '../../../src/raft/group/local-group.js';

const SKIPPED: readonly number[] = [
  KEYSPACE.sessions,
  KEYSPACE.idJournal,
  // Purged in the background, each node at its own pace.
  KEYSPACE.garbageQueues,
];

/** keyspace → hash of its rows; rows of deleted queues are left out. */
export async function rowHashes(group: LocalGroup): Promise<Record<string, string>> {
  const hashes: Record<string, string> = {};
  const view = await group.view();
  try {
    for (const [name, keyspace] of Object.entries(KEYSPACE)) {
      if (SKIPPED.includes(keyspace)) continue;
      const hash = createHash('sha256');
      const range = { gte: Uint8Array.of(keyspace), lt: Uint8Array.of(keyspace + 1) };
      for await (const [key, value] of view.iterate(range)) {
        if (isGarbage(group, keyspace, key)) continue;
        hash.update(key).update(value);
      }
      hashes[name] = hash.digest('hex').slice(0, 16);
    }
  } finally {
    await view.close();
  }
  return hashes;
}

/** Running digest of the machine; not part of the group's interface. */
export function machineDigest(group: LocalGroup): string {
  const { parts } = group as unknown as { parts: { machine: { machine: Machine } } };
  return Buffer.from(parts.machine.machine.digest()).toString('hex');
}

function isGarbage(group: LocalGroup, keyspace: number, key: Uint8Array): boolean {
  const underQueue = keyspace >= KEYSPACE.queues && keyspace !== KEYSPACE.groups;
  if (!underQueue || key.length < 5) return false;
  const queue = new DataView(key.buffer, key.byteOffset + 1, 4).getUint32(0);
  return group.tables.queues.byId(queue as never) === undefined;
}
