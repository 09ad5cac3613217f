/** Rehearsals of cluster.md §7.4 in which a majority keeps its disks: nothing acknowledged may be lost. */
import { cp, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Scene, SHORT_LOG, timed } from './scene.js';
import type { Rehearsal } from './rehearsal.js';

const WRITES = 15;

async function crash(scene: Scene, signal: NodeJS.Signals): Promise<string> {
  const { cluster, ledger } = scene;
  ledger.start();
  await ledger.written(WRITES);
  const leader = await cluster.leader();
  await cluster.stop(leader, signal);
  const took = await timed(() => cluster.leader(scene.others(leader)));
  scene.start(leader);
  await cluster.ready(leader);
  await ledger.written(WRITES);
  return `next leader after ${took}; ${await scene.finish()}`;
}

async function away(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  const id = await scene.follower();
  await scene.kill(id);
  await ledger.push(150);
  ledger.start();
  scene.start(id);
  const took = await timed(() => cluster.ready(id));
  expect(cluster.node(id).reloads).toBe(1);
  await ledger.written(WRITES);
  return `one snapshot, exit 75, ready after ${took}; ${await scene.finish()}`;
}

async function replace(scene: Scene, id: number): Promise<string> {
  const { cluster, ledger } = scene;
  ledger.start();
  await ledger.written(WRITES);
  const through = scene.others(id)[0] ?? 0;
  const took = await timed(() => scene.replace(id, through));
  await ledger.written(WRITES);
  expect((await scene.calls.show(through)).voters).toEqual(cluster.ids);
  return `voter again after ${took}; ${await scene.finish()}`;
}

async function cameBackEmpty(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  ledger.start();
  await ledger.written(WRITES);
  const id = await scene.follower();
  await scene.kill(id);
  await cluster.wipe(id);
  await scene.expectRefusal(id, 'a voter must not come back with an empty or other disk');
  await scene.replace(id, await cluster.leader(scene.others(id)));
  return `refused, then replaced; ${await scene.finish()}`;
}

async function corrupt(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  ledger.start();
  await ledger.written(WRITES);
  const id = await scene.follower();
  await cluster.stop(id);
  await flipInStore(join(cluster.directoryOf(id), 'store'));
  await scene.expectRefusal(id, /store damaged: /);
  await scene.replace(id, await cluster.leader(scene.others(id)));
  return `refused with file and byte, then replaced; ${await scene.finish()}`;
}

/** One bit in the middle of the largest file. */
async function flipInStore(directory: string): Promise<void> {
  const names = await readdir(directory);
  const sizes = await Promise.all(
    names.map(async (name) => ({ name, size: (await stat(join(directory, name))).size })),
  );
  const [largest] = sizes.sort((a, b) => b.size - a.size);
  if (largest === undefined) throw new Error('the store has no files');
  const file = await open(join(directory, largest.name), 'r+');
  const at = Math.floor(largest.size / 2);
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, at);
  byte[0] = (byte[0] ?? 0) ^ 0x40;
  await file.write(byte, 0, 1, at);
  await file.close();
}

async function fullDisk(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  await ledger.push(WRITES);
  const id = await scene.follower();
  await cluster.stop(id);
  scene.start(id, { QUEEN_RAFT_DISK_HIGH_PCT: '1', QUEEN_RAFT_DISK_LOW_PCT: '1' });
  await cluster.ready(id);
  const items = [{ queue: 'full', payload: 1 }];
  const push = async (): Promise<number> => {
    const response = await fetch(`${cluster.url(id)}/api/v1/push`, {
      method: 'POST',
      body: JSON.stringify({ items }),
    });
    await response.text();
    return response.status;
  };
  await cluster.until(async () => (await push()) === 507, {
    withinMs: 180_000,
    what: 'the full node to refuse a push',
  });
  // Its clients go elsewhere; what is stored elsewhere still arrives here, and is served here.
  ledger.start();
  await ledger.written(WRITES);
  await ledger.stop();
  await ledger.check([id]);
  await cluster.stop(id);
  scene.start(id, { QUEEN_RAFT_DISK_HIGH_PCT: '', QUEEN_RAFT_DISK_LOW_PCT: '' });
  await cluster.ready(id);
  await cluster.until(async () => (await push()) === 201, {
    withinMs: 180_000,
    what: 'the grown node to take a push',
  });
  return `507 on the full node, pops served, 201 after it grew; ${await scene.finish()}`;
}

async function lostMajority(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  ledger.start();
  await ledger.written(WRITES);
  const survivor = await cluster.leader();
  const gone = scene.others(survivor);
  await scene.kill(...gone);
  await cluster.until(async () => (await cluster.health(survivor))?.status === 503, {
    withinMs: 180_000,
    what: 'the survivor to be unready',
  });
  for (const id of gone) scene.start(id);
  const took = await timed(() => cluster.leader());
  await ledger.written(WRITES);
  return `leader ${took} after the start of the others; ${await scene.finish()}`;
}

async function staleCopy(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  await ledger.push(WRITES);
  const id = await scene.follower();
  const directory = cluster.directoryOf(id);
  await cluster.stop(id);
  await cp(directory, `${directory}-old`, { recursive: true });
  scene.start(id);
  await cluster.ready(id);
  ledger.start();
  await ledger.written(2 * WRITES);
  await ledger.stop();
  await scene.settled();
  ledger.start();
  await cluster.stop(id);
  await rm(directory, { recursive: true });
  await cp(`${directory}-old`, directory, { recursive: true });
  await scene.expectRefusal(id, 'it is an older copy');
  await scene.replace(id, await cluster.leader(scene.others(id)));
  return `refused, then replaced; ${await scene.finish()}`;
}

async function jointStuck(scene: Scene): Promise<string> {
  const { cluster, calls, ledger } = scene;
  await ledger.push(WRITES);
  await cluster.join(4);
  await cluster.until(async () => (await cluster.health(4))?.role === 'learner', {
    withinMs: 180_000,
    what: 'node 4 to wait',
  });
  await calls.add(1, 4);
  await cluster.until(async () => (await cluster.health(4))?.status === 200, {
    withinMs: 180_000,
    what: 'the learner to follow',
  });
  const leader = await cluster.leader();
  const held = scene.others(leader);
  const out = scene.others(leader).find((id) => id !== 4) ?? 0;
  const voters = scene.ids.filter((id) => id !== out);
  for (const id of held) cluster.node(id).signal('SIGSTOP');
  try {
    const asked = await calls.call(leader, 'PUT', '/voters?timeoutMs=500&force=true', { voters });
    expect(asked).toMatchObject({ status: 504, body: { code: 'timeout' } });
    const second = await calls.call(leader, 'DELETE', `/members/${out}?timeoutMs=500`);
    expect(second).toMatchObject({ status: 409, body: { code: 'in_flight' } });
  } finally {
    for (const id of held) cluster.node(id).signal('SIGCONT');
  }
  await cluster.leader(voters);
  await calls.until(voters[0] ?? 0, 'PUT', '/voters', { voters });
  expect((await calls.show(voters[0] ?? 0)).voters).toEqual(voters);
  if (cluster.node(out).isRunning) await scene.kill(out);
  cluster.forget(out);
  await ledger.push(5);
  return `504, then 409 in_flight, finished by the same PUT; ${await scene.finish()}`;
}

async function rotateToken(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  ledger.start();
  await ledger.written(WRITES);
  const token = { QUEEN_RAFT_TOKEN: 'the next token' };
  const [first = 0, second = 0, third = 0] = scene.ids;
  await cluster.stop(first);
  scene.start(first, token);
  await cluster.until(() => Promise.resolve(scene.says("refused this node's QUEEN_RAFT_TOKEN")), {
    withinMs: 180_000,
    what: 'a line about the token',
  });
  await cluster.stop(second);
  scene.start(second, token);
  await cluster.leader([first, second]);
  await cluster.stop(third);
  scene.start(third, token);
  await cluster.leader();
  await ledger.written(WRITES);
  return `the new token leads once a majority has it; ${await scene.finish()}`;
}

async function wrongPeers(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  ledger.start();
  await ledger.written(WRITES);
  const id = await scene.follower();
  await cluster.stop(id);
  cluster.node(id).setEnv({ QUEEN_RAFT_NODE_ID: '9' });
  await scene.expectRefusal(id, 'QUEEN_RAFT_NODE_ID=9 is not in QUEEN_RAFT_PEERS');
  const other = String(scene.others(id)[0] ?? 0);
  cluster.node(id).setEnv({ QUEEN_RAFT_NODE_ID: other });
  await scene.expectRefusal(id, new RegExp(`belongs to node ${id}, this node is ${other}`));
  scene.start(id, { QUEEN_RAFT_NODE_ID: String(id) });
  await cluster.ready(id);
  return `both refused, the right number starts; ${await scene.finish()}`;
}

const KEY = 'ab'.repeat(32);

async function encryptionKey(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  const response = await fetch(`${cluster.url(1)}/api/v1/configure`, {
    method: 'POST',
    body: JSON.stringify({ queue: ledger.queue, options: { encryptionEnabled: true } }),
  });
  expect(response.status).toBeLessThan(300);
  await response.text();
  await ledger.push(WRITES);
  const id = await scene.follower();
  await cluster.stop(id);
  cluster.node(id).setEnv({ QUEEN_ENCRYPTION_KEY: 'cd'.repeat(32) });
  await scene.expectRefusal(id, 'QUEEN_ENCRYPTION_KEY is not the key of this cluster');
  scene.start(id, { QUEEN_ENCRYPTION_KEY: KEY });
  await cluster.ready(id);
  const url = `${cluster.url(id)}/api/v1/pop/queue/${ledger.queue}?batch=1&wait=false`;
  const popped = (await (await fetch(url)).json()) as { messages: { data: unknown }[] };
  expect(popped.messages[0]?.data).toEqual({ id: 't-1', fill: '' });
  return `the wrong key is refused, the right one reads plaintext; ${await scene.finish()}`;
}

export const NODE_REHEARSALS: readonly Rehearsal[] = [
  { name: 'kill -9 of the leader', run: (scene) => crash(scene, 'SIGKILL') },
  { name: 'SIGTERM of the leader', run: (scene) => crash(scene, 'SIGTERM') },
  {
    name: 'away past the purge hold',
    options: { env: SHORT_LOG },
    writes: { payloadBytes: 25_000 },
    run: away,
  },
  { name: 'replace a follower', run: async (scene) => replace(scene, await scene.follower()) },
  {
    name: 'replace the leader',
    run: async (scene) => replace(scene, await scene.cluster.leader()),
  },
  { name: 'came back empty', run: cameBackEmpty },
  { name: 'corrupt file', run: corrupt },
  { name: 'full disk', run: fullDisk },
  { name: 'lost majority, disks fine', run: lostMajority },
  { name: 'stale copy on one node', run: staleCopy },
  { name: 'stuck membership change', run: jointStuck },
  { name: 'rotated token', run: rotateToken },
  { name: 'wrong number, wrong peers', run: wrongPeers },
  {
    name: 'encryption key changed',
    options: { env: { QUEEN_ENCRYPTION_KEY: KEY } },
    run: encryptionKey,
  },
];
