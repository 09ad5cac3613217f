/** Which partitions a pop gets and what the answer looks like (messages.md §5.3 to §5.5, §2.1, G3). */
import { TestBroker } from '../support/broker.js';
import { Calls, freshQueue, idsOf } from './calls.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('pop', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  describe('answer', () => {
    it('has exactly the fields of the contract', async () => {
      const queue = freshQueue();
      const [pushed] = await calls.push(queue, { id: 'o-1', partition: 'c-9', payload: { n: 1 } });
      const group = { consumerGroup: 'billing', subscriptionMode: 'all' };
      const { json, status, headers } = await calls.pop(queue, group);
      expect(status).toBe(200);
      expect(headers.get('content-type')).toMatch(/^application\/json/);
      expect(json).toEqual({
        success: true,
        queue,
        partition: 'c-9',
        partitionId: expect.stringMatching(/^\d+$/),
        leaseId: expect.stringMatching(UUID),
        consumerGroup: 'billing',
        messages: [
          {
            id: pushed!.message_id,
            transactionId: 'o-1',
            traceId: null,
            data: { n: 1 },
            producerSub: null,
            createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
            partitionId: json.partitionId,
            partition: 'c-9',
            leaseId: json.leaseId,
            consumerGroup: 'billing',
            deliveryAttempt: 1,
            offset: 0,
          },
        ],
        partitionsClaimed: 1,
      });
    });

    it('is 204 without a body and without content-length when there is nothing', async () => {
      const answer = await calls.pop(freshQueue());
      expect([answer.status, answer.text]).toEqual([204, '']);
      expect(answer.headers.get('content-length')).toBeNull();
      expect(answer.headers.get('content-type')).toBeNull();
    });

    it('groups messages by claim, ascending inside, one lease id, head of the first claim', async () => {
      const queue = freshQueue();
      for (const partition of ['a', 'b', 'c']) {
        await calls.push(
          queue,
          { id: `${partition}0`, partition },
          { id: `${partition}1`, partition },
        );
      }
      const { json } = await calls.pop(queue, { partitions: 3 });
      expect(json.partitionsClaimed).toBe(3);
      const ids = json.messages.map((message: { transactionId: string }) => message.transactionId);
      expect(ids).toEqual(['a0', 'a1', 'b0', 'b1', 'c0', 'c1']);
      expect(json.partition).toBe('a');
      expect(json.partitionId).toBe(json.messages[0].partitionId);
      expect(new Set(json.messages.map((m: { leaseId: string }) => m.leaseId))).toEqual(
        new Set([json.leaseId]),
      );
    });

    it('says __QUEUE_MODE__ when no group was named', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      expect((await calls.pop(queue)).json.consumerGroup).toBe('__QUEUE_MODE__');
    });
  });

  describe('queue scope', () => {
    it('spends batch over the partitions one by one', async () => {
      const queue = freshQueue();
      for (const partition of ['a', 'b', 'c']) {
        const items = [0, 1, 2].map((n) => ({ id: `${partition}${n}`, partition }));
        await calls.push(queue, ...items);
      }
      const first = await calls.pop(queue, { batch: 4, partitions: 10 });
      expect(idsOf(first)).toEqual(['a0', 'a1', 'a2', 'b0']);
      expect(first.json.partitionsClaimed).toBe(2);
      expect(idsOf(await calls.pop(queue, { batch: 2, partitions: 10 }))).toEqual(['c0', 'c1']);
      expect((await calls.pop(queue, { partitions: 10 })).status).toBe(204);
    });

    it('may end a batch inside an append and goes on there', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b', 'c');
      const first = await calls.pop(queue, { batch: 2 });
      expect(idsOf(first)).toEqual(['a', 'b']);
      await calls.ack(first.json, undefined, 'a', 'b');
      expect(idsOf(await calls.pop(queue))).toEqual(['c']);
    });

    it('re-queues a partition at the back after commit-on-delivery', async () => {
      const queue = freshQueue();
      const one = (partition: string) => [0, 1].map((n) => ({ id: `${partition}${n}`, partition }));
      await calls.push(queue, ...one('a'));
      await calls.push(queue, ...one('b'));
      const seen: string[] = [];
      for (let i = 0; i < 4; i += 1) {
        seen.push(...idsOf(await calls.pop(queue, { batch: 1, autoAck: true })));
      }
      expect(seen).toEqual(['a0', 'b0', 'a1', 'b1']);
    });

    it('creates a missing queue, registers the group, and answers empty', async () => {
      const queue = freshQueue('shop.orders');
      expect((await calls.pop(queue, { consumerGroup: 'g' })).status).toBe(204);
      const detail = await calls.detail(queue);
      expect(detail).toMatchObject({ namespace: 'shop', partitions: [] });
      expect(detail.options.leaseTime).toBe(60);
      await calls.push(queue, 'later');
      expect(idsOf(await calls.pop(queue, { consumerGroup: 'g' }))).toEqual(['later']);
    });

    it('does not create the partition Default by popping', async () => {
      const queue = freshQueue();
      await calls.pop(queue);
      expect((await calls.detail(queue)).partitions).toEqual([]);
    });
  });

  describe('pinned scope', () => {
    it('never creates a queue or a partition', async () => {
      const queue = freshQueue();
      expect((await calls.popPinned(queue, 'p')).status).toBe(204);
      expect((await broker.get(`/api/v1/resources/queues/${queue}`)).status).toBe(404);
      await calls.push(queue, { id: 'a', partition: 'x' });
      expect((await calls.popPinned(queue, 'p')).status).toBe(204);
      expect((await calls.detail(queue)).partitions).toHaveLength(1);
    });

    it('takes exactly its partition', async () => {
      const queue = freshQueue();
      await calls.push(queue, { id: 'a', partition: 'x' }, { id: 'b', partition: 'y' });
      const popped = await calls.popPinned(queue, 'y');
      expect(idsOf(popped)).toEqual(['b']);
      expect((await calls.popPinned(queue, 'y')).status).toBe(204);
    });

    it('decodes names in the path, slashes included', async () => {
      const queue = 'a/b c%20+\u00e9';
      await calls.push(queue, { id: 'a', partition: 'x/y z' });
      const popped = await calls.popPinned(queue, 'x/y z');
      expect(popped.json).toMatchObject({ queue, partition: 'x/y z' });
    });

    it('keeps a % that is no escape', async () => {
      await calls.push('100%', 'a');
      expect(idsOf(await broker.get('/api/v1/pop/queue/100%'))).toEqual(['a']);
      await calls.push('50%zz', 'b');
      expect(idsOf(await broker.get('/api/v1/pop/queue/50%zz'))).toEqual(['b']);
    });
  });

  describe('discovery scope', () => {
    const configured = async (namespace: string, task: string): Promise<string> => {
      const queue = freshQueue('d');
      await calls.configure(queue, { namespace, task });
      await calls.push(queue, `${queue}-0`, `${queue}-1`);
      return queue;
    };

    it('matches labels exactly, every given one', async () => {
      const both = await configured('ns1', 'alpha');
      await configured('ns1', 'beta');
      await configured('ns10', 'alpha');
      const popped = await calls.discover({ namespace: 'ns1', task: 'alpha', partitions: 10 });
      expect(idsOf(popped)).toEqual([`${both}-0`, `${both}-1`]);
      expect(popped.json.queue).toBe('');
      expect((await calls.discover({ namespace: 'NS1' })).status).toBe(204);
    });

    it('walks queues sharing batch and partitions', async () => {
      const queues = [await configured('ns2', 'a'), await configured('ns2', 'b')];
      const popped = await calls.discover({ namespace: 'ns2', batch: 3, partitions: 10 });
      expect(idsOf(popped)).toHaveLength(3);
      expect(popped.json.partitionsClaimed).toBe(2);
      await configured('ns3', 'a');
      await configured('ns3', 'b');
      const one = await calls.discover({ namespace: 'ns3', batch: 10 });
      expect(one.json.partitionsClaimed).toBe(1);
      expect(queues).toHaveLength(2);
    });

    it('by task alone', async () => {
      const queue = await configured('ns4', 'only-task');
      expect(idsOf(await calls.discover({ task: 'only-task' }))).toContain(`${queue}-0`);
    });

    it('registers the group on every matching queue and creates none', async () => {
      const a = await configured('ns5', 'a');
      const b = await configured('ns5', 'b');
      const group = { consumerGroup: 'late', namespace: 'ns5' };
      expect((await calls.discover(group)).status).toBe(204);
      await calls.push(a, 'new-a');
      await calls.push(b, 'new-b');
      expect(idsOf(await calls.pop(b, { consumerGroup: 'late' }))).toEqual(['new-b']);
      expect(idsOf(await calls.pop(a, { consumerGroup: 'late' }))).toEqual(['new-a']);
      expect((await calls.discover({ namespace: 'nothing-here' })).status).toBe(204);
    });

    it('does not wait', async () => {
      const started = Date.now();
      const query = { namespace: 'nothing-here', wait: true, timeout: 40_000 };
      expect((await calls.discover(query)).status).toBe(204);
      expect(Date.now() - started).toBeLessThan(15_000);
    });
  });

  describe('groups', () => {
    it('do not influence each other', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b');
      const all = { subscriptionMode: 'all' };
      for (const consumerGroup of ['g1', 'g2', '__QUEUE_MODE__']) {
        const popped = await calls.pop(queue, { ...all, consumerGroup });
        expect(idsOf(popped)).toEqual(['a', 'b']);
      }
      expect(idsOf(await calls.pop(queue))).toEqual([]);
    });
  });

  it('answers HEAD without taking anything', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    expect((await broker.send('HEAD', `/api/v1/pop/queue/${queue}`)).status).toBe(204);
    expect((await calls.pop(queue)).json.messages[0].deliveryAttempt).toBe(1);
  });
});
