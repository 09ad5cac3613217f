/** Pushes at the limits of one entry and of the disk (messages.md §4.2 step 5 and 9, §14.3, G26). */
import { TestBroker } from '../support/broker.js';
import { Calls, freshQueue, idsOf } from './calls.js';

describe('a push larger than one entry', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start({ QUEEN_RAFT_ENTRY_MAX_BYTES: '4096' });
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  const items = (sizes: readonly number[]) =>
    sizes.map((size, i) => ({ id: `${i}`, partition: `p${i}`, payload: 'x'.repeat(size) }));

  it('is cut by partitions, and still answered as one', async () => {
    const queue = freshQueue();
    const rows = await calls.push(queue, ...items([2_000, 2_000, 2_000, 2_000]));
    expect(rows.map(({ index, status, offset }) => [index, status, offset])).toEqual([
      [0, 'queued', 0],
      [1, 'queued', 0],
      [2, 'queued', 0],
      [3, 'queued', 0],
    ]);
    expect((await calls.detail(queue)).totals.total).toBe(4);
  });

  it('answers items of a partition that is too large alone with error, 201, the rest is stored', async () => {
    const queue = freshQueue();
    const rows = await calls.push(queue, ...items([10, 9_000, 10]));
    expect(rows.map(({ status }) => status)).toEqual(['queued', 'error', 'queued']);
    expect(rows[1]).not.toHaveProperty('offset');
    expect(rows[1]).toMatchObject({ index: 1, transaction_id: '1', queueName: queue });
    expect(idsOf(await calls.pop(queue, { partitions: 5 }))).toEqual(['0', '2']);
  });

  it('gives a repeat of an errored item the same error', async () => {
    const queue = freshQueue();
    const huge = { id: 'same', payload: 'x'.repeat(9_000) };
    const rows = await calls.push(queue, huge, { id: 'same', payload: 1 });
    expect(rows.map(({ status }) => status)).toEqual(['error', 'error']);
  });
});

describe('a disk that is too full', () => {
  it('refuses pushes with 507 and nothing else', async () => {
    const broker = await TestBroker.start();
    try {
      const calls = new Calls(broker);
      await calls.push('q', 'a', 'b');
      await broker.restart({ QUEEN_RAFT_DISK_HIGH_PCT: '1', QUEEN_RAFT_DISK_LOW_PCT: '1' });
      const refused = await broker.post('/api/v1/push', { items: [{ queue: 'q', payload: 1 }] });
      expect(refused.status).toBe(507);
      expect(refused.json).toEqual({ error: expect.any(String), code: 'storage_full' });
      expect(refused.headers.get('retry-after')).toBeNull();
      // Before names are looked at, after the shape and the empty list.
      const long = { items: [{ queue: 'q'.repeat(600), payload: 1 }] };
      expect((await broker.post('/api/v1/push', long)).status).toBe(507);
      expect((await broker.post('/api/v1/push', { items: [] })).status).toBe(201);
      expect((await broker.post('/api/v1/push', { items: 1 })).status).toBe(400);
      const popped = await calls.pop('q', { batch: 1 });
      expect(idsOf(popped)).toEqual(['a']);
      const extended = await broker.post(`/api/v1/lease/${popped.json.leaseId}/extend`, {});
      expect(extended.json.success).toBe(true);
      expect((await calls.ack(popped.json, undefined, 'a'))[0]?.success).toBe(true);
      expect((await calls.pop('fresh-queue')).status).toBe(204);
      expect((await calls.configure('q', {})).status).toBe(200);
      expect((await broker.send('DELETE', '/api/v1/resources/queues/q')).status).toBe(200);
    } finally {
      await broker.stop();
    }
  });
});
