/** The walkthrough of the README as a test: push two, pop in order, ack, empty, restart. */
import { TestBroker } from '../support/broker.js';

describe('first messages', () => {
  let broker: TestBroker;

  beforeAll(async () => {
    broker = await TestBroker.start();
  });

  afterAll(() => broker.stop());

  it('pushes two messages to one partition and pops them in order with one lease', async () => {
    const pushed = await broker.post('/api/v1/push', {
      items: [
        { queue: 'orders', partition: 'c-9', transactionId: 'o-1', payload: { n: 1 } },
        { queue: 'orders', partition: 'c-9', transactionId: 'o-2', payload: { n: 2 } },
      ],
    });
    expect(pushed.status).toBe(201);
    expect(pushed.json.map((item: { offset: number }) => item.offset)).toEqual([0, 1]);

    const popped = await broker.get('/api/v1/pop/queue/orders?batch=10');
    expect(popped.status).toBe(200);
    expect(popped.json.messages.map((m: { data: unknown }) => m.data)).toEqual([
      { n: 1 },
      { n: 2 },
    ]);
    const { leaseId, partitionId } = popped.json;

    const acked = await broker.post('/api/v1/ack/batch', {
      acknowledgments: ['o-1', 'o-2'].map((transactionId) => ({
        transactionId,
        partitionId,
        leaseId,
        status: 'completed',
      })),
    });
    expect(acked.status).toBe(200);
    expect(acked.json).toEqual([
      expect.objectContaining({ index: 0, success: true, leaseReleased: true, noop: false }),
      expect.objectContaining({ index: 1, success: true, leaseReleased: true, noop: false }),
    ]);

    const empty = await broker.get('/api/v1/pop/queue/orders?batch=10');
    expect(empty.status).toBe(204);
    expect(empty.text).toBe('');
  });

  it('remembers acks and messages over a restart', async () => {
    await broker.restart();
    expect((await broker.get('/api/v1/pop/queue/orders')).status).toBe(204);
    const again = await broker.post('/api/v1/push', {
      items: [{ queue: 'orders', partition: 'c-9', transactionId: 'o-2', payload: { n: 2 } }],
    });
    expect(again.json[0]).toMatchObject({ status: 'duplicate', offset: 1 });
    const other = await broker.get(
      '/api/v1/pop/queue/orders?consumerGroup=audit&subscriptionMode=all&batch=10',
    );
    expect(other.json.messages).toHaveLength(2);
  });
});
