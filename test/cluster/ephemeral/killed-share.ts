/**
 * kill -9 of an owner: exactly its share is lost, the survivors count it, and they serve its partitions
 * within the member TTL and what a placement takes.
 */
import type { EphemeralScene } from './scene.js';

const MESSAGES = 4;
/** The others hear with the next probe what it holds: one a second, and a second for its answer. */
const TOLD_MS = 6000;

export interface KilledShare {
  readonly node: number;
  /** Partitions with contents it held, of this queue and of all. */
  readonly partitions: number;
  readonly rings: number;
  /** Messages of this queue that came out afterwards, and those that had to. */
  readonly kept: number;
  readonly expected: number;
  readonly wipes: number;
  /** From the kill until pushes through both survivors are taken for all its partitions. */
  readonly servedMs: number;
  readonly differences: readonly string[];
}

export async function killOwner(
  scene: EphemeralScene,
  queue: string,
  partitions: readonly string[],
): Promise<KilledShare> {
  const { cluster } = scene;
  for (const partition of partitions) {
    const payloads = Array.from({ length: MESSAGES }, (_, n) => `${partition}:${n}`);
    await scene.push(1, queue, partition, payloads);
  }
  const node = await cluster.leader();
  const others = cluster.ids.filter((id) => id !== node);
  const owned = [...(await scene.owned(node, queue)).keys()];
  const rings = await scene.heldRings(node);
  const wipesBefore = await scene.wipes(others);
  await new Promise((resolve) => setTimeout(resolve, TOLD_MS));
  const ended = cluster.node(node).ended();
  cluster.node(node).signal('SIGKILL');
  await ended;
  const from = performance.now();
  await cluster.until(() => isServed(scene, { through: others, queue, partitions: owned }), {
    ...{ withinMs: 180_000, what: 'its partitions to be served' },
  });
  const servedMs = performance.now() - from;
  const differences: string[] = [];
  let kept = 0;
  for (const partition of partitions) {
    const at = others[kept % others.length] ?? 1;
    const popped = await scene.pop(at, queue, `partition=${partition}&batch=1000`);
    const old = popped.map(({ payload }) => payload).filter((payload) => payload !== 'new');
    const all = Array.from({ length: MESSAGES }, (_, n) => `${partition}:${n}`);
    const expected = owned.includes(partition) ? [] : all;
    kept += old.length;
    if (JSON.stringify(old) !== JSON.stringify(expected)) {
      differences.push(`${partition}: ${JSON.stringify(old)}`);
    }
  }
  let wipes = 0;
  await cluster
    .until(
      async () => {
        wipes = (await scene.wipes(others)) - wipesBefore;
        return wipes === rings;
      },
      { withinMs: 180_000, what: `${rings} wipes` },
    )
    .catch(() => differences.push(`${wipes} wipes instead of ${rings}`));
  await scene.startNode(node);
  const expected = (partitions.length - owned.length) * MESSAGES;
  const counts = { partitions: owned.length, rings, kept, expected, wipes };
  return { node, ...counts, servedMs, differences };
}

/** Through every survivor: each learns by itself that the owner is gone. */
async function isServed(
  scene: EphemeralScene,
  call: {
    readonly through: readonly number[];
    readonly queue: string;
    readonly partitions: readonly string[];
  },
): Promise<boolean> {
  const { through, queue, partitions } = call;
  const pushes = through.flatMap((id) =>
    partitions.map((partition) => scene.push(id, queue, partition, ['new'])),
  );
  const answers = await Promise.all(pushes).catch(() => []);
  return answers.length > 0 && answers.every(({ status }) => status === 201);
}
