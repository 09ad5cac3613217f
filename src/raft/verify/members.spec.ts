/**
 * Directories of the members of one cluster: sound, with one digest at one index; what a leader alone has
 * written is told as not known to be committed, and is in no digest.
 */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { ClusterHarness } from '../../../test/support/cluster-harness.js';
import { pushCommand } from '../../../test/support/group-commands.js';
import { verifyDirectory } from './verify-directory.js';
import type { GroupReport } from './verify-group.js';

jest.setTimeout(180_000);

let cluster: ClusterHarness;

beforeEach(async () => {
  cluster = await ClusterHarness.create();
});

afterEach(() => cluster.remove());

function push(node: number, id: string, withinMs = 60_000): Promise<unknown> {
  const command = pushCommand('q', 'p', [{ transactionId: id, payload: `"${id}"` }]);
  return cluster.group(node).submit(command, cluster.soon(withinMs));
}

/** Verifies a copy of the directory as it is now, which equals a power cut. */
function copyOf(node: number, name: string): string {
  const copy = join(cluster.directory, `${name}-${node}`);
  cpSync(join(cluster.directory, `n${node}`), copy, { recursive: true });
  return copy;
}

async function verified(directory: string, at: number): Promise<GroupReport> {
  const { groups } = await verifyDirectory({ directory, at });
  const [group] = groups;
  expect(group?.findings.filter(({ severity }) => severity === 'damage')).toEqual([]);
  return group as GroupReport;
}

/** The index all members have applied and written a checkpoint of. */
async function durableEverywhere(withinMs = 60_000): Promise<number> {
  const end = performance.now() + withinMs;
  while (performance.now() < end) {
    const all = cluster.ids.map((id) => cluster.group(id).status());
    const [first] = all;
    const index = first?.applied;
    if (index !== undefined && all.every((s) => s.applied === index && s.durable === index)) {
      return index;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error('the members did not come to rest in time');
}

it('tells one digest for all members, and what is not known to be committed', async () => {
  await cluster.leader();
  for (let n = 0; n < 10; n += 1) await push((n % 3) + 1, `m${n}`);
  const at = await durableEverywhere();
  const copies = cluster.ids.map((id) => copyOf(id, 'resting'));
  const reports: GroupReport[] = [];
  for (const copy of copies) reports.push(await verified(copy, at));
  expect(reports.map(({ nodeId }) => nodeId)).toEqual([1, 2, 3]);
  for (const { at: told, end, read } of reports) {
    expect(told).toEqual({ ...reports[0]!.at, index: at });
    expect(end!.index).toBeGreaterThanOrEqual(at);
    expect(read.messages).toBe(10);
  }

  const leader = await cluster.leader();
  cluster.isolate(leader);
  await expect(push(leader, 'alone', 2_000)).rejects.toThrow();
  const alone = await verified(copyOf(leader, 'alone'), at);
  expect(alone.uncommitted).toBeGreaterThan(0);
  expect(alone.at).toEqual(reports[0]!.at);
  expect(alone.end!.index + alone.uncommitted).toBe(alone.log!.lastIndex);
  expect(alone.read.messages).toBe(10);
});
