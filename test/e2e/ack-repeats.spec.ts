/** Acks sent again (messages.md §6.4, G17): same answer, nothing moves; stale signals fail. */
import { TestBroker } from '../support/broker.js';
import { Calls, freshQueue, idsOf } from './calls.js';

describe('ack repeats', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  const popped = async (...ids: string[]) => {
    const queue = freshQueue();
    await calls.push(queue, ...ids);
    return { queue, json: (await calls.pop(queue)).json };
  };

  const SETTLED = { success: true, error: null, leaseReleased: true, dlq: false, noop: false };

  it('of an ack that settled the batch succeeds again, also after a restart', async () => {
    const { json } = await popped('a', 'b');
    const first = await calls.ack(json, undefined, 'a', 'b');
    expect(await calls.ack(json, undefined, 'a', 'b')).toEqual(first);
    await broker.restart();
    expect(await calls.ack(json, undefined, 'a', 'b')).toEqual(first);
    expect((await calls.ack(json, undefined, 'b'))[0]).toMatchObject(SETTLED);
  });

  it('fails items outside the released batch', async () => {
    const { queue, json } = await popped('a');
    await calls.ack(json, undefined, 'a');
    await calls.push(queue, 'b');
    const rows = await calls.ack(json, undefined, 'a', 'b', 'nobody');
    expect(rows.map((row) => row.success)).toEqual([true, false, false]);
    expect(idsOf(await calls.pop(queue))).toEqual(['b']);
  });

  it('works while another worker holds the next batch, and does not touch it', async () => {
    const { queue, json } = await popped('a');
    await calls.ack(json, undefined, 'a');
    await calls.push(queue, 'b');
    const second = await calls.pop(queue);
    expect((await calls.ack(json, undefined, 'a'))[0]).toMatchObject(SETTLED);
    expect(await calls.depth(queue)).toMatchObject({ processing: 1 });
    expect((await calls.ack(second.json, undefined, 'b'))[0]).toMatchObject(SETTLED);
  });

  it('knows only the last released lease', async () => {
    const { queue, json } = await popped('a');
    await calls.ack(json, undefined, 'a');
    await calls.push(queue, 'b');
    const second = await calls.pop(queue);
    await calls.ack(second.json, undefined, 'b');
    const [row] = await calls.ack(json, undefined, 'a');
    expect(row).toMatchObject({ success: false, error: 'invalid or expired lease' });
  });

  it.each(['failed', 'retry'])('of a %s that released for redelivery is stale', async (status) => {
    const { queue, json } = await popped('a');
    await calls.ack(json, undefined, { id: 'a', status });
    const [row] = await calls.ack(json, undefined, { id: 'a', status });
    expect(row).toMatchObject({ success: false, leaseReleased: false });
    expect(idsOf(await calls.pop(queue))).toEqual(['a']);
  });

  it('completed of a committed message under the same live lease is a noop', async () => {
    const { json } = await popped('a', 'b');
    await calls.ack(json, undefined, 'a');
    const [row] = await calls.ack(json, undefined, 'a');
    expect(row).toMatchObject({ success: true, noop: true, leaseReleased: false });
  });

  it('completed of a committed message without a lease is a noop, also after a restart', async () => {
    const { json } = await popped('a', 'b');
    await calls.ack(json, undefined, 'a', 'b');
    const body = { transactionId: 'a', partitionId: json.partitionId };
    const again = async () => (await broker.post('/api/v1/ack', body)).json[0];
    expect(await again()).toMatchObject({ success: true, noop: true, leaseReleased: false });
    await broker.restart();
    expect(await again()).toMatchObject({ success: true, noop: true });
  });

  it.each(['failed', 'retry', 'dlq'])('%s of a committed message fails', async (status) => {
    const { queue, json } = await popped('a', 'b');
    await calls.ack(json, undefined, 'a');
    const [row] = await calls.ack(json, undefined, { id: 'a', status });
    expect(row).toMatchObject({ success: false, dlq: false });
    expect((await calls.detail(queue)).totals.deadLetter).toBe(0);
  });

  it('a minted id is recognised too', async () => {
    const queue = freshQueue();
    const [pushed] = await calls.push(queue, { payload: 1 });
    const { json } = await calls.pop(queue);
    await calls.ack(json, undefined, pushed!.transaction_id);
    const body = { transactionId: pushed!.transaction_id, partitionId: json.partitionId };
    expect((await broker.post('/api/v1/ack', body)).json[0]).toMatchObject({ noop: true });
  });
});
