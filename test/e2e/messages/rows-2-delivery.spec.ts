/**
 * messages.md §2.4 to §2.8, the rows no other file shows: attempts, content of dead letters, last-value
 * delivery. The rest: leases.spec (§2.4, §2.5), retry-budget.spec (§2.6), conflation.spec (§2.7),
 * delayed.spec (§2.8), retention.spec (§2.9), dedup.spec (§2.10), encryption.spec (§2.11).
 */
import { type HttpAnswer, TestBroker } from '../../support/broker.js';
import {
  type AckItem,
  Calls,
  eventually,
  freshQueue,
  idsOf,
  messagesOf,
  type Query,
  unhurried,
} from '../calls.js';

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const attempts = (answer: HttpAnswer): number[] =>
  messagesOf(answer).map(({ deliveryAttempt }) => deliveryAttempt);

const letters = async (queue: string) =>
  (await broker.get(`/api/v1/dlq?queue=${queue}`)).json.messages;

const retried = async (queue: string, id: string): Promise<void> => {
  const popped = await calls.pop(queue);
  await calls.ack(popped.json, undefined, { id, status: 'retry' });
};

describe('§2.4 row: lease', () => {
  it('of another group is none of ours', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    await calls.pop(queue);
    const other = await calls.pop(queue, { consumerGroup: 'g', subscriptionMode: 'all' });
    expect(idsOf(other)).toEqual(['a']);
    const rows = await calls.ack(other.json, undefined, 'a');
    expect(rows[0]).toMatchObject({ success: false, error: 'invalid or expired lease' });
  });

  it('that ran out changes nothing by itself: cursor, budget and letters are as before', async () => {
    const queue = await unhurried(async (timely) => {
      const fresh = freshQueue();
      await calls.configure(fresh, { retryLimit: 0 });
      await calls.push(fresh, 'a', 'b');
      await timely(1_000, async () => {
        const first = await calls.pop(fresh, { leaseSeconds: 1 });
        await calls.ack(first.json, undefined, 'a');
      });
      return fresh;
    });
    await eventually(async () => ((await calls.depth(queue)).processing === 0 ? true : null));
    expect(await calls.depth(queue)).toMatchObject({ pending: 1, processing: 0, ready: 1 });
    expect(await letters(queue)).toEqual([]);
    // Ready the moment it ended: a pop that does not wait finds it.
    expect(attempts(await calls.pop(queue))).toEqual([2]);
  });
});

describe('§2.5 row: the attempt count', () => {
  it.each<[string, AckItem]>([
    ['dlq', { id: 'a', status: 'dlq' }],
    ['a failure without budget', { id: 'a', status: 'failed' }],
  ])('starts anew after %s', async (_what, item) => {
    const queue = freshQueue();
    await calls.configure(queue, { retryLimit: 0 });
    await calls.push(queue, 'a', 'b');
    await retried(queue, 'a');
    const second = await calls.pop(queue);
    expect(attempts(second)).toEqual([2, 2]);
    await calls.ack(second.json, undefined, item);
    expect(attempts(await calls.pop(queue))).toEqual([1]);
  });

  it('is 1 on a commit on delivery, whatever came before', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    await retried(queue, 'a');
    await retried(queue, 'a');
    expect(attempts(await calls.pop(queue, { autoAck: true }))).toEqual([1]);
  });

  it('goes on over a restart', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a');
    await retried(queue, 'a');
    await broker.restart();
    expect(attempts(await calls.pop(queue))).toEqual([2]);
  });
});

describe('§2.6 row: content of a dead letter', () => {
  it.each<[string, readonly AckItem[], string]>([
    ['its own error', [{ id: 'a', status: 'dlq', error: 'own' }], 'own'],
    [
      'its own error before that of others',
      [
        { id: 'b', status: 'retry', error: 'other' },
        { id: 'a', status: 'dlq', error: 'own' },
      ],
      'own',
    ],
    [
      'any error of what was not completed in the call',
      [
        { id: 'a', status: 'failed' },
        { id: 'b', status: 'retry', error: 'other' },
      ],
      'other',
    ],
    [
      'no error of what was completed',
      [
        { id: 'a', status: 'failed' },
        { id: 'b', status: 'completed', error: 'fine' },
      ],
      'Retries exhausted',
    ],
    ['nothing said', [{ id: 'a', status: 'dlq' }], 'Retries exhausted'],
  ])('%s', async (_what, items, error) => {
    const queue = freshQueue();
    await calls.configure(queue, { retryLimit: 0 });
    await calls.push(queue, 'a', 'b');
    const popped = await calls.pop(queue);
    await calls.ack(popped.json, undefined, ...items);
    const [letter] = await letters(queue);
    expect(letter).toMatchObject({ transactionId: 'a', errorMessage: error, data: { id: 'a' } });
  });

  it('the retry count before it was reset', async () => {
    const queue = freshQueue();
    await calls.configure(queue, { retryLimit: 2 });
    await calls.push(queue, 'a');
    for (let i = 0; i < 3; i += 1) {
      const popped = await calls.pop(queue);
      await calls.ack(popped.json, undefined, { id: 'a', status: 'failed', error: 'boom' });
    }
    expect(await letters(queue)).toMatchObject([{ retryCount: 2, errorMessage: 'boom' }]);
  });
});

describe('§2.7 row: last-value delivery', () => {
  const GROUP: Query = { consumerGroup: 'g', subscriptionMode: 'all', conflation: true };
  const claimed = async (options: Readonly<Record<string, unknown>>, ...ids: string[]) => {
    const queue = freshQueue();
    await calls.configure(queue, options);
    await calls.push(queue, ...ids);
    return { queue, popped: await calls.pop(queue, GROUP) };
  };

  it.each(['failed', 'retry', 'dlq'])('%s can name the delivered message alone', async (status) => {
    const { queue, popped } = await claimed({ retryLimit: 0 }, 'm1', 'm2', 'm3');
    expect(idsOf(popped)).toEqual(['m3']);
    const [other] = await calls.ack(popped.json, 'g', { id: 'm1', status });
    expect(other).toMatchObject({ success: false, leaseReleased: false, dlq: false });
    expect(other?.error).toEqual(expect.any(String));
    expect(await letters(queue)).toEqual([]);
    const [own] = await calls.ack(popped.json, 'g', { id: 'm3', status });
    expect(own).toMatchObject({ success: true, leaseReleased: true });
    expect(await letters(queue)).toHaveLength(status === 'retry' ? 0 : 1);
  });

  it('a signal on another message rolls a transaction back', async () => {
    const { popped } = await claimed({}, 'm1', 'm2');
    const { partitionId, leaseId } = popped.json;
    const ack = { type: 'ack', consumerGroup: 'g', partitionId, leaseId, status: 'failed' };
    const operations = [{ ...ack, transactionId: 'm1' }];
    const answer = await broker.post('/api/v1/transaction', { operations });
    expect(answer.json).toMatchObject({ success: false });
    expect((await calls.ack(popped.json, 'g', 'm2'))[0]).toMatchObject({ success: true });
  });

  it('any completed message of the span commits it as a whole; later ones stay pending', async () => {
    const { queue, popped } = await claimed({}, 'm1', 'm2', 'm3');
    await calls.push(queue, 'm4', 'm5');
    const [row] = await calls.ack(popped.json, 'g', 'm1');
    expect(row).toMatchObject({ success: true, leaseReleased: true });
    expect(await calls.depth(queue, 'g')).toMatchObject({ pending: 2, processing: 0 });
    expect(idsOf(await calls.pop(queue, GROUP))).toEqual(['m5']);
  });

  it('the budget survives when a newer message takes the place of the failed one', async () => {
    const { queue, popped } = await claimed({ retryLimit: 1 }, 'm1');
    await calls.ack(popped.json, 'g', { id: 'm1', status: 'failed' });
    await calls.push(queue, 'm2');
    const second = await calls.pop(queue, GROUP);
    expect(idsOf(second)).toEqual(['m2']);
    const [row] = await calls.ack(second.json, 'g', { id: 'm2', status: 'failed' });
    expect(row).toMatchObject({ dlq: true });
    expect(await letters(queue)).toMatchObject([{ transactionId: 'm2', retryCount: 1 }]);
  });

  it('a request that differs from the registration is counted, an empty one too', async () => {
    const { queue } = await claimed({}, 'm1');
    const conflicts = async (): Promise<number> => {
      const { text } = await broker.get('/metrics/prometheus');
      return Number(/^queen_conflation_conflicts_total (\d+)$/m.exec(text)?.[1]);
    };
    const before = await conflicts();
    await calls.pop(queue, { ...GROUP, conflation: false });
    await calls.pop(queue, GROUP);
    expect(await conflicts()).toBe(before + 1);
  });

  it('one message per partition and pop, at most 64 of a call', async () => {
    const queue = freshQueue();
    const items = Array.from({ length: 66 }, (_, i) => ({ id: `${i}`, partition: `p${i}` }));
    await calls.push(queue, ...items, { id: 'twice', partition: 'p0' });
    const popped = await calls.pop(queue, { ...GROUP, batch: 200 });
    expect(popped.json.partitionsClaimed).toBe(64);
    expect(popped.json.messages).toHaveLength(64);
    expect(idsOf(popped)).toContain('twice');
    expect(idsOf(popped)).not.toContain('0');
  });
});

describe('§2.8 row: hold', () => {
  it.each<[string, Readonly<Record<string, unknown>>]>([
    ['delayedProcessing', { delayedProcessing: 2 }],
    ['windowBuffer', { windowBuffer: 2 }],
  ])('%s holds every pop of every group, queue mode included', async (_what, options) => {
    const group = { consumerGroup: 'g', subscriptionMode: 'all' };
    const queue = await unhurried(async (timely) => {
      const fresh = freshQueue('hold');
      await calls.configure(fresh, { ...options, namespace: fresh });
      await timely(2_000, async () => {
        await calls.push(fresh, 'a');
        for (const query of [{}, group]) {
          expect((await calls.pop(fresh, query)).status).toBe(204);
          expect((await calls.popPinned(fresh, 'Default', query)).status).toBe(204);
          expect((await calls.discover({ namespace: fresh, ...query })).status).toBe(204);
          expect((await calls.pop(fresh, { ...query, autoAck: true })).status).toBe(204);
        }
      });
      return fresh;
    });
    const started = Date.now();
    const found = await calls.pop(queue, { ...group, wait: true, timeout: 40_000 });
    expect(idsOf(found)).toEqual(['a']);
    expect(Date.now() - started).toBeLessThan(20_000);
  });

  it('a window that is written into again and again delivers nothing until it rests', async () => {
    const queue = await unhurried(async (timely) => {
      const fresh = freshQueue();
      await calls.configure(fresh, { windowBuffer: 1 });
      for (let i = 0; i < 8; i += 1) {
        await timely(1_000, async () => {
          const [pushed] = await calls.push(fresh, `m${i}`);
          expect(pushed?.status).toBe('queued');
          expect((await calls.pop(fresh)).status).toBe(204);
        });
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      return fresh;
    });
    const found = await calls.pop(queue, { wait: true, timeout: 20_000 });
    expect(idsOf(found)).toHaveLength(8);
  });
});
