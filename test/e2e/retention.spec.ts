/** Retention over HTTP (messages.md §2.9): each rule, readers below the start, recognition, restart. */
import { TestBroker } from '../support/broker.js';
import { Calls, eventually, freshQueue, idsOf, messagesOf, unhurried } from './calls.js';

const ENV = { RETENTION_INTERVAL: '20' };

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start(ENV);
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const fetchFrom = async (queue: string, offset: number) => {
  const entries = [{ queue, offset }];
  return (await broker.post('/api/v1/fetch', { entries })).json.entries[0];
};

/** Waits until the log of the queue's partition starts at the offset. */
const startsAt = (queue: string, logStart: number) =>
  eventually(async () => {
    const entry = await fetchFrom(queue, logStart);
    return entry.logStartOffset >= logStart ? entry : null;
  });

describe('rules', () => {
  it.each([
    ['retentionSeconds', { retentionEnabled: true, retentionSeconds: 1 }],
    ['maxWaitTimeSeconds without the switch', { maxWaitTimeSeconds: 1 }],
  ])('%s removes consumed and unconsumed messages alike', async (_, options) => {
    await unhurried(async (timely) => {
      const queue = freshQueue();
      await calls.configure(queue, options);
      await calls.push(queue, 'a', 'b');
      await startsAt(queue, 2);
      expect(idsOf(await calls.pop(queue, { batch: 10 }))).toEqual([]);
      await timely(1_000, async () => {
        await calls.push(queue, 'c');
        expect(idsOf(await calls.pop(queue, { batch: 10 }))).toEqual(['c']);
      });
    });
  });

  it('retentionSeconds without retentionEnabled removes nothing', async () => {
    const off = freshQueue();
    const on = freshQueue();
    await calls.configure(off, { retentionSeconds: 1, completedRetentionSeconds: 1 });
    await calls.configure(on, { retentionSeconds: 1, retentionEnabled: true });
    await calls.push(off, 'a');
    await calls.push(on, 'a');
    await startsAt(on, 1);
    expect((await fetchFrom(off, 0)).records).toHaveLength(1);
  });

  it('completedRetentionSeconds removes what every group and queue mode settled', async () => {
    const queue = freshQueue();
    for (const id of ['a', 'b', 'c']) await calls.push(queue, id);
    const all = { consumerGroup: 'g', subscriptionMode: 'all', batch: 10 };
    const [first] = messagesOf(await calls.pop(queue, all));
    await calls.ack(first!, 'g', 'a', 'b', 'c');
    const [head] = messagesOf(await calls.pop(queue, { batch: 2 }));
    await calls.ack(head!, undefined, 'a', 'b');
    await calls.configure(queue, { retentionEnabled: true, completedRetentionSeconds: 1 });
    await startsAt(queue, 2);
    expect((await fetchFrom(queue, 2)).records).toHaveLength(1);
    expect(idsOf(await calls.pop(queue, { batch: 10 }))).toEqual(['c']);
  });

  it('a partition without a cursor keeps everything under completed retention', async () => {
    const [kept, cut] = [freshQueue(), freshQueue()];
    const completed = { retentionEnabled: true, completedRetentionSeconds: 1 };
    await calls.configure(kept, completed);
    await calls.configure(cut, { maxWaitTimeSeconds: 1 });
    await calls.push(kept, 'a');
    await calls.push(cut, 'a');
    await startsAt(cut, 1);
    expect((await fetchFrom(kept, 0)).records).toHaveLength(1);
  });
});

describe('below the start', () => {
  let queue: string;
  let partitionId: string;

  beforeAll(async () => {
    queue = freshQueue();
    await calls.configure(queue, { retryLimit: 0 });
    await calls.push(queue, 'dead', 'b', 'c');
    const query = { consumerGroup: 'g', subscriptionMode: 'all', batch: 1 };
    const [dead] = messagesOf(await calls.pop(queue, query));
    await calls.ack(dead!, 'g', { id: 'dead', status: 'failed', error: 'boom' });
    const list = (await broker.get(`/api/v1/messages?queue=${queue}`)).json;
    partitionId = list.messages[0].partitionId;
    await calls.configure(queue, { maxWaitTimeSeconds: 1 });
    await startsAt(queue, 3);
    await calls.configure(queue, { maxWaitTimeSeconds: 0 });
    await calls.push(queue, 'd');
  });

  it('fetch is out of range and tells where the log starts', async () => {
    expect(await fetchFrom(queue, 2)).toMatchObject({
      ...{ error: 'OFFSET_OUT_OF_RANGE', records: [] },
      ...{ logStartOffset: 3, highWatermark: 4 },
    });
  });

  it('offsets by time answer the first retained one', async () => {
    const entries = [{ queue, timestamp: 0 }];
    const answer = await broker.post('/api/v1/fetch/offsets', { entries });
    expect(answer.json.entries[0]).toMatchObject({ offset: 3, logStartOffset: 3 });
  });

  it('nothing is listed or shown', async () => {
    const list = (await broker.get(`/api/v1/messages?queue=${queue}`)).json;
    expect(list.messages.map((row: { offset: number }) => row.offset)).toEqual([3]);
    const shown = await broker.get(`/api/v1/messages/${partitionId}/b`);
    expect(shown.status).toBe(404);
  });

  it('depth and lag count retained messages only', async () => {
    expect((await calls.depth(queue, 'g')).pending).toBe(1);
    expect((await calls.detail(queue)).totals).toMatchObject({ total: 1 });
    const [partition] = (await calls.depth(queue, 'g')).partitions;
    expect(partition.pending).toBe(1);
  });

  it('a group that starts at the beginning starts at the first retained message', async () => {
    const query = { consumerGroup: 'late', subscriptionMode: 'all', batch: 10 };
    expect(idsOf(await calls.pop(queue, query))).toEqual(['d']);
  });

  it('transactionIds are still recognised', async () => {
    const [row] = await calls.push(queue, 'b');
    expect(row).toMatchObject({ status: 'duplicate', offset: 1 });
  });

  it('a dead letter keeps its message and can be replayed', async () => {
    const { messages } = (await broker.get(`/api/v1/dlq?queue=${queue}`)).json;
    expect(messages).toEqual([
      expect.objectContaining({ transactionId: 'dead', data: { id: 'dead' }, offset: 0 }),
    ]);
    const replay = await broker.post(`/api/v1/dlq/${messages[0].id}/replay`);
    expect(replay.status).toBe(200);
    expect((await fetchFrom(queue, 4)).records[0].payload).toEqual({ id: 'dead' });
  });

  it('all of it is the same after a restart', async () => {
    await broker.restart();
    expect((await fetchFrom(queue, 2)).error).toBe('OFFSET_OUT_OF_RANGE');
    expect((await calls.push(queue, 'b'))[0]).toMatchObject({ status: 'duplicate', offset: 1 });
  });
});

describe('a lease over messages that go', () => {
  it('is acked without an error, and the cursor is past them', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    const [first] = messagesOf(
      await calls.pop(queue, { batch: 10, consumerGroup: 'g', subscriptionMode: 'all' }),
    );
    await calls.configure(queue, { maxWaitTimeSeconds: 1 });
    await startsAt(queue, 2);
    const rows = await calls.ack(first!, 'g', 'a', { id: 'b', status: 'dlq', error: 'late' });
    expect(rows.map((row) => row.success)).toEqual([true, true]);
    expect((await broker.get(`/api/v1/dlq?queue=${queue}`)).json.messages).toEqual([]);
    await calls.configure(queue, { maxWaitTimeSeconds: 0 });
    await calls.push(queue, 'c');
    const next = await calls.pop(queue, { batch: 10, consumerGroup: 'g' });
    expect(idsOf(next)).toEqual(['c']);
  });
});
