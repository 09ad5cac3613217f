/**
 * Do the nodes of a cluster hold the same state? Each gives a backup; at one applied index their
 * digests must be equal. Asked until all backups are of one index, so the cluster should be quiet.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { writeBackup } from '../../../src/raft/snapshot/backup.js';
import { readBackup } from '../../../src/raft/snapshot/restore.js';
import type { ClusterProcesses } from '../../support/cluster-processes.js';

const WITHIN_MS = 30_000;

export interface StateOfNode {
  readonly index: number;
  readonly digest: string;
}

export async function stateOf(url: string): Promise<StateOfNode> {
  const directory = await mkdtemp(join(tmpdir(), 'queen-digest-'));
  try {
    const response = await fetch(`${url}/api/v1/system/backup`);
    if (!response.ok || response.body === null) throw new Error(`backup: ${response.status}`);
    await writeBackup(join(directory, 'b'), response.body);
    const { appliedIndex, digest } = await readBackup(join(directory, 'b'));
    return { index: appliedIndex, digest };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The one state of all nodes; throws when two differ at one index. */
export async function expectOneState(
  cluster: ClusterProcesses,
  ids: readonly number[] = cluster.ids,
): Promise<StateOfNode> {
  let found: StateOfNode[] = [];
  await cluster.until(
    async () => {
      found = await Promise.all(ids.map((id) => stateOf(cluster.url(id))));
      return new Set(found.map(({ index }) => index)).size === 1;
    },
    { withinMs: WITHIN_MS, what: 'backups of all nodes at one index' },
  );
  const [first] = found;
  if (first === undefined) throw new Error('no node was asked');
  expect(found).toEqual(found.map(() => first));
  return first;
}
