/** Forced recovery of one survivor: keeps its log, serves alone, grows again, and refuses a second time. */
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { ClusterHarness } from '../../test/support/cluster-harness.js';
import { asPush, pushCommand } from '../../test/support/group-commands.js';
import { RECOVERED_FILE } from './force-recover.js';
import type { MembershipRequest } from './index.js';

jest.setTimeout(180_000);

const learner: MembershipRequest = {
  ...{ kind: 'add-learner', id: 2, raft: 'h2:7400', http: 'h2:6632' },
};

let cluster: ClusterHarness;

afterEach(() => cluster.remove());

async function push(node: number, transactionId: string): Promise<number> {
  const command = pushCommand('q', 'p', [{ transactionId, payload: '1' }]);
  const outcome = await cluster.group(node).submit(command, cluster.soon());
  return asPush(outcome).groups[0]?.offsets[0] ?? -1;
}

it('makes the survivor the only voter, in a new generation, with all its log', async () => {
  cluster = await ClusterHarness.create(3);
  await cluster.leader();
  for (const id of ['a', 'b', 'c']) await push(1, id);
  await cluster.settled();
  await Promise.all([1, 2, 3].map((id) => cluster.kill(id)));

  await cluster.start(1, { forceRecover: true });
  expect(await cluster.leader()).toBe(1);
  const { config, generation } = cluster.group(1).cluster.members();
  expect(config).toMatchObject({ voters: [1], outgoing: [], learners: [] });
  expect(generation).toBe(1);
  expect(await push(1, 'b')).toBe(1);
  expect(await push(1, 'd')).toBe(3);
  expect(cluster.lines.some(({ event }) => event.includes('UNSAFE RECOVERY'))).toBe(true);
  expect(cluster.group(1).tables.sessions.nodes()).toContain(1);

  // Still set and alone: nothing is done again, but that it was done is told, a crash may have come first.
  await cluster.stop(1);
  const [marker = ''] = readdirSync(cluster.directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(RECOVERED_FILE))
    .map((path) => join(cluster.directory, path));
  rmSync(marker);
  await cluster.start(1, { forceRecover: true });
  await cluster.leader();
  expect(await push(1, 'e')).toBe(4);

  // With members again it would drop them: refused.
  await cluster.start(2, { join: true, directory: `${cluster.directory}/fresh` });
  const { membership } = cluster.group(1).cluster;
  expect(await membership.request(learner, 10_000)).toMatchObject({ ok: true });
  await cluster.settled();
  expect(cluster.group(2).cluster.members().generation).toBe(1);
  await cluster.stop(2);
  await cluster.stop(1);
  await expect(cluster.start(1, { forceRecover: true })).rejects.toThrow('already recovered');
});
