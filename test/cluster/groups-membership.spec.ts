/** A node joins a cluster of several raft groups: one request makes it a member of every group. */
import { ClusterProcesses } from '../support/cluster-processes.js';
import { MembershipCalls } from './membership-calls.js';

jest.setTimeout(480_000);

it('adds, promotes and removes a node in every group', async () => {
  const cluster = await ClusterProcesses.start({ size: 1, groups: 2 });
  try {
    await cluster.leader();
    const calls = new MembershipCalls(cluster);
    await cluster.join(2);
    await cluster.until(async () => (await cluster.health(2)) !== null, {
      ...{ withinMs: 180_000, what: 'node 2 to answer' },
    });
    await calls.add(1, 2);
    await calls.promote(1, 2);
    const members = async (group: number): Promise<unknown> => {
      const response = await fetch(`${cluster.url(1)}/api/v1/raft/liveness?group=${group}`);
      const { members: rows } = (await response.json()) as {
        members: { nodeId: number; role: string; raft: string }[];
      };
      return rows.map(({ nodeId, role, raft }) => [nodeId, role, Number(raft.split(':')[1])]);
    };
    for (const group of [0, 1]) {
      const wanted = [1, 2].map((id) => [id, 'voter', cluster.node(id).ports.raft + group]);
      await cluster.until(
        async () => JSON.stringify(await members(group)) === JSON.stringify(wanted),
        { withinMs: 180_000, what: `both nodes to vote in group ${group}` },
      );
    }
    const removed = await calls.call(1, 'DELETE', '/members/2');
    expect(removed).toMatchObject({ status: 200, body: { ok: true } });
  } finally {
    await cluster.remove();
  }
});
