/**
 * An entry that no node can apply (cluster.md §2.10), on three real processes: nodes stop at it and tell
 * the same digest (the last one may not hear that it is committed: it is left without a majority), a
 * restart stops again, QUEEN_RAFT_APPLY_SKIP refuses what it must and passes over exactly that entry,
 * and nodes that hold the entry or only hear of it end in the same state.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ClusterProcesses } from '../support/cluster-processes.js';
import { RepairScene } from './repair-scene.js';

jest.setTimeout(480_000);

const POISON = 'poison/key';
const ENV = { QUEEN_TEST_REFUSE_APPLY_KV: POISON, QUEEN_RAFT_DURABLE_EVERY_MS: '50' };

interface Failure {
  readonly class: string;
  readonly index: number;
  readonly digest: string;
  readonly command: string;
  readonly error: string;
}

interface ApplyBlock {
  readonly failure: Failure | null;
  readonly skipped: readonly { readonly index: number; readonly digest: string | null }[];
}

let cluster: ClusterProcesses;
let scene: RepairScene;

beforeEach(async () => {
  cluster = await ClusterProcesses.start({ env: ENV });
  scene = new RepairScene(cluster);
  await scene.push(await cluster.leader(), 3);
});

afterEach(() => cluster.remove());

async function put(id: number, key: string): Promise<number> {
  const response = await fetch(`${cluster.url(id)}/api/v1/kv/${key}`, {
    method: 'PUT',
    body: JSON.stringify({ value: 1, forever: true }),
    signal: AbortSignal.timeout(20_000),
  });
  await response.text();
  return response.status;
}

async function applyOf(id: number): Promise<ApplyBlock> {
  const response = await fetch(`${cluster.url(id)}/health`, { signal: AbortSignal.timeout(5_000) });
  return ((await response.json()) as { raft: { apply: ApplyBlock } }).raft.apply;
}

/** Nodes that stopped, at least a majority: fewer cannot have committed the entry. */
async function stoppedNodes(): Promise<number[]> {
  let stopped: number[] = [];
  await cluster.until(
    async () => {
      const all = await Promise.all(cluster.ids.map((id) => cluster.health(id)));
      stopped = cluster.ids.filter((_, i) => all[i]?.role === 'stopped');
      return stopped.length >= 2;
    },
    { withinMs: 180_000, what: 'a majority to stop' },
  );
  return stopped;
}

/** Poisons the log; every node that stopped tells the same. */
async function poison(): Promise<Failure> {
  expect(await put(await cluster.leader(), 'fine/key')).toBe(200);
  expect(await put(await cluster.leader(), POISON)).toBe(503);
  const all = await Promise.all((await stoppedNodes()).map((id) => applyOf(id)));
  const [first] = all;
  expect(first?.failure).toMatchObject({ class: 'DETERMINISTIC', command: 'KvCall' });
  for (const { failure } of all) expect(failure).toEqual(first?.failure);
  return first?.failure as Failure;
}

async function restartAll(settings: (id: number) => Readonly<Record<string, string>>) {
  for (const id of cluster.ids.filter((one) => cluster.node(one).isRunning)) {
    await scene.end(id, 'SIGTERM');
  }
  for (const id of cluster.ids) {
    cluster.node(id).setEnv(settings(id));
    cluster.node(id).start();
  }
}

it('stops the nodes, again after a restart, until it is skipped everywhere', async () => {
  const { index, digest } = await poison();
  const value = `${index}:${digest}`;
  for (const id of await stoppedNodes()) {
    expect(cluster.node(id).log).toContain(`APPLY FAILED at entry ${index}: DETERMINISTIC`);
    expect(cluster.node(id).log).toContain(`QUEEN_RAFT_APPLY_SKIP=${value}`);
    expect(existsSync(join(scene.directoryOf(id), 'apply_failure.json'))).toBe(true);
  }
  await restartAll(() => ({}));
  const again = await stoppedNodes();
  for (const id of again) expect((await applyOf(id)).failure).toMatchObject({ index, digest });
  await restartAll(() => ({ QUEEN_RAFT_APPLY_SKIP: value }));
  for (const id of cluster.ids) await scene.healthy(id);
  for (const id of cluster.ids) {
    const { failure, skipped } = await applyOf(id);
    expect(failure).toBeNull();
    expect(skipped).toMatchObject([again.includes(id) ? { index, digest } : { index }]);
    if (again.includes(id))
      expect(cluster.node(id).log).toContain(`entry ${index} is REPLACED by a skip marker`);
    expect(existsSync(join(scene.directoryOf(id), 'apply_failure.json'))).toBe(false);
  }
  await scene.push(cluster.ids[0] ?? 0, 3);
  await scene.expectSameDigest();
  // The setting may stay, and may go; the fixed release writes the key again.
  await restartAll(() => ({ QUEEN_RAFT_APPLY_SKIP: '', QUEEN_TEST_REFUSE_APPLY_KV: '' }));
  for (const id of cluster.ids) await scene.healthy(id);
  expect(await put(await cluster.leader(), POISON)).toBe(200);
  for (const id of cluster.ids) await scene.expectAll(id);
  await scene.expectSameDigest();
  expect((await applyOf(1)).skipped).toMatchObject([{ index }]);
});

it('is a marker for a node that never had the entry', async () => {
  const leader = await cluster.leader();
  const away = cluster.ids.find((id) => id !== leader) ?? 0;
  await scene.end(away, 'SIGKILL');
  expect(await put(leader, POISON)).toBe(503);
  // It learns of the commit first; the other one is left without a majority.
  await scene.expectStopped(leader);
  const { index, digest } = (await applyOf(leader)).failure as Failure;
  await restartAll(() => ({ QUEEN_RAFT_APPLY_SKIP: `${index}:${digest}` }));
  for (const id of cluster.ids) await scene.healthy(id);
  await cluster.until(async () => (await applyOf(away)).skipped.length === 1, {
    withinMs: 180_000,
    what: 'the marker to arrive',
  });
  expect((await applyOf(away)).skipped).toMatchObject([{ index, digest: null }]);
  expect((await applyOf(leader)).skipped).toMatchObject([{ index, digest }]);
  await scene.push(away, 2);
  for (const id of cluster.ids) await scene.expectAll(id);
  await scene.expectSameDigest();
});

it('is refused for another digest and for an applied entry', async () => {
  const { index } = await poison();
  const [stopped = 0] = await stoppedNodes();
  const wrong: [string, string][] = [
    [`${index}:0123456789abcdef`, 'its digest is'],
    ['2', 'this node already applied it'],
  ];
  for (const [value, why] of wrong) {
    const node = cluster.node(stopped);
    if (node.isRunning) await scene.end(stopped, 'SIGTERM');
    node.setEnv({ QUEEN_RAFT_APPLY_SKIP: value });
    node.start();
    expect(await node.ended()).toBe(1);
    expect(node.log).toContain(`FATAL: QUEEN_RAFT_APPLY_SKIP names entry`);
    expect(node.log).toContain(why);
  }
});
