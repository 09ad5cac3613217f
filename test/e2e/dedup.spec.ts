/** Deduplication (messages.md §2.10, G16), black box: inside a request, across requests, the window. */
import { TestBroker } from '../support/broker.js';
import { Calls, eventually, freshQueue, unhurried } from './calls.js';

describe('deduplication', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  it('answers a repeat across requests with the original id and offset', async () => {
    const queue = freshQueue();
    const [, original] = await calls.push(queue, 'a', 'b');
    const rows = await calls.push(queue, 'b', 'c');
    expect(rows).toEqual([
      { ...original, index: 0, status: 'duplicate' },
      expect.objectContaining({ status: 'queued', offset: 2 }),
    ]);
    expect((await calls.detail(queue)).totals.total).toBe(3);
  });

  it('collapses repeats inside one request, whatever the window', async () => {
    const queue = freshQueue();
    await calls.configure(queue, { dedupWindowSeconds: 0 });
    const rows = await calls.push(queue, 'a', 'a', 'b', 'a');
    expect(rows.map((row) => [row.status, row.offset])).toEqual([
      ['queued', 0],
      ['duplicate', 0],
      ['queued', 1],
      ['duplicate', 0],
    ]);
    expect(rows[1]!.message_id).toBe(rows[0]!.message_id);
    expect((await calls.detail(queue)).totals.total).toBe(2);
  });

  it('is scoped to one partition', async () => {
    const queue = freshQueue();
    const rows = await calls.push(queue, { id: 'a', partition: '1' }, { id: 'a', partition: '2' });
    expect(rows.map((row) => row.status)).toEqual(['queued', 'queued']);
    const other = await calls.push(freshQueue(), { id: 'a', partition: '1' });
    expect(other[0]!.status).toBe('queued');
  });

  it('compares ids exactly: case, spaces, normal forms', async () => {
    const queue = freshQueue();
    const ids = ['a', 'A', ' a', 'a ', '\u00e9', 'e\u0301', 'a\u0000'];
    const rows = await calls.push(queue, ...ids);
    expect(rows.map((row) => row.status)).toEqual(ids.map(() => 'queued'));
  });

  it('sees an escaped spelling as the same id', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'abc');
    const body = `{"items":[{"queue":"${queue}","transactionId":"\\u0061bc","payload":1}]}`;
    expect((await broker.send('POST', '/api/v1/push', body)).json[0].status).toBe('duplicate');
  });

  it('never takes a minted id for a duplicate', async () => {
    const queue = freshQueue();
    const rows = await calls.push(queue, { payload: 1 }, { payload: 1 });
    expect(rows.map((row) => row.status)).toEqual(['queued', 'queued']);
  });

  it('stores a repeat again when the window is 0', async () => {
    const queue = freshQueue();
    await calls.configure(queue, { dedupWindowSeconds: 0 });
    await calls.push(queue, 'a');
    expect((await calls.push(queue, 'a'))[0]).toMatchObject({ status: 'queued', offset: 1 });
  });

  it('stores a repeat again once a window of one second is over', async () => {
    const queue = await unhurried(async (timely) => {
      const fresh = freshQueue();
      await calls.configure(fresh, { dedupWindowSeconds: 1 });
      await timely(1_000, async () => {
        await calls.push(fresh, 'a');
        expect((await calls.push(fresh, 'a'))[0]!.status).toBe('duplicate');
      });
      return fresh;
    });
    const row = await eventually(async () => {
      const [next] = await calls.push(queue, 'a');
      return next!.status === 'queued' ? next : null;
    });
    expect(row.offset).toBe(1);
  });

  it('creates nothing for a push of duplicates only', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    const before = await calls.detail(queue);
    await calls.push(queue, 'a');
    expect(await calls.detail(queue)).toEqual(before);
  });

  it('is exact under concurrency: one of many is queued', async () => {
    const queue = freshQueue();
    const rows = await Promise.all(
      Array.from({ length: 40 }, async () => (await calls.push(queue, 'same'))[0]),
    );
    expect(rows.filter((row) => row!.status === 'queued')).toHaveLength(1);
    expect(new Set(rows.map((row) => `${row!.message_id}/${row!.offset}`)).size).toBe(1);
  });

  it('holds over a restart', async () => {
    const queue = freshQueue();
    const [original] = await calls.push(queue, 'a');
    await broker.restart();
    expect((await calls.push(queue, 'a'))[0]).toMatchObject({
      status: 'duplicate',
      message_id: original!.message_id,
      offset: 0,
    });
  });
});
