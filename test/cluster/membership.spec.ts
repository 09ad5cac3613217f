/**
 * Membership of real processes: a cluster of one grows to three, a dead node is replaced, the leader is
 * removed, a node that was away for longer than the log is loads a snapshot. A ledger of acknowledged
 * pushes goes along: none may be lost or stand twice.
 */
import { ClusterProcesses } from '../support/cluster-processes.js';
import { MembershipCalls } from './membership-calls.js';

jest.setTimeout(480_000);

/** Small logs, so that a node that was away needs a snapshot. */
const SHORT_LOG = {
  QUEEN_RAFT_SEGMENT_BYTES: '1048576',
  QUEEN_RAFT_LOG_KEEP: '20',
  QUEEN_RAFT_PURGE_HOLD_S: '0',
  QUEEN_RAFT_DURABLE_EVERY_MS: '100',
};

let cluster: ClusterProcesses;
let calls: MembershipCalls;

afterEach(() => cluster.remove());

async function start(size: number): Promise<void> {
  cluster = await ClusterProcesses.start({ size, env: SHORT_LOG });
  calls = new MembershipCalls(cluster);
  await cluster.leader();
}

it('grows from one node to three, by snapshot, and goes on without the first', async () => {
  await start(1);
  await calls.push(1, 200);
  for (const id of [2, 3]) {
    const node = await cluster.join(id);
    await cluster.until(async () => (await cluster.health(id))?.role === 'learner', {
      withinMs: 180_000,
      what: `node ${id} to wait for its addition`,
    });
    expect((await cluster.health(id, 30_000))?.status).toBe(503);
    await calls.add(1, id);
    await calls.promote(1, id);
    expect(node.reloads).toBeGreaterThan(0);
    await calls.push(id, 50);
  }
  const shown = await calls.show(3);
  expect(shown).toMatchObject({ source: 'leader', voters: [1, 2, 3], learners: [], joint: null });
  await calls.remove(2, 1);
  const leader = await cluster.leader([2, 3]);
  expect(await calls.show(leader)).toMatchObject({ voters: [2, 3], leader });
  await calls.push(leader, 20);
  await calls.checkLedger([2, 3]);
});

it('replaces a node whose disk is gone, after a refusal of the empty one', async () => {
  await start(3);
  await calls.push(1, 100);
  const leader = await cluster.leader();
  const [dead = 0, other = 0] = cluster.ids.filter((id) => id !== leader);
  const node = cluster.node(dead);
  const end = node.ended();
  node.signal('SIGKILL');
  await end;
  await cluster.wipe(dead);
  node.start();
  expect(await node.ended()).toBe(1);
  expect(node.log).toContain('a voter must not come back with an empty or other disk');
  await calls.remove(leader, dead);
  await cluster.wipe(dead);
  const fresh = await cluster.join(dead);
  await cluster.until(async () => (await cluster.health(dead))?.role === 'learner', {
    withinMs: 180_000,
    what: 'the replacement to wait',
  });
  await calls.add(leader, dead);
  await calls.promote(leader, dead);
  await calls.push(dead, 20);
  await calls.checkLedger([leader, other, dead]);
  expect(fresh.isRunning).toBe(true);
});

it('brings a node that was away by a snapshot, while the others serve', async () => {
  await start(3);
  const leader = await cluster.leader();
  const away = cluster.ids.find((id) => id !== leader) ?? 0;
  const node = cluster.node(away);
  const end = node.ended();
  node.signal('SIGKILL');
  await end;
  await calls.push(leader, 200);
  node.start();
  await cluster.until(async () => (await cluster.health(away))?.status === 200, {
    withinMs: 180_000,
    what: 'the node to be ready again',
  });
  expect(node.reloads).toBe(1);
  await calls.push(away, 20);
  await calls.checkLedger(cluster.ids);
});
