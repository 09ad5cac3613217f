/** Partitions on several owners, reached through any node; an owner that stops, and one that dies. */
import { EphemeralScene } from './scene.js';

jest.setTimeout(240_000);

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
      withinMs: 20_000,
      what: 'reset',
    });
    await pushAll('managed', 1);
    const removed = await scene.send(1, 'DELETE', '/queue/managed');
    expect(removed.body).toMatchObject({ deleted: true, declared: true });
    await scene.cluster.until(async () => (await total()) === 0, {
      withinMs: 20_000,
      what: 'delete',
    });
  });

  it('SIGTERM of an owner delivers every ring, leases and positions included; they come back with it', async () => {
    await pushAll('moved', 5);
    // One acknowledged, one leased, one failed, the rest unread; and a second group in between.
    for (const partition of PARTITIONS) {
      const popped = await scene.pop(2, 'moved', `partition=${partition}&batch=3&group=g`);
      await scene.send(3, 'POST', '/ack', {
        ...{ queue: 'moved', group: 'g' },
        acks: [{ id: popped[0]!.id }, { id: popped[2]!.id, status: 'failed' }],
      });
      await scene.pop(1, 'moved', `partition=${partition}&batch=3&group=h&commitOnDelivery=true`);
    }
    const old = 2;
    const share = await scene.share(old, 'moved');
    expect(share.partitions).toBeGreaterThan(0);
    const handed = await scene.stopNode(old);
    expect(handed).toMatchObject({ lost: 0, stillShipping: 0 });
    expect(handed.delivered).toBe(handed.rings);
    expect(handed.messages).toBeGreaterThanOrEqual(share.depth);
    const left = await Promise.all([1, 3].map((id) => scene.share(id, 'moved')));
    expect(left.reduce((sum, { partitions }) => sum + partitions, 0)).toBe(6);
    await scene.startNode(old);
    await scene.cluster.until(
      async () => (await scene.share(old, 'moved')).partitions === share.partitions,
      { withinMs: 30_000, what: 'the partitions to move back' },
    );
    for (const [i, partition] of PARTITIONS.entries()) {
      const id = 1 + (i % 3);
      const g = await scene.pop(id, 'moved', `partition=${partition}&batch=9&group=g`);
      const seen = g.map(({ payload }) => payload);
      // What was leased comes back when it moved; else the lease still runs where it was.
      const all = [`${partition}:1`, `${partition}:2`, `${partition}:3`, `${partition}:4`];
      expect([all, all.slice(1)]).toContainEqual(seen);
      const failed = g.find(({ payload }) => payload === `${partition}:2`);
      expect(failed?.attempts).toBe(2);
      const h = await scene.pop(id, 'moved', `partition=${partition}&batch=9&group=h`);
      expect(h.map(({ payload }) => payload)).toEqual([`${partition}:4`]);
    }
    for (const id of [1, 2, 3])
      expect(await scene.metric(id, 'queen_ephemeral_wipes_total')).toBe(0);
  });

  it('kill -9 loses exactly the share of that node, says so, and its partitions are served again', async () => {
    await pushAll('killed', 4);
    const old = await scene.cluster.leader();
    const others = [1, 2, 3].filter((id) => id !== old);
    const share = await scene.share(old, 'killed');
    const owned: string[] = [];
    const { body } = await scene.send(old, 'GET', '/queues/killed/depth');
    for (const one of body['partitions'] as { partition: string }[]) owned.push(one.partition);
    expect([owned.length, share.depth]).toEqual([share.partitions, share.partitions * 4]);
    expect(owned.length).toBeGreaterThan(0);
    const rings = await heldRings(old);
    // The others hear of it with the next probe.
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const ended = scene.cluster.node(old).ended();
    scene.cluster.node(old).signal('SIGKILL');
    await ended;
    const from = performance.now();
    await scene.cluster.until(
      async () => {
        const pushed = await Promise.all(
          // Through both: each learns by itself that the owner is gone.
          others.flatMap((id) =>
            owned.map((partition) => scene.push(id, 'killed', partition, ['new'])),
          ),
        ).catch(() => []);
        return pushed.length > 0 && pushed.every(({ status }) => status === 201);
      },
      { withinMs: 30_000, what: 'its partitions to be served' },
    );
    const servedMs = performance.now() - from;
    process.stdout.write(
      `partitions of the dead node served again after ${servedMs.toFixed(0)} ms\n`,
    );
    expect(servedMs).toBeLessThan(TTL_MS * 2);
    for (const partition of PARTITIONS) {
      const popped = await scene.pop(others[1]!, 'killed', `partition=${partition}&batch=100`);
      const kept = popped.map(({ payload }) => payload).filter((payload) => payload !== 'new');
      const expected = [0, 1, 2, 3].map((n) => `${partition}:${n}`);
      expect([partition, kept]).toEqual([partition, owned.includes(partition) ? [] : expected]);
    }
    await scene.cluster.until(
      async () => {
        const wipes = await Promise.all(
          others.map((id) => scene.metric(id, 'queen_ephemeral_wipes_total')),
        );
        return wipes.reduce((sum, one) => sum + one, 0) === rings;
      },
      { withinMs: 20_000, what: `${rings} wipes` },
    );
    await scene.startNode(old);
  });

  async function heldRings(id: number): Promise<number> {
    const { body } = await scene.send(id, 'GET', '/queues');
    let rings = 0;
    for (const { queue } of body['queues'] as { queue: string }[]) {
      const depth = await scene.send(id, 'GET', `/queues/${queue}/depth`);
      const partitions = (depth.body['partitions'] ?? []) as { bytes: number }[];
      rings += partitions.filter(({ bytes }) => bytes > 0).length;
    }
    return rings;
  }
});
