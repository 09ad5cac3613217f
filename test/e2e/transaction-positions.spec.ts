/** Positions of transactions (messages.md §8.1) and reading them back (§10). */
import { TestBroker } from '../support/broker.js';
import { Calls, freshQueue, idsOf } from './calls.js';
import type { Wire } from './calls.js';

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const set = async (...positions: object[]): Promise<Wire> =>
  (await broker.post('/api/v1/transaction', { positions })).json;

const read = async (consumerGroup: string, ...entries: object[]): Promise<Wire> => {
  const body = entries.length === 0 ? { consumerGroup } : { consumerGroup, entries };
  return (await broker.post('/api/v1/consumer-groups/positions', body)).json.entries;
};

describe('positions', () => {
  it('say where the group reads on, with their metadata, also after a restart', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b', 'c');
    const metadata = 'from "here" — ü';
    const done = await set({ queue, consumerGroup: 'g', offset: 2, metadata });
    expect(done.results).toEqual([{ index: 0, type: 'position', opIndex: 0, success: true }]);
    const wanted = [{ queue, partition: 'Default', offset: 2, metadata }];
    expect(await read('g', { queue })).toEqual(wanted);
    expect(await read('g')).toEqual(wanted);
    await broker.restart();
    expect(await read('g', { queue })).toEqual(wanted);
    expect(idsOf(await calls.pop(queue, { consumerGroup: 'g' }))).toEqual(['c']);
  });

  it('end the lease and forget failed attempts', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    const first = await calls.pop(queue);
    await set({ queue, consumerGroup: '__QUEUE_MODE__', offset: 1 });
    expect((await calls.ack(first.json, undefined, 'a'))[0]?.success).toBe(false);
    const next = await calls.pop(queue);
    expect(idsOf(next)).toEqual(['b']);
    expect(next.json.messages[0].deliveryAttempt).toBe(1);
  });

  it('change nothing when they say what is so: the lease stays', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    const first = await calls.pop(queue);
    const done = await set({ queue, consumerGroup: '__QUEUE_MODE__', offset: 0 });
    expect(done.success).toBe(true);
    expect((await calls.ack(first.json, undefined, 'a'))[0]?.success).toBe(true);
  });

  it('register a group with the mode they carry', async () => {
    const queue = freshQueue();
    await calls.push(queue, { id: 'a', partition: 'p1' }, { id: 'b', partition: 'p2' });
    const at = (consumerGroup: string, subscriptionMode?: string): object => ({
      ...{ queue, consumerGroup, partition: 'p1', offset: 1 },
      ...(subscriptionMode === undefined ? {} : { subscriptionMode }),
    });
    await set(at('from-start', 'all'), at('by-default'));
    expect(idsOf(await calls.pop(queue, { consumerGroup: 'from-start' }))).toEqual(['b']);
    expect((await calls.pop(queue, { consumerGroup: 'by-default' })).status).toBe(204);
  });

  it('create a partition, not a queue; null creates nothing', async () => {
    const queue = freshQueue();
    const at = { queue, consumerGroup: 'g', partition: 'new', offset: 0 };
    expect(await set(at)).toMatchObject({ success: false, reason: 'queue_not_found' });
    await calls.configure(queue, {});
    expect(await set({ ...at, offset: null })).toMatchObject({ success: true });
    expect((await calls.detail(queue)).partitions).toEqual([]);
    expect(await set(at)).toMatchObject({ success: true });
    expect((await calls.detail(queue)).partitions).toMatchObject([{ name: 'new' }]);
    await calls.push(queue, { id: 'a', partition: 'new' });
    expect(idsOf(await calls.pop(queue, { consumerGroup: 'g' }))).toEqual(['a']);
  });

  it('forget a cursor: its group starts by its policy again', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    const at = { queue, consumerGroup: 'g', subscriptionMode: 'all' };
    await set({ ...at, offset: 2, metadata: 'm' });
    await set({ ...at, offset: null });
    expect(await read('g', { queue })).toEqual([{ queue, partition: 'Default', offset: null }]);
    expect(idsOf(await calls.pop(queue, { consumerGroup: 'g' }))).toEqual(['a', 'b']);
  });

  it('skip messages that are yet to come when they lie beyond the end', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    await set({ queue, consumerGroup: 'g', offset: 3 });
    expect(await read('g', { queue })).toMatchObject([{ offset: 3, metadata: null }]);
    await calls.push(queue, 'b', 'c', 'd', 'e');
    expect(idsOf(await calls.pop(queue, { consumerGroup: 'g' }))).toEqual(['d', 'e']);
  });

  it('take 4,096 bytes of metadata and no more', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    const at = { queue, consumerGroup: 'g', offset: 1 };
    expect(await set({ ...at, metadata: 'ü'.repeat(2048) })).toMatchObject({ success: true });
    const more = await set({ ...at, metadata: `${'ü'.repeat(2048)}x` });
    expect(more).toMatchObject({ success: false, reason: 'too_large', results: [] });
  });

  it('are taken together with the push they belong to', async () => {
    const queue = freshQueue();
    const positions = [{ queue, consumerGroup: 'g', offset: 1, subscriptionMode: 'all' }];
    const operations = [{ type: 'push', queue, payload: 1, transactionId: 'a' }];
    const first = await broker.post('/api/v1/transaction', { operations, positions });
    expect(first.json.success).toBe(true);
    expect(await read('g', { queue })).toMatchObject([{ offset: 1 }]);
    const moved = [{ queue, consumerGroup: 'g', offset: 0 }];
    const again = await broker.post('/api/v1/transaction', { operations, positions: moved });
    expect(again.json.reason).toBe('duplicate');
    expect(await read('g', { queue })).toMatchObject([{ offset: 1 }]);
  });
});
