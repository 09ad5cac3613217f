/**
 * Damaged segments of real nodes: found by a read or the scrub, never served around; rebuilt from the
 * other members at the next start or by `queen repair`, without replacing the node. Afterwards the node
 * reads every message from its own files and its state has the digest of its peers.
 */
import { rmSync, truncateSync } from 'node:fs';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { RepairScene } from './repair-scene.js';

jest.setTimeout(480_000);

/** Reads come from the files, old segments are retired soon. */
const ENV = {
  QUEEN_RAFT_SEGMENT_BYTES: '1048576',
  QUEEN_RAFT_LOG_KEEP: '40',
  QUEEN_RAFT_PURGE_HOLD_S: '0',
  QUEEN_RAFT_DURABLE_EVERY_MS: '100',
  QUEEN_TAIL_CACHE_MB: '0',
  QUEEN_RAFT_LOG_CACHE_MB: '1',
  QUEEN_SCRUB_BYTES_PER_S: '0',
};

let cluster: ClusterProcesses;
let scene: RepairScene;

beforeAll(async () => {
  cluster = await ClusterProcesses.start({ env: ENV });
  scene = new RepairScene(cluster);
  await scene.push(await cluster.leader(), 240);
  await cluster.until(
    async () => {
      const retired = await Promise.all(cluster.ids.map((id) => scene.segments(id, 'retired')));
      return retired.every((paths) => paths.length > 1);
    },
    { withinMs: 180_000, what: 'retired segments on every node' },
  );
});

afterAll(() => cluster.remove());

afterEach(async () => {
  for (const id of cluster.ids) await scene.healthy(id);
  for (const id of cluster.ids) await scene.expectAll(id);
  await scene.expectSameDigest();
});

async function aFollower(): Promise<number> {
  const leader = await cluster.leader();
  return cluster.ids.find((id) => id !== leader) ?? 0;
}

it('is rebuilt by the command while the node is stopped', async () => {
  const id = await aFollower();
  await scene.end(id, 'SIGKILL');
  const [retired = ''] = await scene.segments(id, 'retired');
  const [sealed = ''] = await scene.segments(id, 'sealed');
  scene.flip(retired);
  scene.flip(sealed, 0.3);
  const first = await scene.repair(id);
  expect(first.output).toMatch(/repaired record checksum mismatch \(at byte \d+ of .*\.seg\): now/);
  expect(first.output).toContain(' 2 repaired');
  expect(first.code).toBe(0);
  const again = await scene.repair(id);
  expect(again.output).toContain(' 0 repaired');
  cluster.node(id).start();
  await scene.healthy(id);
  expect(cluster.node(id).log).not.toContain('damaged segment found');
});

it('is rebuilt at the start when header, footer or the whole file are gone', async () => {
  const id = await aFollower();
  await scene.end(id, 'SIGKILL');
  const [retired = '', other = ''] = await scene.segments(id, 'retired');
  const [sealed = ''] = await scene.segments(id, 'sealed');
  rmSync(retired);
  truncateSync(other, 70_000);
  scene.flip(sealed, 0);
  cluster.node(id).start();
  await scene.healthy(id);
  const { log } = cluster.node(id);
  expect(log.split('damaged segment repaired')).toHaveLength(4);
});

it.each(['follower', 'leader'] as const)(
  'stops a running %s at the first read, and is rebuilt at its next start',
  async (role) => {
    const leader = await cluster.leader();
    const id = role === 'leader' ? leader : await aFollower();
    const [retired = ''] = await scene.segments(id, 'retired');
    scene.flip(retired);
    expect(await scene.readAll(id)).toBeNull();
    await scene.expectStopped(id);
    expect(cluster.node(id).log).toContain(`damaged record at byte`);
    const others = cluster.ids.filter((other) => other !== id);
    await scene.push(await cluster.leader(others), 5);
    await scene.end(id, 'SIGTERM');
    cluster.node(id).start();
    await scene.healthy(id);
    expect(cluster.node(id).log).toContain('damaged segment repaired');
  },
);

it('is found by the scrub of a running node', async () => {
  const id = await aFollower();
  await scene.end(id, 'SIGTERM');
  const [sealed = ''] = await scene.segments(id, 'sealed');
  scene.flip(sealed);
  cluster.node(id).setEnv({ QUEEN_SCRUB_BYTES_PER_S: '100000000' });
  cluster.node(id).start();
  await scene.expectStopped(id);
  expect(cluster.node(id).log).toContain('damaged segment found by the scrub');
  await scene.end(id, 'SIGTERM');
  cluster.node(id).start();
  await scene.healthy(id);
  expect(cluster.node(id).log).toContain('damaged segment repaired');
});

it('refuses the start while nobody can tell what was lost, and changes nothing', async () => {
  const id = await aFollower();
  const others = cluster.ids.filter((other) => other !== id);
  await scene.end(id, 'SIGKILL');
  const [retired = ''] = await scene.segments(id, 'retired');
  scene.flip(retired);
  for (const other of others) await scene.end(other, 'SIGKILL');
  const refused = await scene.repair(id);
  expect(refused.code).toBe(1);
  expect(refused.output).toContain('not repaired: node');
  for (const other of others) cluster.node(other).start();
  await cluster.leader(others);
  expect((await scene.repair(id)).code).toBe(0);
  cluster.node(id).start();
  await scene.healthy(id);
});
