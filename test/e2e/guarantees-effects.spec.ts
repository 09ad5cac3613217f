/**
 * The guarantees of messages.md §16 on one node: idempotence, consistency, durability. G22 is in
 * guarantees-kill.spec.ts, G25 and G26 in guarantees-refusals.spec.ts, the first half in guarantees.spec.ts.
 */
import { TestBroker } from '../support/broker.js';
import { Calls, eventually, freshQueue, messagesOf, type Message, type Wire } from './calls.js';

const ALL = { consumerGroup: 'g', subscriptionMode: 'all' };

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);
const transaction = async (body: object): Promise<Wire> =>
  (await broker.post('/api/v1/transaction', body)).json;

async function leased(queue: string, query = {}): Promise<Message> {
  const [message] = messagesOf(await calls.pop(queue, { ...ALL, ...query }));
  if (message === undefined) throw new Error('nothing was delivered');
  return message;
}

const ackOf = ({ transactionId, partitionId, leaseId }: Message): object => ({
  ...{ type: 'ack', transactionId, partitionId, leaseId, consumerGroup: 'g' },
});

const count = async (queue: string): Promise<number> =>
  (await broker.post('/api/v1/fetch', { entries: [{ queue, offset: 0 }] })).json.entries[0].records
    .length;

describe('idempotence', () => {
  it('G16 a repeated push is a duplicate with the first id and offset, under concurrency too', async () => {
    const queue = freshQueue();
    const rows = (await Promise.all(range(10).map(() => calls.push(queue, 'once')))).flat();
    expect(rows.filter(({ status }) => status === 'queued')).toHaveLength(1);
    expect(new Set(rows.map(({ message_id, offset }) => `${message_id} ${offset}`)).size).toBe(1);
    await broker.restart();
    const [later] = await calls.push(queue, 'once');
    expect(later).toMatchObject({
      status: 'duplicate',
      message_id: rows[0]?.message_id,
      offset: 0,
    });
    expect(await count(queue)).toBe(1);
  });

  it('G17 a repeated ack of a settled lease succeeds and changes nothing', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    const message = await leased(queue);
    const first = await calls.ack(message, 'g', 'a', 'b');
    await calls.push(queue, 'c');
    await broker.restart();
    expect(await calls.ack(message, 'g', 'a', 'b')).toEqual(first);
    expect(first).toMatchObject([{ success: true, leaseReleased: true, noop: false }, {}]);
    expect(await calls.depth(queue, 'g')).toMatchObject({ pending: 1, processing: 0 });
  });

  it('G18 a stale lease never moves the cursor of its successor', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    const stale = await leased(queue, { leaseSeconds: 1 });
    const holder = await leased(queue, { wait: true, timeout: 30_000, leaseSeconds: 60 });
    expect(holder.leaseId).not.toBe(stale.leaseId);
    for (const status of ['completed', 'failed', 'retry', 'dlq']) {
      const [row] = await calls.ack(stale, 'g', { id: 'a', status });
      expect(row?.success).toBe(false);
    }
    const extended = await broker.post(`/api/v1/lease/${stale.leaseId}/extend`, { seconds: 60 });
    expect(extended.json).toMatchObject({ success: false, renewed: 0 });
    expect(await calls.depth(queue, 'g')).toMatchObject({ pending: 2, processing: 2 });
    expect((await calls.ack(holder, 'g', 'a', 'b'))[1]).toMatchObject({ leaseReleased: true });
  });

  it('G19 a transaction is seen whole, and once when it is fenced', async () => {
    const [input, out, other] = [freshQueue('in'), freshQueue('out'), freshQueue('other')];
    await calls.push(input, 'a');
    const message = await leased(input);
    const step = {
      operations: [
        ackOf(message),
        { type: 'push', queue: out, transactionId: 'of-a', payload: 1 },
        { type: 'push', queue: other, transactionId: 'of-a', payload: 1 },
      ],
    };
    const answers = await Promise.all(range(5).map(() => transaction(step)));
    expect(answers.filter(({ success }) => success)).toHaveLength(1);
    for (const { success, reason } of answers) {
      if (!success) expect(['rejected_ack', 'duplicate', 'reserved']).toContain(reason);
    }
    expect([await count(out), await count(other)]).toEqual([1, 1]);
    expect(await calls.depth(input, 'g')).toMatchObject({ pending: 0 });
  });

  it('G20 a stored duplicate rolls back ack, keys and timers', async () => {
    const [input, out] = [freshQueue('in'), freshQueue('out')];
    await calls.push(input, 'a');
    await calls.push(out, 'known');
    const message = await leased(input);
    const answer = await transaction({
      operations: [
        ackOf(message),
        { type: 'push', queue: out, transactionId: 'known', payload: 1 },
      ],
      kv: [{ op: 'put', ns: 'g20', key: 'k', value: 1, forever: true }],
      timers: [
        {
          ...{ op: 'schedule', queue: out, timerKey: 'g20', txn: 'x', delayMs: 3_600_000 },
          payload: Buffer.from('1').toString('base64'),
        },
      ],
    });
    expect(answer).toMatchObject({ success: false, reason: 'duplicate', results: [] });
    expect(await calls.depth(input, 'g')).toMatchObject({ pending: 1, processing: 1 });
    expect((await broker.get(`/api/v1/timers/${out}/g20`)).json).toMatchObject({ found: false });
    const listed = await broker.post('/api/v1/resources/kv/list', { namespace: 'g20' });
    expect(listed.text).not.toContain('"k"');
    expect(await count(out)).toBe(1);
  });

  it('G21 filing moves the cursor with it; a replay inserts once', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'x');
    const message = await leased(queue);
    await calls.ack(message, 'g', { id: 'x', status: 'dlq', error: 'no' });
    await broker.restart();
    expect(await calls.depth(queue, 'g')).toMatchObject({ pending: 0 });
    const { messages } = (await broker.get(`/api/v1/dlq?queue=${queue}`)).json;
    expect(messages).toHaveLength(1);
    const path = `/api/v1/dlq/${messages[0].id}/replay`;
    const answers = await Promise.all(range(5).map(() => broker.post(path)));
    expect(answers.filter(({ json }) => json.result === 'moved')).toHaveLength(1);
    expect(await count(queue)).toBe(2);
    expect((await broker.get(`/api/v1/dlq?queue=${queue}`)).json.total).toBe(0);
  });
});

describe('consistency and durability', () => {
  it('G23 a read that starts after the answer sees the write', async () => {
    const queue = freshQueue();
    for (const n of range(20)) {
      await calls.push(queue, `m${n}`);
      expect((await calls.detail(queue)).totals.total).toBe(n + 1);
    }
  });

  it('G24 a lease excludes others until its time is over, over a restart', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    const from = Date.now();
    const held = await leased(queue, { leaseSeconds: 2 });
    await broker.restart();
    const next = await eventually(async () => {
      const popped = await calls.pop(queue, ALL);
      return popped.status === 200 ? messagesOf(popped)[0] : null;
    });
    // The lease began after `from`.
    expect(Date.now() - from).toBeGreaterThanOrEqual(2_000);
    expect(next).toMatchObject({ deliveryAttempt: 2 });
    expect((await calls.ack(held, 'g', 'a'))[0]?.success).toBe(false);
  });

  it('G27 a push falls apart by partition, a transaction does not', async () => {
    const [queue, small] = [freshQueue(), freshQueue()];
    await calls.push(queue, { id: 'known', partition: 'a' });
    const items = [
      { queue, partition: 'a', transactionId: 'known', payload: 1 },
      { queue: small, partition: 'b', transactionId: 'fresh', payload: 1 },
    ];
    const rolled = await transaction({ operations: [{ type: 'push', items }] });
    expect(rolled).toMatchObject({ success: false, reason: 'duplicate' });
    expect((await broker.get(`/api/v1/resources/queues/${small}`)).status).toBe(404);
    const rows: Wire[] = (await broker.post('/api/v1/push', { items })).json;
    expect(rows.map(({ status }) => status)).toEqual(['duplicate', 'queued']);
  });
});
