/** Query parameters of the three pop routes (messages.md §5.1, §5.2): types, bounds, refusals. */
import type { HttpAnswer } from '../support/broker.js';
import { TestBroker } from '../support/broker.js';
import { Calls, freshQueue, idsOf, queryText } from './calls.js';

const ROUTES = ['/api/v1/pop/queue/params', '/api/v1/pop/queue/params/partition/p', '/api/v1/pop'];
const LIMIT = 411;

describe('pop parameters', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  describe.each(ROUTES)('%s', (route) => {
    const labels = route === '/api/v1/pop' ? 'namespace=none&' : '';

    it.each([
      ['batch', 'x'],
      ['batch', ''],
      ['batch', '1.5'],
      ['batch', '1e3'],
      ['batch', ' 1'],
      ['batch', '2147483648'],
      ['batch', '-2147483649'],
      ['partitions', 'x'],
      ['partitions', '99999999999'],
      ['leaseSeconds', 'x'],
      ['leaseSeconds', '3000000000'],
      ['timeout', 'x'],
      ['timeout', '-1'],
      ['timeout', '1.5'],
      ['timeout', '18446744073709551616'],
      ['commitOnDelivery', '1'],
      ['commitOnDelivery', 'True'],
      ['commitOnDelivery', ''],
      ['autoAck', 'yes'],
      ['wait', '0'],
      ['conflation', 'no'],
      ['autopilot', 'on'],
    ])('%s=%s is 400 in plain text', async (name, value) => {
      const answer = await broker.get(`${route}?${labels}${name}=${encodeURIComponent(value)}`);
      expect(answer.status).toBe(400);
      expect(answer.headers.get('content-type')).toMatch(/^text\/plain/);
      expect(answer.text).toContain(name);
      expect(answer.json).toBeUndefined();
    });

    it.each([
      'batch=2147483647',
      'batch=-2147483648',
      'batch=0',
      'batch=%2B5',
      'partitions=0',
      'partitions=-1',
      'partitions=1000',
      'leaseSeconds=-1',
      'leaseSeconds=2147483647',
      'timeout=0',
      'timeout=18446744073709551615',
      'commitOnDelivery=false&autoAck=false',
      'subscriptionMode=',
      'subscriptionFrom=nonsense',
      'unknown=x',
      'autopilot=true',
      '&&=&',
    ])('%s is taken', async (query) => {
      const answer = await broker.get(`${route}?${labels}${query}`);
      expect([answer.status, answer.text]).toEqual([204, '']);
    });

    it('takes the last of repeated parameters', async () => {
      expect((await broker.get(`${route}?${labels}batch=x&batch=1`)).status).toBe(204);
      expect((await broker.get(`${route}?${labels}batch=1&batch=x`)).status).toBe(400);
    });
  });

  describe('bounds', () => {
    const fill = (queue: string, partitions: number, each = 1) =>
      calls.push(
        queue,
        ...Array.from({ length: partitions * each }, (_, i) => ({
          id: `${i}`,
          partition: `p${i % partitions}`,
        })),
      );

    it('delivers 200 messages when batch is absent', async () => {
      const queue = freshQueue();
      await fill(queue, 1, 201);
      expect(idsOf(await calls.pop(queue))).toHaveLength(200);
    });

    it.each([
      [0, 1],
      [-5, 1],
      [3, 3],
      [500, 5],
    ])('batch=%i delivers %i of 5', async (batch, count) => {
      const queue = freshQueue();
      await fill(queue, 1, 5);
      expect(idsOf(await calls.pop(queue, { batch }))).toHaveLength(count);
    });

    it.each([
      [0, 1],
      [-3, 1],
      [2, 2],
      [64, 64],
      [65, 64],
      [1000, 64],
    ])('partitions=%i claims %i of 66', async (partitions, claimed) => {
      const queue = freshQueue();
      await fill(queue, 66);
      expect((await calls.pop(queue, { partitions })).json.partitionsClaimed).toBe(claimed);
    });

    it('claims one partition when partitions is absent, and always on a pinned pop', async () => {
      const queue = freshQueue();
      await fill(queue, 3);
      expect((await calls.pop(queue)).json.partitionsClaimed).toBe(1);
      const pinned = await calls.popPinned(queue, 'p2', { partitions: 5 });
      expect(pinned.json.partitionsClaimed).toBe(1);
      expect(pinned.json.partition).toBe('p2');
    });

    it.each([1, 10, 50])('timeout=%i never claims, with or without wait', async (timeout) => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      for (const wait of [false, true]) {
        expect((await calls.pop(queue, { timeout, wait })).status).toBe(204);
        expect((await calls.popPinned(queue, 'Default', { timeout, wait })).status).toBe(204);
      }
      expect((await calls.discover({ namespace: queue, timeout })).status).toBe(204);
      const popped = await calls.pop(queue);
      expect(popped.json.messages[0].deliveryAttempt).toBe(1);
    });

    it('answers a waiting pop empty at its timeout minus the margin', async () => {
      const started = Date.now();
      expect((await calls.pop(freshQueue(), { wait: true, timeout: 300 })).status).toBe(204);
      const took = Date.now() - started;
      expect(took).toBeGreaterThanOrEqual(230);
      expect(took).toBeLessThan(15_000);
    });

    it('leases for leaseSeconds when positive, else for the leaseTime of the queue', async () => {
      const queue = freshQueue();
      await calls.configure(queue, { leaseTime: 120 });
      const expiry = async (query: object): Promise<number> => {
        await calls.push(queue, { partition: `p${Math.random()}` });
        const { leaseId } = (await calls.pop(queue, { ...query })).json;
        const answer = await broker.post(`/api/v1/lease/${leaseId}/extend`, { seconds: 1 });
        return Math.round((Date.parse(answer.json.expiresAt) - Date.now()) / 1000);
      };
      expect(await expiry({ leaseSeconds: 7 })).toBeLessThanOrEqual(7);
      for (const leaseSeconds of [0, -4]) {
        const seconds = await expiry({ leaseSeconds });
        expect(seconds).toBeGreaterThan(110);
        expect(seconds).toBeLessThanOrEqual(120);
      }
    });

    it('gives discovery 60 seconds whatever the leaseTime of the queue', async () => {
      const queue = freshQueue('disc');
      await calls.configure(queue, { leaseTime: 5, namespace: 'ns-lease' });
      await calls.push(queue, 'a');
      const { leaseId } = (await calls.discover({ namespace: 'ns-lease' })).json;
      const answer = await broker.post(`/api/v1/lease/${leaseId}/extend`, { seconds: 1 });
      const seconds = (Date.parse(answer.json.expiresAt) - Date.now()) / 1000;
      expect(seconds).toBeGreaterThan(50);
      expect(seconds).toBeLessThanOrEqual(60);
    });
  });

  describe('commit on delivery', () => {
    it.each([
      { commitOnDelivery: true },
      { autoAck: true },
      { autoAck: true, commitOnDelivery: false },
    ])('%j moves the cursor at once, without a lease', async (query) => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b', 'c');
      const popped = await calls.pop(queue, { ...query, batch: 2 });
      expect(popped.json.leaseId).toBe('');
      expect(popped.json.messages.map((m: { leaseId: string }) => m.leaseId)).toEqual(['', '']);
      expect(popped.json.messages[0].deliveryAttempt).toBe(1);
      expect(idsOf(await calls.pop(queue, query))).toEqual(['c']);
      expect((await calls.pop(queue, query)).status).toBe(204);
    });
  });

  describe('refusals', () => {
    const refused = (answer: HttpAnswer, ...words: string[]) => {
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual({ success: false, error: expect.any(String), messages: [] });
      for (const word of words) expect(answer.json.error).toContain(word);
    };

    it.each(['', '?namespace=', '?task=&namespace=', '?consumerGroup=g'])(
      'discovery%s without labels',
      async (query) => {
        const answer = await broker.get(`/api/v1/pop${query}`);
        refused(answer, 'namespace or task is required');
        expect(answer.json.error).toBe('namespace or task is required');
      },
    );

    it.each(ROUTES)('%s: conflation needs a consumerGroup', async (route) => {
      const query = { conflation: true, namespace: 'x' };
      refused(await broker.get(route + queryText(query)), 'consumerGroup');
      refused(
        await broker.get(route + queryText({ ...query, consumerGroup: '' })),
        'consumerGroup',
      );
    });

    it.each(['commitOnDelivery', 'autoAck'])(
      'conflation excludes %s, naming both',
      async (name) => {
        const query = { conflation: true, consumerGroup: 'g', namespace: 'x', [name]: true };
        for (const route of ROUTES) {
          refused(await broker.get(route + queryText(query)), 'commitOnDelivery', 'autoAck');
        }
      },
    );

    it('refuses an empty queue name in the path', async () => {
      expect((await broker.get('/api/v1/pop/queue/')).status).toBeGreaterThanOrEqual(400);
    });

    it.each([
      ['queue', `/api/v1/pop/queue/${'q'.repeat(LIMIT + 1)}`],
      ['partition', `/api/v1/pop/queue/q/partition/${'p'.repeat(LIMIT)}`],
      ['group', `/api/v1/pop/queue/q?consumerGroup=${'g'.repeat(LIMIT)}`],
      ['group', `/api/v1/pop?namespace=n&consumerGroup=${'g'.repeat(LIMIT + 1)}`],
    ])('413 names the %s', async (field, path) => {
      const answer = await broker.get(path);
      expect([answer.status, answer.json.code]).toEqual([413, 'name_too_long']);
      expect(answer.json.error).toContain(field);
      expect(answer.json.error).toContain('447');
    });

    it('takes an empty consumerGroup for none', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      const popped = await broker.get(`/api/v1/pop/queue/${queue}?consumerGroup=`);
      expect(popped.json.consumerGroup).toBe('__QUEUE_MODE__');
    });
  });
});
