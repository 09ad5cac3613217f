/**
 * Rehearsals of cluster.md §7.4 in which a majority of disks is gone, or a copy takes their place. What
 * is lost is what the survivor, or the copy, never had: exactly that, told message by message.
 */
import { cp, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import type { Rehearsal } from './rehearsal.js';
import { Scene, timed } from './scene.js';
import { WriteLedger } from './write-ledger.js';

const WRITES = 15;
const GROUP = 'workers';

/** The survivor is not the one that knew everything. */
async function lostForGood(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  await ledger.push(WRITES);
  const survivor = await scene.follower();
  const others = scene.others(survivor);
  await scene.settled();
  await cluster.stop(survivor);
  const lost = await scene.during(() => ledger.push(WRITES));
  await scene.kill(...others);
  for (const id of others) await cluster.wipe(id);
  const took = await timed(() => scene.force(survivor));
  for (const id of others) await scene.rejoin(id, survivor);
  await ledger.push(WRITES);
  return `serves ${took} after the start; ${await scene.finish(lost)}`;
}

async function twoVolumes(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  await ledger.push(WRITES);
  await scene.settled();
  const [survivor = 0, ...gone] = scene.ids;
  await scene.kill(...gone);
  for (const id of gone) {
    await cluster.wipe(id);
    await scene.expectRefusal(id, 'a voter must not come back with an empty or other disk');
  }
  await cluster.stop(survivor);
  await scene.force(survivor);
  for (const id of gone) await scene.rejoin(id, survivor);
  await ledger.push(WRITES);
  return `empty ones refused, survivor forced, others rebuilt; ${await scene.finish()}`;
}

/** A copy taken with `queen backup` of any node becomes node 1. */
async function restoreBackup(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  await ledger.push(WRITES);
  const taken = await take(scene, 5);
  const copy = join(await mkdtemp(join(cluster.directory, 'copy-')), 'b');
  const from = cluster.node(2);
  const made = await from.command(['backup', '--to', copy, '--url', cluster.url(2)]);
  expect(made).toMatchObject({ code: 0 });
  const lost = await scene.during(() => ledger.push(WRITES));
  await wipeAll(scene);
  const restored = await cluster.node(1).command(['restore', '--from', copy]);
  expect(restored).toMatchObject({ code: 0 });
  scene.start(1);
  const took = await timed(() => scene.alone(1));
  // Consumers go on where they were at the moment of the copy.
  const next = await take(scene, 5);
  expect([...taken, ...next]).toEqual([...ledger.acknowledged].slice(0, 10));
  for (const id of [2, 3]) await scene.rejoin(id, 1);
  await ledger.push(WRITES);
  return `state of the copy, positions too, after ${took}; ${await scene.finish(lost)}`;
}

/** A copy of a stopped node's directory, put back in its place. */
async function restoreDirectory(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  await ledger.push(WRITES);
  await scene.settled();
  const id = await scene.follower();
  const directory = cluster.directoryOf(id);
  await cluster.stop(id);
  await cp(directory, `${directory}-copy`, { recursive: true });
  scene.start(id);
  await cluster.ready(id);
  const lost = await scene.during(() => ledger.push(WRITES));
  await wipeAll(scene);
  await cp(`${directory}-copy`, directory, { recursive: true });
  await scene.force(id);
  for (const other of scene.others(id)) await scene.rejoin(other, id);
  await ledger.push(WRITES);
  return `state of the copy; ${await scene.finish(lost)}`;
}

async function restoreSingle(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  await ledger.push(WRITES);
  const directory = cluster.directoryOf(1);
  await cluster.stop(1);
  await cp(directory, `${directory}-copy`, { recursive: true });
  scene.start(1);
  await cluster.ready(1);
  const lost = await scene.during(() => ledger.push(WRITES));
  await cluster.stop(1);
  await cluster.wipe(1);
  await cp(`${directory}-copy`, directory, { recursive: true });
  scene.start(1);
  await cluster.ready(1);
  await ledger.push(WRITES);
  return `state of the copy; ${await scene.finish(lost)}`;
}

async function addressChange(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  await ledger.push(WRITES);
  await scene.settled();
  for (const id of scene.ids) await cluster.stop(id);
  const swap = await cluster.readdress();
  for (const id of scene.ids) scene.start(id);
  const isLost = async (): Promise<boolean> => {
    const all = await Promise.all(scene.ids.map((id) => cluster.health(id)));
    return all.every((health) => health !== null && !health.leader);
  };
  await cluster.until(isLost, { withinMs: 180_000, what: 'nodes that find nobody' });
  await scene.kill(...scene.ids);
  swap();
  for (const id of scene.ids) scene.start(id);
  await cluster.leader();
  await ledger.push(WRITES);
  for (const id of scene.ids) await cluster.stop(id);
  swap();
  await scene.force(1);
  for (const id of [2, 3]) {
    await cluster.wipe(id);
    await scene.rejoin(id, 1);
  }
  await ledger.push(WRITES);
  return `names back: serves; new names: forced, others rebuilt; ${await scene.finish()}`;
}

async function splitBrain(scene: Scene): Promise<string> {
  const { cluster, ledger } = scene;
  await ledger.push(WRITES);
  await scene.settled();
  for (const id of scene.ids) await cluster.stop(id);
  for (const id of [1, 2]) scene.start(id, { QUEEN_RAFT_FORCE_RECOVER: String(id) });
  for (const id of [1, 2]) await scene.alone(id);
  const kept = new WriteLedger(cluster, { queue: 'kept', nodes: () => [1] });
  const gone = new WriteLedger(cluster, { queue: 'gone', nodes: () => [2] });
  await kept.push(WRITES);
  await gone.push(WRITES);
  await cluster.stop(1);
  scene.start(1, { QUEEN_RAFT_FORCE_RECOVER: '' });
  await scene.alone(1);
  await cluster.stop(2);
  for (const id of [2, 3]) {
    await cluster.wipe(id);
    await scene.rejoin(id, 1);
  }
  await kept.check();
  for (const id of scene.ids) {
    expect((await gone.compare(id)).lost).toEqual([...gone.acknowledged]);
  }
  const rest = await scene.finish();
  return `chosen side whole, ${gone.acknowledged.size} writes of the other gone; before it ${rest}`;
}

async function wipeAll(scene: Scene): Promise<void> {
  await scene.kill(...scene.ids);
  for (const id of scene.ids) await scene.cluster.wipe(id);
}

/** Pops and acknowledges so many messages as one consumer group. */
async function take({ cluster, ledger }: Scene, count: number): Promise<string[]> {
  const url =
    `${cluster.url(1)}/api/v1/pop/queue/${ledger.queue}/partition/p?consumerGroup=${GROUP}` +
    `&batch=${count}&commitOnDelivery=true&subscriptionMode=all&wait=true&timeout=20000`;
  const response = await fetch(url);
  expect(response.status).toBe(200);
  const { messages } = (await response.json()) as { messages: { transactionId: string }[] };
  return messages.map(({ transactionId }) => transactionId);
}

export const DISK_REHEARSALS: readonly Rehearsal[] = [
  { name: 'lost majority for good', run: lostForGood },
  { name: 'two volumes deleted at once', run: twoVolumes },
  { name: 'restore a cluster from `queen backup`', run: restoreBackup },
  { name: 'restore a cluster from a directory copy', run: restoreDirectory },
  {
    name: 'restore a single node',
    options: { size: 1, env: { QUEEN_RAFT_REPLICATOR: 'local', QUEEN_RAFT_PEERS: '' } },
    run: restoreSingle,
  },
  { name: 'addresses changed', run: addressChange },
  { name: 'split brain', run: splitBrain },
];
