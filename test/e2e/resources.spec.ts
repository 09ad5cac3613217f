/** Reads of queues (messages.md §9.3, admin.md §1.2): list, lanes, detail, depth, sizes, counting. */
import { TestBroker } from '../support/broker.js';
import { Calls, eventually, freshQueue, queryText, unhurried } from './calls.js';
import type { Query, Wire } from './calls.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const MICROS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/;
const ALL = { subscriptionMode: 'all' };

describe('queue resources', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  const list = (query: Query = {}) => broker.get(`/api/v1/resources/queues${queryText(query)}`);
  const rowOf = async (queue: string): Promise<Wire> =>
    (await list()).json.queues.find((row: { name: string }) => row.name === queue);
  const names = async (query: Query): Promise<string[]> =>
    (await list(query)).json.queues.map((row: { name: string }) => row.name);

  describe('list', () => {
    it('has exactly the fields of the contract', async () => {
      const queue = freshQueue('list.row');
      await calls.push(queue, { id: 'a', partition: '1' }, { id: 'b', partition: '2' });
      const answer = await list();
      expect(answer.status).toBe(200);
      const { queues, ...figures } = answer.json;
      expect(figures).toEqual({ kvRows: 0, kvBytes: 0, timerRows: 0, timerBytes: 0 });
      expect(queues[0]).toEqual({
        id: expect.stringMatching(UUID),
        name: queue,
        queue,
        namespace: 'list',
        task: expect.stringMatching(/^row/),
        storage: 'segments',
        partitions: 2,
        segments: { segments: expect.any(Number), messages: 2 },
        messages: { total: 2, pending: 2, processing: 0, completed: 0, deadLetter: 0 },
        retainedBytes: expect.any(Number),
        options: expect.objectContaining({ leaseTime: 60, maxQueueSize: 0 }),
        createdAt: expect.stringMatching(MICROS),
      });
      expect(Object.keys(queues[0].options)).toHaveLength(20);
      expect(queues[0].retainedBytes).toBeGreaterThan(0);
    });

    it('shows the newest queue first, also after a restart', async () => {
      const made = [freshQueue('order'), freshQueue('order'), freshQueue('order')];
      for (const queue of made) await calls.configure(queue, {});
      const expected = [...made].reverse();
      expect(await names({ search: 'order-' })).toEqual(expected);
      await broker.restart();
      expect(await names({ search: 'order-' })).toEqual(expected);
    });

    it('counts pending without what is leased, the detail with it', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b', 'c', 'd', 'e');
      const popped = await calls.pop(queue, { batch: 3 });
      await calls.ack(popped.json, undefined, 'a');
      const expected = { total: 5, pending: 2, processing: 2, completed: 1, deadLetter: 0 };
      expect((await rowOf(queue)).messages).toEqual(expected);
      expect((await calls.detail(queue)).totals).toEqual({ ...expected, pending: 4, failed: null });
    });

    it('takes the slowest named group for the floor, queue mode only without one', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b', 'c');
      const one = await calls.pop(queue, { batch: 1 });
      await calls.ack(one.json, undefined, 'a');
      expect((await rowOf(queue)).messages).toMatchObject({ pending: 2, completed: 1 });
      const fast = await calls.pop(queue, { consumerGroup: 'fast', ...ALL, autoAck: true });
      expect(fast.json.messages).toHaveLength(3);
      expect((await rowOf(queue)).messages).toMatchObject({ pending: 0, completed: 3 });
      await calls.pop(queue, { consumerGroup: 'slow', ...ALL, autoAck: true, batch: 1 });
      expect((await rowOf(queue)).messages).toMatchObject({ pending: 2, completed: 1 });
    });

    it('counts dead letters and leaves expired leases out', async () => {
      const queue = await unhurried(async (timely) => {
        const fresh = freshQueue();
        await calls.push(fresh, 'a', 'b', 'c');
        const first = await calls.pop(fresh, { batch: 1 });
        await calls.ack(first.json, undefined, { id: 'a', status: 'dlq' });
        await timely(1_000, async () => {
          await calls.pop(fresh, { leaseSeconds: 1 });
          expect((await rowOf(fresh)).messages).toMatchObject({ processing: 2, deadLetter: 1 });
        });
        return fresh;
      });
      const { messages } = await eventually(async () => {
        const row = await rowOf(queue);
        return row.messages.processing === 0 ? row : null;
      });
      expect(messages).toEqual({
        total: 3,
        pending: 2,
        processing: 0,
        completed: 0,
        deadLetter: 1,
      });
    });

    it('filters by namespace, task and search, and pages', async () => {
      const made = ['x', 'y', 'z'].map((task) => ({ task, queue: freshQueue('Page') }));
      for (const { task, queue } of made) {
        await broker.post('/api/v1/configure', { queue, namespace: 'paged', task });
      }
      const all = made.map(({ queue }) => queue).reverse();
      expect(await names({ namespace: 'paged' })).toEqual(all);
      expect(await names({ namespace: 'paged', task: 'y' })).toEqual([all[1]]);
      expect(await names({ task: 'z', search: 'pAgE' })).toEqual([all[0]]);
      expect(await names({ namespace: 'paged', limit: 2 })).toEqual(all.slice(0, 2));
      expect(await names({ namespace: 'paged', limit: 2, offset: 2 })).toEqual(all.slice(2));
      expect(await names({ namespace: 'paged', offset: 9 })).toEqual([]);
      expect(await names({ namespace: 'Paged' })).toEqual([]);
      expect(await names({ namespace: 'paged', limit: 'x', offset: '-1' })).toEqual(all);
      expect(await names({ namespace: '', task: '', search: all[0] ?? '' })).toEqual([all[0]]);
    });

    it('has a cheap form', async () => {
      const queue = freshQueue('lanes');
      await calls.push(queue, 'a');
      const answer = await list({ stats: 'lanes', search: 'lanes' });
      expect(answer.json).toEqual({
        stats: 'lanes',
        queues: [
          {
            id: expect.stringMatching(UUID),
            name: queue,
            queue,
            partitions: 1,
            createdAt: expect.stringMatching(MICROS),
          },
        ],
      });
      expect((await list({ stats: 'LANES' })).json.stats).toBeUndefined();
    });
  });

  describe('detail', () => {
    it('has exactly the fields of the contract', async () => {
      const queue = freshQueue();
      await calls.push(queue, { id: 'a', partition: 'b' });
      await calls.push(queue, { id: 'x', partition: 'b' }, { id: 'y', partition: 'a' });
      await calls.popPinned(queue, 'b', { autoAck: true, batch: 1 });
      const detail = await calls.detail(queue);
      const [a, b] = detail.partitions;
      const counts = (total: number, pending: number) => ({
        total,
        pending,
        processing: 0,
        completed: total - pending,
        failed: null,
        deadLetter: 0,
      });
      expect(b).toEqual({
        id: expect.stringMatching(UUID),
        name: 'b',
        createdAt: expect.stringMatching(MICROS),
        messages: counts(2, 1),
        stats: counts(2, 1),
        cursor: { totalConsumed: 1, batchesConsumed: 0 },
        lastActivity: null,
        oldestMessage: b.createdAt,
        newestMessage: expect.stringMatching(MICROS),
        retainedBytes: expect.any(Number),
      });
      expect(b.newestMessage > b.oldestMessage).toBe(true);
      expect(a.name).toBe('a');
      expect(detail).toEqual({
        id: expect.stringMatching(UUID),
        name: queue,
        namespace: queue,
        task: '',
        createdAt: expect.stringMatching(MICROS),
        options: expect.objectContaining({ leaseTime: 60 }),
        partitions: [a, b],
        segments: { segments: expect.any(Number), messages: 3 },
        totals: counts(3, 2),
        retainedBytes: a.retainedBytes + b.retainedBytes,
      });
    });

    it('shows the newest lease as last activity', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      await calls.pop(queue);
      expect((await calls.detail(queue)).partitions[0].lastActivity).toMatch(MICROS);
    });

    it('sorts partitions by name', async () => {
      const queue = freshQueue();
      const partitions = ['b', 'B', 'a1', 'a10', 'a2', '\u00e9', ''];
      await calls.push(queue, ...partitions.map((partition) => ({ partition })));
      const shown = (await calls.detail(queue)).partitions.map((row: { name: string }) => row.name);
      expect(shown).toEqual(['B', 'Default', 'a1', 'a10', 'a2', 'b', '\u00e9']);
    });
  });

  describe('depth', () => {
    it('without a group: exactly the fields of the contract', async () => {
      const queue = freshQueue();
      await calls.push(queue, { id: 'a', partition: '1' }, { id: 'b', partition: '2' });
      await calls.pop(queue);
      expect(await calls.depth(queue)).toEqual({
        queue,
        group: null,
        pending: 2,
        processing: 1,
        ready: 1,
        partitionsPending: 2,
        partitionsReady: 1,
        conflation: false,
        effectivePending: 2,
        effectiveReady: 1,
        partitions: [
          { partition: '1', pending: 1, processing: 1, ready: 0 },
          { partition: '2', pending: 1, processing: 0, ready: 1 },
        ],
      });
    });

    it('of a group counts that group alone', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b', 'c');
      await calls.pop(queue, { consumerGroup: 'g1', ...ALL, autoAck: true, batch: 2 });
      await calls.pop(queue, { consumerGroup: 'g2', ...ALL, batch: 1 });
      expect(await calls.depth(queue, 'g1')).toMatchObject({
        group: 'g1',
        pending: 1,
        processing: 0,
      });
      expect(await calls.depth(queue, 'g2')).toMatchObject({ pending: 3, processing: 1, ready: 2 });
      expect(await calls.depth(queue, 'nobody')).toMatchObject({ pending: 3, processing: 0 });
    });

    it('without a group takes the worst named one; a registered one without cursor is at -1', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b', 'c');
      await calls.pop(queue, { autoAck: true });
      expect((await calls.depth(queue)).pending).toBe(0);
      await calls.pop(queue, { consumerGroup: 'g1', ...ALL, autoAck: true, batch: 2 });
      expect((await calls.depth(queue)).pending).toBe(1);
      await calls.pop(queue, { consumerGroup: 'g2', subscriptionMode: 'new' });
      expect((await calls.depth(queue)).pending).toBe(3);
    });

    it('is linearizable: what was pushed and acked before shows', async () => {
      const queue = freshQueue();
      for (let i = 0; i < 10; i += 1) {
        await calls.push(queue, `${i}`);
        expect((await calls.depth(queue)).pending).toBe(1);
        await calls.pop(queue, { autoAck: true });
        expect((await calls.depth(queue)).pending).toBe(0);
      }
    });
  });

  describe('sizes', () => {
    it('names bytes per partition, whatever the name', async () => {
      const queue = freshQueue();
      const partitions = ['__proto__', 'a"b', 'x'];
      await calls.push(queue, ...partitions.map((partition) => ({ partition })));
      const { json, text } = await broker.get(`/api/v1/resources/queues/${queue}/sizes`);
      expect(json.queue).toBe(queue);
      expect(Object.keys(json.partitions).sort()).toEqual(['__proto__', 'a"b', 'x']);
      expect(text).toContain('"__proto__":');
      expect(json.partitions.x).toBeGreaterThan(0);
    });
  });

  it.each(['', '/depth', '/sizes', '/depth?group=g'])(
    '404 for an unknown queue: %s',
    async (rest) => {
      const answer = await broker.get(`/api/v1/resources/queues/no-such-queue${rest}`);
      expect(answer.status).toBe(404);
      expect(answer.json).toEqual({ error: 'Queue not found' });
    },
  );

  it('decodes the queue in every path', async () => {
    const queue = 'q/with %2F and \u00e9';
    await calls.push(queue, 'a');
    const path = `/api/v1/resources/queues/${encodeURIComponent(queue)}`;
    for (const rest of ['', '/depth', '/sizes']) {
      const { json } = await broker.get(path + rest);
      expect(json.name ?? json.queue).toBe(queue);
    }
  });

  it('answers /status and stats/refresh', async () => {
    expect((await broker.get('/status')).json).toMatchObject({ status: 'ok', engine: 'raft' });
    const refresh = await broker.send('POST', '/api/v1/stats/refresh');
    expect(refresh.status).toBe(200);
    expect(refresh.json).toEqual({ success: true, refreshed: false, engine: 'raft' });
  });
});

describe('QUEEN_DASH_SIZES_MAX', () => {
  it('bounds what is listed; totals still count everything', async () => {
    const broker = await TestBroker.start({ QUEEN_DASH_SIZES_MAX: '2' });
    try {
      const calls = new Calls(broker);
      const queue = freshQueue();
      await calls.push(queue, ...['1', '2', '3'].map((partition) => ({ partition })));
      const detail = await calls.detail(queue);
      expect(detail.partitions).toHaveLength(2);
      expect(detail).toMatchObject({ partitionsTruncated: true, totals: { total: 3 } });
      const sizes = (await broker.get(`/api/v1/resources/queues/${queue}/sizes`)).json;
      expect(Object.keys(sizes.partitions)).toHaveLength(2);
      expect(sizes.truncated).toBe(true);
      expect((await calls.depth(queue)).pending).toBe(3);
      const status = (await broker.get(`/api/v1/status/queues/${queue}`)).json;
      expect(status.partitions).toHaveLength(2);
      expect(status).toMatchObject({ partitionsTruncated: true });
    } finally {
      await broker.stop();
    }
  });

  it('bounds the lanes of a group and the lagging ones, and says so in both', async () => {
    const broker = await TestBroker.start({ QUEEN_DASH_SIZES_MAX: '2' });
    try {
      const calls = new Calls(broker);
      const few = freshQueue();
      const many = freshQueue();
      await calls.push(few, { partition: '1' });
      await calls.push(many, ...['1', '2', '3'].map((partition) => ({ partition })));
      const read = async (queue: string, partition: string): Promise<unknown> =>
        broker.get(
          `/api/v1/pop/queue/${queue}/partition/${partition}?consumerGroup=g&subscriptionMode=all`,
        );
      await read(few, '1');
      const whole = (await broker.get('/api/v1/consumer-groups/g')).json;
      expect(whole[few].partitions).toHaveLength(1);
      expect(whole[few]).not.toHaveProperty('truncated');
      for (const partition of ['1', '2', '3']) await read(many, partition);
      const cut = (await broker.get('/api/v1/consumer-groups/g')).json;
      expect(cut[few]).not.toHaveProperty('truncated');
      expect(cut[many].truncated).toBe(true);
      expect(cut[few].partitions.length + cut[many].partitions.length).toBe(2);
      // Each counts once it is a whole second behind.
      const lagging = await eventually(async () => {
        const some = await broker.get('/api/v1/consumer-groups/lagging?minLagSeconds=0');
        return some.json.length === 2 ? some : null;
      });
      expect(lagging.headers.get('x-queen-truncated')).toBe('true');
      const none = await broker.get('/api/v1/consumer-groups/lagging?minLagSeconds=3600');
      expect(none.json).toEqual([]);
      expect(none.headers.has('x-queen-truncated')).toBe(false);
    } finally {
      await broker.stop();
    }
  });
});
