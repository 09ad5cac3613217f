/**
 * messages.md §2.2 and §2.3, row by row: what creates queues and partitions, when a group is registered,
 * and where it starts. Words of the modes: subscriptions.spec; labels of names: push.spec.
 */
import { TestBroker } from '../../support/broker.js';
import { Calls, eventually, freshQueue, idsOf, unhurried, type Query } from '../calls.js';

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const position = (queue: string, fields: object) =>
  broker.post('/api/v1/transaction', { positions: [{ queue, consumerGroup: 'g', ...fields }] });

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('§2.2 row: created together with the message', () => {
  const viaReplay = async (queue: string): Promise<void> => {
    const source = freshQueue();
    await calls.push(source, 'dead');
    const popped = await calls.pop(source);
    await calls.ack(popped.json, undefined, { id: 'dead', status: 'dlq' });
    const [letter] = (await broker.get(`/api/v1/dlq?queue=${source}`)).json.messages;
    await broker.post(`/api/v1/dlq/${letter.id}/replay`, { queue, partition: 'p' });
  };
  const payload = Buffer.from('1').toString('base64');
  const timer = { op: 'schedule', partition: 'p', timerKey: 'k', delayMs: 0, txn: 't', payload };

  it.each<[string, (queue: string) => Promise<unknown>]>([
    ['push', (queue) => calls.push(queue, { id: 'a', partition: 'p' })],
    [
      'push of a transaction',
      (queue) =>
        broker.post('/api/v1/transaction', {
          operations: [{ type: 'push', items: [{ queue, partition: 'p', payload: 1 }] }],
        }),
    ],
    ['timer', (queue) => broker.post('/api/v1/timers', { operations: [{ ...timer, queue }] })],
    ['replay of a dead letter', viaReplay],
  ])('by a %s, with labels of the name and the implicit options', async (_what, create) => {
    const queue = `space.job.${freshQueue()}`;
    await create(queue);
    const popped = await eventually(async () => {
      const answer = await calls.popPinned(queue, 'p');
      return answer.status === 200 ? answer : null;
    });
    expect(popped.json.messages[0]).toMatchObject({ partition: 'p', offset: 0 });
    const detail = await calls.detail(queue);
    expect(detail).toMatchObject({ namespace: 'space', task: 'job', options: { leaseTime: 60 } });
    // The first append of a partition is stamped with the partition's own time.
    expect(popped.json.messages[0].createdAt).toBe(detail.partitions[0].createdAt);
  });

  it('a partition by a position on it', async () => {
    const queue = freshQueue();
    await calls.push(queue, { id: 'a', partition: 'other' });
    expect((await position(queue, { partition: 'p', offset: 0 })).json.success).toBe(true);
    const names = (await calls.detail(queue)).partitions.map((row: { name: string }) => row.name);
    expect(names).toEqual(['other', 'p']);
  });

  it('made anew after a delete it has a new number, a new UUID, and offsets from 0', async () => {
    const queue = freshQueue();
    const look = async () => {
      const [pushed] = await calls.push(queue, { id: 'a', partition: 'p' });
      const { partitionId } = (await calls.pop(queue)).json;
      return {
        offset: pushed?.offset,
        partitionId,
        id: (await calls.detail(queue)).partitions[0].id,
      };
    };
    const before = await look();
    await broker.send('DELETE', `/api/v1/resources/queues/${queue}`);
    const after = await look();
    expect([before.offset, after.offset]).toEqual([0, 0]);
    expect(Number(after.partitionId)).toBeGreaterThan(Number(before.partitionId));
    expect(after.id).not.toBe(before.id);
  });
});

describe('§2.3 row: registration', () => {
  const later = { consumerGroup: 'g', subscriptionMode: 'all', conflation: true, partitions: 5 };

  it.each<[string, (queue: string) => Promise<unknown>]>([
    ['a queue-scoped pop', (queue) => calls.pop(queue, { consumerGroup: 'g' })],
    ['a discovery pop', (queue) => calls.discover({ namespace: queue, consumerGroup: 'g' })],
    ['a position', (queue) => position(queue, { partition: 'elsewhere', offset: 0 })],
  ])('by %s that delivers nothing, and never changed by later pops', async (_what, register) => {
    const queue = freshQueue('reg');
    await calls.push(queue, { id: 'old', partition: 'p' });
    await register(queue);
    await calls.push(queue, { id: 'new', partition: 'p' });
    await broker.restart();
    const popped = await calls.pop(queue, later);
    expect(idsOf(popped)).toEqual(['new']);
    expect(popped.json).toMatchObject({ conflationConflict: true });
    expect(popped.json).not.toHaveProperty('conflation');
  });

  it('deleted and made anew it has the new policy', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'old');
    await calls.pop(queue, { consumerGroup: 'g' });
    await broker.send('DELETE', '/api/v1/consumer-groups/g');
    const popped = await calls.pop(queue, { consumerGroup: 'g', subscriptionMode: 'all' });
    expect(idsOf(popped)).toEqual(['old']);
  });

  it('by a pinned pop with conflation: every partition starts by its policy', async () => {
    const queue = freshQueue();
    await calls.push(queue, { id: 'a', partition: 'a' }, { id: 'b', partition: 'b' });
    const group = { consumerGroup: 'g', conflation: true };
    expect((await calls.popPinned(queue, 'a', group)).json.messages).toEqual([]);
    await calls.push(queue, { id: 'b2', partition: 'b' }, { id: 'b3', partition: 'b' });
    const popped = await calls.pop(queue, { ...group, subscriptionMode: 'all', partitions: 5 });
    expect(popped.json.conflation).toBe(true);
    expect(idsOf(popped)).toEqual(['b3']);
  });

  it('not by a pinned pop with conflation where the group has a cursor', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'm1', 'm2');
    const group = { consumerGroup: 'g', subscriptionMode: 'all' };
    const first = await calls.popPinned(queue, 'Default', { ...group, batch: 1, autoAck: true });
    expect(idsOf(first)).toEqual(['m1']);
    const second = await calls.popPinned(queue, 'Default', { ...group, conflation: true });
    expect(second.json).not.toHaveProperty('conflation');
    expect(idsOf(second)).toEqual(['m2']);
  });

  it('of queue mode starts at the oldest message whatever is asked, and never conflates', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    const query = { subscriptionMode: 'new', subscriptionFrom: 'now', conflation: false };
    const popped = await calls.pop(queue, query);
    expect(idsOf(popped)).toEqual(['a', 'b']);
    expect(popped.json).not.toHaveProperty('conflation');
  });
});

describe('§2.3 row: start of a registered group', () => {
  it.each(['1969-12-31T23:59:59.999Z', '0001-01-01T00:00:00Z', '1970-01-01T00:00:00Z'])(
    'timestamp %s: at the beginning, pinned or not',
    async (subscriptionFrom) => {
      const queue = freshQueue();
      await calls.push(queue, 'old');
      const wide = await calls.pop(queue, { consumerGroup: 'g', subscriptionFrom });
      expect(idsOf(wide)).toEqual(['old']);
      const pinned = { consumerGroup: 'h', subscriptionFrom };
      expect(idsOf(await calls.popPinned(queue, 'Default', pinned))).toEqual(['old']);
    },
  );

  it('timestamp beyond every time: nothing', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'old');
    const subscriptionFrom = '9999-12-31T23:59:59Z';
    for (const consumerGroup of ['g', 'h']) {
      const query = { consumerGroup, subscriptionFrom };
      const wide = consumerGroup === 'g';
      const pop = wide ? calls.pop(queue, query) : calls.popPinned(queue, 'Default', query);
      expect((await pop).status).toBe(204);
    }
  });

  it('timestamp in the future: the start is looked for until it has passed', async () => {
    const { queue, query, at } = await unhurried(async (timely) => {
      const fresh = freshQueue();
      await calls.push(fresh, 'before');
      return timely(1_200, async () => {
        const instant = Date.now() + 1_200;
        const asked = { consumerGroup: 'g', subscriptionFrom: new Date(instant).toISOString() };
        expect((await calls.pop(fresh, asked)).status).toBe(204);
        await calls.push(fresh, 'still before');
        expect((await calls.pop(fresh, asked)).status).toBe(204);
        return { queue: fresh, query: asked, at: instant };
      });
    });
    await pause(at + 100 - Date.now());
    await calls.push(queue, 'after');
    expect(idsOf(await calls.pop(queue, query))).toEqual(['after']);
  });

  it('timestamp behind the newest message: at the end', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'old');
    await pause(5);
    const subscriptionFrom = new Date().toISOString();
    const query = { consumerGroup: 'g', subscriptionFrom };
    expect((await calls.pop(queue, query)).status).toBe(204);
    await calls.push(queue, 'new');
    expect(idsOf(await calls.pop(queue, query))).toEqual(['new']);
  });
});

describe('§2.3 row: start of a pinned pop of an unregistered group', () => {
  const pinned = (queue: string, query: Query = {}) =>
    calls.popPinned(queue, 'p', { consumerGroup: 'g', ...query });
  const push = (queue: string, ...ids: string[]) =>
    calls.push(queue, ...ids.map((id) => ({ id, partition: 'p' })));

  it.each<[string, Query]>([
    ['new', { subscriptionMode: 'new' }],
    ['now', { subscriptionFrom: 'now' }],
    ['the default', {}],
  ])('%s: what is there is old, what comes is not, also over a restart', async (_what, intent) => {
    const queue = freshQueue();
    await push(queue, 'old');
    expect((await pinned(queue, intent)).status).toBe(204);
    await push(queue, 'first');
    await broker.restart();
    await push(queue, 'second');
    expect(idsOf(await pinned(queue, intent))).toEqual(['first', 'second']);
  });

  it('the first contact decides, not what later pops ask for', async () => {
    const queue = freshQueue();
    await push(queue, 'old');
    await pinned(queue, { subscriptionMode: 'new' });
    await push(queue, 'new');
    expect(idsOf(await pinned(queue, { subscriptionMode: 'all' }))).toEqual(['new']);
  });

  it('an instant between two messages, kept over a restart and for pops that name none', async () => {
    const queue = freshQueue();
    await push(queue, 'old');
    await pause(5);
    const subscriptionFrom = new Date().toISOString();
    expect((await pinned(queue, { subscriptionFrom })).status).toBe(204);
    await push(queue, 'new');
    await broker.restart();
    expect(idsOf(await pinned(queue))).toEqual(['new']);
  });

  it('an instant to come: what is pushed before it is passed over', async () => {
    const { queue, at } = await unhurried(async (timely) => {
      const fresh = freshQueue();
      await push(fresh, 'old');
      return timely(1_200, async () => {
        const instant = Date.now() + 1_200;
        const subscriptionFrom = new Date(instant).toISOString();
        expect((await pinned(fresh, { subscriptionFrom })).status).toBe(204);
        await push(fresh, 'still before');
        expect((await pinned(fresh)).status).toBe(204);
        return { queue: fresh, at: instant };
      });
    });
    await pause(at + 100 - Date.now());
    await push(queue, 'after');
    expect(idsOf(await pinned(queue))).toEqual(['after']);
  });

  it('holds for its partition alone', async () => {
    const queue = freshQueue();
    await calls.push(queue, { id: 'p0', partition: 'p' }, { id: 'q0', partition: 'q' });
    await pinned(queue);
    const other = { consumerGroup: 'g', subscriptionMode: 'all' };
    expect(idsOf(await calls.popPinned(queue, 'q', other))).toEqual(['q0']);
  });

  it('gives way to the policy of a registration made later, unless something was taken', async () => {
    const queue = freshQueue();
    await calls.push(queue, { id: 'p0', partition: 'p' }, { id: 'q0', partition: 'q' });
    await pinned(queue);
    const query = { consumerGroup: 'g', subscriptionMode: 'all', autoAck: true };
    expect(idsOf(await calls.popPinned(queue, 'q', query))).toEqual(['q0']);
    await calls.push(queue, { id: 'q1', partition: 'q' });
    const wide = await calls.pop(queue, { ...query, partitions: 5 });
    expect(idsOf(wide).sort()).toEqual(['p0', 'q1']);
  });

  it('gives way to a seek and to a position', async () => {
    const queue = freshQueue();
    await push(queue, 'a', 'b');
    await pinned(queue);
    const path = `/api/v1/consumer-groups/g/queues/${queue}/partitions/p/seek`;
    await broker.post(path, { timestamp: '2020-01-01T00:00:00Z' });
    expect(idsOf(await pinned(queue, { batch: 1, autoAck: true }))).toEqual(['a']);
    const other = { consumerGroup: 'h' };
    await calls.popPinned(queue, 'p', other);
    await position(queue, { consumerGroup: 'h', partition: 'p', offset: 2 });
    await push(queue, 'c');
    // The position registered the group with the default policy, which must not move what it set.
    expect(idsOf(await calls.popPinned(queue, 'p', other))).toEqual(['c']);
  });

  it('is forgotten with the group', async () => {
    const queue = freshQueue();
    await push(queue, 'old');
    await pinned(queue);
    await broker.send('DELETE', '/api/v1/consumer-groups/g');
    expect(idsOf(await pinned(queue, { subscriptionMode: 'all' }))).toEqual(['old']);
  });

  it('never matters to queue mode', async () => {
    const queue = freshQueue();
    await push(queue, 'old');
    const query = { subscriptionMode: 'new', subscriptionFrom: 'now' };
    expect(idsOf(await calls.popPinned(queue, 'p', query))).toEqual(['old']);
  });

  it('counts in the depth of the group until a registration decides', async () => {
    const queue = freshQueue();
    await push(queue, 'a', 'b');
    await pinned(queue);
    await push(queue, 'c');
    expect(await calls.depth(queue, 'g')).toMatchObject({ pending: 1 });
    // Registers the group on the queue; a partition without a cursor then counts as unread.
    await position(queue, { partition: 'elsewhere', offset: 0 });
    expect(await calls.depth(queue, 'g')).toMatchObject({ pending: 3 });
  });
});
