/** Last-value delivery over HTTP (messages.md §2.7, §5.1, §5.2, §5.7). */
import { TestBroker } from '../support/broker.js';
import { Calls, freshQueue, idsOf } from './calls.js';

const GROUP = { consumerGroup: 'g', subscriptionMode: 'all', conflation: true };

describe('conflation', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  it('delivers the newest message of each partition and acks the span with it', async () => {
    const queue = freshQueue();
    await calls.push(queue, ...['1', '2', '3'].map((id) => ({ id: `a${id}`, partition: 'a' })));
    await calls.push(queue, { id: 'b1', partition: 'b' });
    const popped = await calls.pop(queue, { ...GROUP, partitions: 5 });
    expect(popped.json).toMatchObject({ conflation: true, partitionsClaimed: 2 });
    expect(popped.json).not.toHaveProperty('conflationConflict');
    expect(idsOf(popped).sort()).toEqual(['a3', 'b1']);
    await calls.push(queue, { id: 'a4', partition: 'a' });
    for (const message of popped.json.messages) {
      const rows = await calls.ack(message, 'g', message.transactionId);
      expect(rows[0]).toMatchObject({ success: true });
    }
    expect(idsOf(await calls.pop(queue, { ...GROUP, partitions: 5 }))).toEqual(['a4']);
  });

  it('takes as many partitions as the batch when none are named', async () => {
    const queue = freshQueue();
    await calls.push(queue, ...['a', 'b', 'c', 'd'].map((id) => ({ id, partition: id })));
    expect(idsOf(await calls.pop(queue, { ...GROUP, batch: 3 }))).toHaveLength(3);
  });

  it('registers the group when a pinned pop asks for it first', async () => {
    const queue = freshQueue();
    await calls.push(queue, ...['1', '2'].map((id) => ({ id: `a${id}`, partition: 'a' })));
    await calls.push(queue, ...['1', '2'].map((id) => ({ id: `b${id}`, partition: 'b' })));
    const pinned = await calls.popPinned(queue, 'a', GROUP);
    expect(pinned.json).toMatchObject({ conflation: true });
    expect(idsOf(pinned)).toEqual(['a2']);
    const rest = await calls.pop(queue, { consumerGroup: 'g' });
    expect(rest.json).toMatchObject({ conflation: true });
    expect(idsOf(rest)).toEqual(['b2']);
    const absent = await calls.popPinned(queue, 'c', GROUP);
    expect([absent.status, absent.json?.conflation]).toEqual([200, true]);
  });

  it('redelivers what is newest after a failure', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'm1', 'm2');
    const popped = await calls.pop(queue, GROUP);
    await calls.push(queue, 'm3');
    await calls.ack(popped.json, 'g', { id: 'm2', status: 'failed', error: 'no' });
    const again = await calls.pop(queue, GROUP);
    expect(idsOf(again)).toEqual(['m3']);
    expect(again.json.messages[0].deliveryAttempt).toBe(1);
  });

  it('answers 200 with an empty list when there is nothing, also after a wait', async () => {
    const queue = freshQueue();
    for (const wait of [false, true]) {
      const empty = await calls.pop(queue, { ...GROUP, wait, timeout: 200 });
      expect(empty.status).toBe(200);
      expect(empty.json).toMatchObject({ success: true, messages: [], conflation: true });
      expect(empty.json).toMatchObject({ leaseId: '', partitionsClaimed: 0 });
    }
  });

  it('keeps the stored policy and tells of a request that differs', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'm1', 'm2');
    const plain = { consumerGroup: 'g', subscriptionMode: 'all', batch: 1 };
    const first = await calls.pop(queue, plain);
    expect(first.json).not.toHaveProperty('conflation');
    await calls.ack(first.json, 'g', 'm1');
    const asked = await calls.pop(queue, { ...plain, conflation: true });
    expect(idsOf(asked)).toEqual(['m2']);
    expect(asked.json).toMatchObject({ conflationConflict: true });
    expect(asked.json).not.toHaveProperty('conflation');
    const empty = await calls.pop(queue, { ...plain, conflation: true });
    expect([empty.status, empty.json?.messages]).toEqual([200, []]);
    expect((await calls.pop(queue, plain)).status).toBe(204);
  });

  it('is refused without a group and with commit on delivery', async () => {
    const queue = freshQueue();
    for (const query of [{ conflation: true }, { ...GROUP, autoAck: true }]) {
      const refused = await calls.pop(queue, query);
      expect(refused.status).toBe(400);
      expect(refused.json).toMatchObject({ success: false, messages: [] });
    }
  });
});
