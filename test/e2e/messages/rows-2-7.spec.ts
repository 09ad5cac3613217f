/**
 * Rows of messages.md §2.7 (conflation), named by their section: what is leased and committed, what each
 * status does to the span, whose policy holds. Claims over partitions and refusals: test/e2e/conflation.spec.ts.
 */
import { TestBroker, type HttpAnswer } from '../../support/broker.js';
import {
  Calls,
  eventually,
  freshQueue,
  idsOf,
  messagesOf,
  type Message,
  unhurried,
  type Wire,
} from '../calls.js';

const GROUP = { consumerGroup: 'g', subscriptionMode: 'all', conflation: true };

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const pop = (queue: string, more = {}): Promise<HttpAnswer> =>
  calls.pop(queue, { ...GROUP, ...more });
const take = async (queue: string): Promise<Message> => messagesOf(await pop(queue))[0]!;
const committed = async (queue: string): Promise<number> => {
  const entries = [{ queue }];
  const body = { consumerGroup: 'g', entries };
  return (await broker.post('/api/v1/consumer-groups/positions', body)).json.entries[0].offset - 1;
};
const dlq = async (queue: string): Promise<string[]> =>
  (await broker.get(`/api/v1/dlq?queue=${queue}`)).json.messages.map(
    (row: Wire) => row.transactionId,
  );

/** Three messages; the newest of them is leased, then a fourth comes. */
async function claimed(options: object = {}): Promise<{ queue: string; message: Message }> {
  const queue = freshQueue();
  await calls.configure(queue, { ...options });
  for (const id of ['a', 'b', 'c']) await calls.push(queue, id);
  const message = await take(queue);
  expect(message.transactionId).toBe('c');
  await calls.push(queue, 'd');
  return { queue, message };
}

it('2.7 the span from the cursor to the newest is leased, what comes after stays pending', async () => {
  const { queue, message } = await claimed();
  expect(await calls.depth(queue, 'g')).toMatchObject({ processing: 3, pending: 4 });
  const [row] = await calls.ack(message, 'g', 'c');
  expect(row).toMatchObject({ success: true, leaseReleased: true });
  expect(await committed(queue)).toBe(2);
  expect(idsOf(await pop(queue))).toEqual(['d']);
});

describe('2.7 what a status does to the span', () => {
  it.each<[string, object, string, object]>([
    ['completed', {}, 'completed', { committed: 2, next: ['d'], letters: [] }],
    ['retry', {}, 'retry', { committed: -1, next: ['d'], letters: [] }],
    [
      'failed, budget left',
      { retryLimit: 1 },
      'failed',
      { committed: -1, next: ['d'], letters: [] },
    ],
    [
      'failed, budget spent',
      { retryLimit: 0 },
      'failed',
      { committed: 2, next: ['d'], letters: ['c'] },
    ],
    ['dlq', {}, 'dlq', { committed: 2, next: ['d'], letters: ['c'] }],
  ])('2.7 %s', async (_row, options, status, wanted) => {
    const { queue, message } = await claimed(options);
    const [row] = await calls.ack(message, 'g', { id: 'c', status });
    expect(row).toMatchObject({ success: true, leaseReleased: true });
    const state = {
      committed: await committed(queue),
      letters: await dlq(queue),
      next: idsOf(await pop(queue)),
    };
    expect(state).toEqual(wanted);
  });

  it('2.7 only the delivered message can be named', async () => {
    const { queue, message } = await claimed();
    const rows = await calls.ack(message, 'g', { id: 'a', status: 'failed' }, 'd');
    expect(rows.map(({ success }) => success)).toEqual([false, false]);
    expect(await calls.depth(queue, 'g')).toMatchObject({ processing: 3 });
  });

  it('2.7 a transaction that names another one is rolled back', async () => {
    const { queue, message } = await claimed();
    const { partitionId, leaseId } = message;
    const ack = { type: 'ack', consumerGroup: 'g', transactionId: 'a', partitionId, leaseId };
    const operations = [{ ...ack, status: 'failed' }];
    const { json } = await broker.post('/api/v1/transaction', { operations });
    expect(json).toMatchObject({ success: false, reason: 'rejected_ack' });
    expect(await calls.depth(queue, 'g')).toMatchObject({ processing: 3 });
  });

  it('2.7 a transaction settles the whole span', async () => {
    const { queue, message } = await claimed();
    const { transactionId, partitionId, leaseId } = message;
    const ack = { type: 'ack', consumerGroup: 'g', transactionId, partitionId, leaseId };
    const { json } = await broker.post('/api/v1/transaction', { operations: [ack] });
    expect(json.success).toBe(true);
    expect(await committed(queue)).toBe(2);
  });

  it('2.7 the budget survives what supersedes a message', async () => {
    const queue = freshQueue();
    await calls.configure(queue, { retryLimit: 2 });
    const outcomes: boolean[] = [];
    for (const id of ['a', 'b', 'c']) {
      await calls.push(queue, id);
      const [row] = await calls.ack(await take(queue), 'g', { id, status: 'failed' });
      outcomes.push(row!.dlq);
    }
    // The third failure is one more than the limit, though each was of another message.
    expect(outcomes).toEqual([false, false, true]);
    expect(await dlq(queue)).toEqual(['c']);
  });

  it('2.7 an expired lease is given out as what is newest then', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    await pop(queue, { leaseSeconds: 1 });
    await calls.push(queue, 'b');
    const again = await eventually(async () => {
      const popped = await pop(queue);
      return popped.json.messages.length > 0 ? popped : null;
    });
    expect(idsOf(again)).toEqual(['b']);
  });
});

describe('2.7 the stored policy', () => {
  const without = { consumerGroup: 'g', subscriptionMode: 'all' };

  it.each<[string, object, object, object, string[]]>([
    ['the request agrees', GROUP, { conflation: true }, { conflation: true }, ['b']],
    ['the request says nothing', GROUP, {}, { conflation: true }, ['b']],
    [
      'the request says no',
      GROUP,
      { conflation: false },
      { conflation: true, conflationConflict: true },
      ['b'],
    ],
    [
      'the request says yes, the group does not',
      without,
      { conflation: true },
      { conflationConflict: true },
      ['a', 'b'],
    ],
    ['neither', without, { conflation: false }, {}, ['a', 'b']],
  ])('2.7 %s', async (_row, registering, asking, flags, ids) => {
    const queue = freshQueue();
    await calls.pop(queue, registering as never);
    await calls.push(queue, 'a');
    await calls.push(queue, 'b');
    const { json } = await calls.pop(queue, { ...without, ...asking });
    const { conflation, conflationConflict } = json;
    expect({ conflation, conflationConflict }).toEqual({
      ...{ conflation: undefined, conflationConflict: undefined, ...flags },
    });
    expect(json.messages.map((message: Message) => message.transactionId)).toEqual(ids);
  });

  it('2.7 delivers the newest that is due, not the newest', async () => {
    await unhurried(async (timely) => {
      const queue = freshQueue();
      await calls.configure(queue, { delayedProcessing: 2 });
      await calls.push(queue, 'a', 'b');
      const first = pop(queue, { wait: true, timeout: 30_000 });
      // It comes at least a second after the others, so it is not due with them.
      await eventually(async () => {
        const [row] = (await broker.get(`/api/v1/messages?queue=${queue}`)).json.messages;
        return Date.now() - Date.parse(row.createdAt) > 1_000 ? true : null;
      });
      await timely(2_000, async () => {
        await calls.push(queue, 'late');
        expect(idsOf(await first)).toEqual(['b']);
      });
    });
  });
});
