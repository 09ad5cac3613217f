/** Partitions on several owners, reached through any node; an owner that stops, and one that dies. */
import { killOwner } from './killed-share.js';
import { MovedRingsRun } from './moved-rings.js';
import { EphemeralScene } from './scene.js';

jest.setTimeout(480_000);

const PARTITIONS = ['p1', 'p2', 'p3', 'p4', 'p5', 'p6'];
const TTL_MS = 4000;

describe('three nodes', () => {
  let scene: EphemeralScene;

  beforeAll(async () => {
    scene = await EphemeralScene.start();
  });

  afterAll(() => scene.remove());

  const pushAll = async (queue: string, count: number): Promise<void> => {
    for (const partition of PARTITIONS) {
      const payloads = Array.from({ length: count }, (_, n) => `${partition}:${n}`);
      expect((await scene.push(1, queue, partition, payloads)).status).toBe(201);
    }
  };

  it('six partitions pushed through one node land on several owners and pop through any node', async () => {
    await pushAll('spread', 3);
    const shares = await Promise.all([1, 2, 3].map((id) => scene.share(id, 'spread')));
    expect(shares.filter(({ partitions }) => partitions > 0).length).toBeGreaterThan(1);
    expect(shares.reduce((sum, { depth }) => sum + depth, 0)).toBe(18);
    for (const [i, partition] of PARTITIONS.entries()) {
      const id = 1 + (i % 3);
      const popped = await scene.pop(id, 'spread', `partition=${partition}&batch=2`);
      expect(popped.map(({ payload }) => payload)).toEqual([`${partition}:0`, `${partition}:1`]);
      const acked = await scene.ack(
        1 + ((i + 1) % 3),
        'spread',
        popped.map((one) => one.id),
      );
      expect(acked.body['results']).toEqual(
        popped.map((one) => ({ id: one.id, outcome: 'acked' })),
      );
      const rest = await scene.pop(1 + ((i + 2) % 3), 'spread', `partition=${partition}&batch=9`);
      expect(rest.map(({ payload }) => payload)).toEqual([`${partition}:2`]);
    }
    const forwarded = await scene.metric(1, 'queen_ephemeral_forwarded_total');
    expect(forwarded).toBeGreaterThan(0);
  });

  it('a pop that waits at another node gets what is pushed through a third', async () => {
    const waits = PARTITIONS.map((partition, i) =>
      scene.pop(1 + (i % 3), 'waited', `partition=${partition}&wait=true&timeout=20000`),
    );
    for (const partition of PARTITIONS) await scene.push(2, 'waited', partition, [partition]);
    const popped = await Promise.all(waits);
    expect(popped.map(([message]) => message?.payload)).toEqual(PARTITIONS);
  });

  it('options reach every node, a reset and a deletion too', async () => {
    const configured = await scene.send(2, 'POST', '/configure', {
      queue: 'managed',
      options: { maxLength: 50 },
    });
    expect(configured).toMatchObject({ status: 201, body: { declared: true } });
    await pushAll('managed', 1);
    const total = async (): Promise<number> =>
      (await Promise.all([1, 2, 3].map((id) => scene.share(id, 'managed')))).reduce(
        (sum, { depth }) => sum + depth,
        0,
      );
    expect(await total()).toBe(6);
    await scene.send(3, 'POST', '/reset', { queue: 'managed' });
    await scene.cluster.until(async () => (await total()) === 0, {
      withinMs: 180_000,
      what: 'reset',
    });
    await pushAll('managed', 1);
    const removed = await scene.send(1, 'DELETE', '/queue/managed');
    expect(removed.body).toMatchObject({ deleted: true, declared: true });
    await scene.cluster.until(async () => (await total()) === 0, {
      withinMs: 180_000,
      what: 'delete',
    });
  });

  it('what is refused at the owner comes back as it is, through any node', async () => {
    await scene.send(2, 'POST', '/configure', { queue: 'bounded', options: { maxLength: 1 } });
    for (const partition of PARTITIONS.slice(0, 2)) {
      await scene.push(1, 'bounded', partition, [1]);
      for (const id of [1, 2, 3]) {
        const { status, body } = await scene.push(id, 'bounded', partition, [2]);
        expect([id, status, body['code']]).toEqual([id, 429, 'queue_full']);
      }
    }
  });

  it('SIGTERM of an owner delivers every ring with all it carries; they come back with it', async () => {
    const moved = await new MovedRingsRun(scene, PARTITIONS).run();
    expect(moved.differences).toEqual([]);
    expect(moved.compared).toBe(3 + 5 * PARTITIONS.length);
    expect(moved.partitions).toBeGreaterThan(0);
    const { handed } = moved;
    expect(handed).toMatchObject({ lost: 0, stillShipping: 0, delivered: handed.rings });
    expect(handed.rings).toBeGreaterThanOrEqual(moved.partitions);
    expect(await scene.wipes([1, 2, 3])).toBe(0);
  });

  it('kill -9 loses exactly the share of that node, says so, and its partitions are served again', async () => {
    const servedMs: number[] = [];
    // Again, up to three times in all, when the machine was busy at that moment.
    while (servedMs.length < 3 && Math.min(...servedMs) >= TTL_MS * 2) {
      const killed = await killOwner(scene, `killed-${servedMs.length}`, PARTITIONS);
      expect(killed.differences).toEqual([]);
      expect(killed.partitions).toBeGreaterThan(0);
      expect([killed.kept, killed.wipes]).toEqual([killed.expected, killed.rings]);
      process.stdout.write(
        `partitions of the dead node served again after ${killed.servedMs.toFixed(0)} ms\n`,
      );
      servedMs.push(killed.servedMs);
    }
    expect(Math.min(...servedMs)).toBeLessThan(TTL_MS * 2);
  });
});
