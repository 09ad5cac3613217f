/** The retry budget and dead letters (messages.md §2.6, G10), seen through the queue resources. */
import { TestBroker } from '../support/broker.js';
import { type AckRow, Calls, freshQueue, idsOf } from './calls.js';

describe('retry budget', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  const make = async (options: object, ...ids: string[]): Promise<string> => {
    const queue = freshQueue();
    await calls.configure(queue, { ...options });
    await calls.push(queue, ...ids);
    return queue;
  };

  const popAndAck = async (
    queue: string,
    status: string,
    id = 'a',
  ): Promise<AckRow | undefined> => {
    const popped = await calls.pop(queue);
    const [row] = await calls.ack(popped.json, undefined, { id, status, error: 'boom' });
    return row;
  };

  const deadLetters = async (queue: string): Promise<number> =>
    (await calls.detail(queue)).totals.deadLetter;

  it.each([
    [0, 0],
    [1, 1],
    [3, 3],
    [-5, 0],
  ])('retryLimit %i redelivers %i times, then files a dead letter', async (retryLimit, times) => {
    const queue = await make({ retryLimit }, 'a');
    for (let i = 0; i < times; i += 1) {
      const row = await popAndAck(queue, 'failed');
      expect(row).toMatchObject({ success: true, leaseReleased: true, dlq: false });
      expect(await deadLetters(queue)).toBe(0);
    }
    expect(await popAndAck(queue, 'failed')).toMatchObject({ success: true, dlq: true });
    expect(await deadLetters(queue)).toBe(1);
    expect((await calls.pop(queue)).status).toBe(204);
  });

  it('is never spent by retry or by an expired lease', async () => {
    const queue = await make({ retryLimit: 1 }, 'a');
    for (let i = 0; i < 4; i += 1) await popAndAck(queue, 'retry');
    await calls.pop(queue, { leaseSeconds: 1 });
    const again = await calls.pop(queue, { wait: true, timeout: 30_000 });
    expect(again.json.messages[0].deliveryAttempt).toBe(6);
    const [row] = await calls.ack(again.json, undefined, { id: 'a', status: 'failed' });
    expect(row?.dlq).toBe(false);
    expect((await popAndAck(queue, 'failed'))?.dlq).toBe(true);
  });

  it.each([
    [true, true, 1],
    [true, false, 1],
    [false, true, 1],
    [false, false, 0],
  ])(
    'deadLetterQueue %s, dlqAfterMaxRetries %s files %i',
    async (deadLetterQueue, dlqAfterMaxRetries, filed) => {
      const queue = await make({ retryLimit: 0, deadLetterQueue, dlqAfterMaxRetries }, 'a', 'b');
      const row = await popAndAck(queue, 'failed');
      expect(row).toMatchObject({ success: true, leaseReleased: true, dlq: filed === 1 });
      expect(await deadLetters(queue)).toBe(filed);
      expect(idsOf(await calls.pop(queue))).toEqual(['b']);
    },
  );

  it('files with status dlq even when both switches are off', async () => {
    const off = { retryLimit: 5, deadLetterQueue: false, dlqAfterMaxRetries: false };
    const queue = await make(off, 'a');
    expect(await popAndAck(queue, 'dlq')).toMatchObject({ success: true, dlq: true });
    expect(await deadLetters(queue)).toBe(1);
  });

  it('belongs to the partition and group, not to the message', async () => {
    const queue = await make({ retryLimit: 1 }, 'a', 'b');
    await popAndAck(queue, 'failed');
    const second = await calls.pop(queue);
    // A partial ack keeps the count: the first failure of b already finds the budget spent.
    await calls.ack(second.json, undefined, 'a');
    const [row] = await calls.ack(second.json, undefined, { id: 'b', status: 'failed' });
    expect(row?.dlq).toBe(true);
  });

  it('starts anew after a settled batch and after a dead letter', async () => {
    const queue = await make({ retryLimit: 1 }, 'a');
    await popAndAck(queue, 'failed');
    await popAndAck(queue, 'completed');
    await calls.push(queue, 'b');
    expect((await popAndAck(queue, 'failed', 'b'))?.dlq).toBe(false);
    expect((await popAndAck(queue, 'failed', 'b'))?.dlq).toBe(true);
    await calls.push(queue, 'c');
    expect((await popAndAck(queue, 'failed', 'c'))?.dlq).toBe(false);
  });

  it('counts per group', async () => {
    const queue = await make({ retryLimit: 1 }, 'a');
    const popAs = async (group: string): Promise<AckRow | undefined> => {
      const query = { consumerGroup: group, subscriptionMode: 'all' };
      const popped = await calls.pop(queue, query);
      return (await calls.ack(popped.json, group, { id: 'a', status: 'failed' }))[0];
    };
    expect((await popAs('g1'))?.dlq).toBe(false);
    expect((await popAs('g2'))?.dlq).toBe(false);
    expect((await popAs('g1'))?.dlq).toBe(true);
    expect(await deadLetters(queue)).toBe(1);
  });

  it('follows a changed retryLimit at once', async () => {
    const queue = await make({ retryLimit: 10 }, 'a');
    await popAndAck(queue, 'failed');
    await calls.configure(queue, { retryLimit: 1 });
    expect((await popAndAck(queue, 'failed'))?.dlq).toBe(true);
  });

  it('keeps dead letters and counts over a restart', async () => {
    const queue = await make({ retryLimit: 1 }, 'a', 'b');
    await popAndAck(queue, 'failed');
    await broker.restart();
    expect((await popAndAck(queue, 'failed'))?.dlq).toBe(true);
    await broker.restart();
    expect(await deadLetters(queue)).toBe(1);
    expect(idsOf(await calls.pop(queue))).toEqual(['b']);
  });
});
