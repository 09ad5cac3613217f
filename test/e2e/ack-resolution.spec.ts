/** What an ack resolves to and does to its batch (messages.md §6.3), black box, row by row. */
import { TestBroker } from '../support/broker.js';
import { type AckItem, Calls, eventually, freshQueue, idsOf } from './calls.js';

describe('ack resolution', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  const popped = async (ids: readonly string[], options: object = {}) => {
    const queue = freshQueue();
    await calls.configure(queue, { retryLimit: 1, ...options });
    await calls.push(queue, ...ids);
    const { json } = await calls.pop(queue);
    return { queue, json };
  };

  const next = async (queue: string): Promise<string[]> => idsOf(await calls.pop(queue));

  /** What one ack call does to a batch of four under one lease: statuses, answer, what comes next. */
  describe('of a batch of four', () => {
    interface Row {
      readonly name: string;
      readonly acks: readonly (readonly [string, string])[];
      readonly released: boolean;
      readonly next: readonly string[];
      readonly filed?: number;
      readonly options?: object;
      readonly success?: readonly boolean[];
    }
    const ok = 'completed';
    const spent = { retryLimit: 0 };
    const dropping = { retryLimit: 0, deadLetterQueue: false, dlqAfterMaxRetries: false };
    const all = ['a', 'b', 'c', 'd'];
    const ROWS: readonly Row[] = [
      { name: 'all', acks: all.map((id) => [id, ok]), released: true, next: [] },
      { name: 'the last one completes what is below', acks: [['d', ok]], released: true, next: [] },
      { name: 'a part keeps the lease', acks: [['b', ok]], released: false, next: [] },
      { name: 'retry at the head', acks: [['a', 'retry']], released: true, next: all },
      {
        name: 'completed below a retry is settled',
        acks: [
          ['a', ok],
          ['b', ok],
          ['c', 'retry'],
        ],
        released: true,
        next: ['c', 'd'],
      },
      {
        name: 'completed above a retry comes again',
        acks: [
          ['b', 'retry'],
          ['d', ok],
        ],
        released: true,
        next: all,
      },
      {
        name: 'failed with budget: the prefix is settled, the rest comes again',
        acks: [
          ['a', ok],
          ['b', 'failed'],
          ['d', ok],
        ],
        released: true,
        next: ['b', 'c', 'd'],
      },
      {
        name: 'the lowest signal is the head',
        acks: [
          ['c', 'dlq'],
          ['b', 'retry'],
        ],
        released: true,
        next: all,
      },
      {
        name: 'dlq beats retry at the same offset',
        acks: [
          ['a', 'retry'],
          ['a', 'dlq'],
        ],
        released: true,
        next: ['b', 'c', 'd'],
        filed: 1,
      },
      {
        name: 'failed beats retry at the same offset',
        acks: [
          ['a', 'retry'],
          ['a', 'failed'],
        ],
        released: true,
        next: ['b', 'c', 'd'],
        filed: 1,
        options: spent,
      },
      {
        name: 'failed without budget is filed, completed above is settled with what is between',
        acks: [
          ['a', 'failed'],
          ['c', ok],
        ],
        released: true,
        next: ['d'],
        filed: 1,
        options: spent,
      },
      {
        name: 'failed without budget and without dead letters is dropped',
        acks: [
          ['a', 'failed'],
          ['b', ok],
        ],
        released: true,
        next: ['c', 'd'],
        options: dropping,
      },
      {
        name: 'without budget later failures are filed too',
        acks: [
          ['a', 'failed'],
          ['b', 'failed'],
          ['c', ok],
          ['d', 'failed'],
        ],
        released: true,
        next: [],
        filed: 3,
        options: spent,
      },
      {
        name: 'dlq files its message and settles above',
        acks: [
          ['b', 'dlq'],
          ['c', ok],
          ['d', ok],
        ],
        released: true,
        next: ['b', 'c', 'd'].slice(3),
        filed: 1,
      },
      {
        name: 'dlq does not settle what lies below it unacked',
        acks: [
          ['a', ok],
          ['b', 'dlq'],
        ],
        released: true,
        next: ['c', 'd'],
        filed: 1,
      },
      {
        name: 'settling above stops at a failure with budget',
        acks: [
          ['a', 'dlq'],
          ['b', 'failed'],
          ['c', ok],
        ],
        released: true,
        next: ['b', 'c', 'd'],
        filed: 1,
      },
      {
        name: 'settling above stops at a retry',
        acks: [
          ['a', 'dlq'],
          ['b', ok],
          ['c', 'retry'],
          ['d', ok],
        ],
        released: true,
        next: ['c', 'd'],
        filed: 1,
      },
      {
        name: 'an unknown id fails alone',
        acks: [
          ['a', ok],
          ['nobody', ok],
        ],
        released: false,
        next: [],
        success: [true, false],
      },
    ];

    it.each(ROWS.map((row) => [row.name, row] as const))('%s', async (_name, row) => {
      const { queue, json } = await popped(all, { retryLimit: 3, ...row.options });
      const items: AckItem[] = row.acks.map(([id, status]) => ({ id, status }));
      const rows = await calls.ack(json, undefined, ...items);
      expect(rows.map((r) => r.success)).toEqual(row.success ?? row.acks.map(() => true));
      expect(rows.map((r) => r.leaseReleased)).toEqual(rows.map(() => row.released));
      expect((await calls.detail(queue)).totals.deadLetter).toBe(row.filed ?? 0);
      expect(await next(queue)).toEqual(row.next);
      const signals = rows.filter((r, i) => ['failed', 'dlq'].includes(row.acks[i]?.[1] ?? ''));
      expect(signals.map((r) => r.dlq)).toEqual(signals.map(() => (row.filed ?? 0) > 0));
    });

    it('a partial ack keeps the rest leased, later acks finish it', async () => {
      const { queue, json } = await popped(all);
      await calls.ack(json, undefined, 'a', 'b');
      expect(await calls.depth(queue)).toMatchObject({ pending: 2, processing: 2, ready: 0 });
      const [row] = await calls.ack(json, undefined, 'd');
      expect(row).toMatchObject({ success: true, leaseReleased: true });
      expect(await calls.depth(queue)).toMatchObject({ pending: 0, processing: 0 });
    });

    it('cannot ack what was pushed after the pop under its lease', async () => {
      const { queue, json } = await popped(['a']);
      await calls.push(queue, 'later');
      const rows = await calls.ack(json, undefined, 'a', 'later');
      expect(rows.map((r) => r.success)).toEqual([true, false]);
      expect(await next(queue)).toEqual(['later']);
    });

    it('without a lease id reaches beyond the batch of a lease that is over', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b', 'c');
      const { json } = await calls.pop(queue, { batch: 1, leaseSeconds: 1 });
      const unfenced = { partitionId: json.partitionId, leaseId: '' };
      const row = await eventually(async () => {
        const [answer] = await calls.ack(unfenced, undefined, 'b');
        return answer?.success === true ? answer : null;
      });
      expect(row).toMatchObject({ leaseReleased: false, noop: false });
      expect(await next(queue)).toEqual(['c']);
    });

    it('an id that stands twice is completed as a whole, and signalled one by one', async () => {
      const queue = freshQueue();
      await calls.configure(queue, { dedupWindowSeconds: 0, retryLimit: 0 });
      await calls.push(queue, 'a', 'b');
      await calls.push(queue, 'b');
      const { json } = await calls.pop(queue);
      const dead = await calls.ack(json, undefined, { id: 'b', status: 'failed' });
      expect(dead[0]).toMatchObject({ success: true, dlq: true, leaseReleased: true });
      const again = await calls.pop(queue);
      expect(idsOf(again)).toEqual(['b']);
      await calls.ack(again.json, undefined, 'b');
      await calls.push(queue, 'b');
      await calls.push(queue, 'b');
      const both = await calls.pop(queue);
      expect(idsOf(both)).toEqual(['b', 'b']);
      expect((await calls.ack(both.json, undefined, 'b'))[0]).toMatchObject({
        leaseReleased: true,
      });
      const repeat = await calls.ack(again.json, undefined, 'b');
      expect(repeat[0]).toMatchObject({ success: false });
      expect((await calls.ack(both.json, undefined, 'b'))[0]).toMatchObject({
        ...{ success: true, leaseReleased: true, noop: false },
      });
      expect((await calls.pop(queue)).status).toBe(204);
    });

    it('resolves minted ids', async () => {
      const queue = freshQueue();
      const [pushed] = await calls.push(queue, { payload: 1 });
      const { json } = await calls.pop(queue);
      const [row] = await calls.ack(json, undefined, pushed!.transaction_id);
      expect(row).toMatchObject({ success: true, leaseReleased: true });
    });

    it('resolves ids with escapes, and shows them back', async () => {
      const id = 'a"\\\n\u20ac';
      const { json } = await popped([id]);
      const [row] = await calls.ack(json, undefined, id);
      expect(row).toMatchObject({ success: true, transactionId: id });
    });

    it('resolves on a node that did not hand the messages out', async () => {
      const ids = Array.from({ length: 100 }, (_, i) => `m${i}`);
      const { queue, json } = await popped(ids);
      await broker.restart();
      const rows = await calls.ack(json, undefined, ...ids.slice().reverse());
      expect(rows.every((row) => row.success && row.leaseReleased)).toBe(true);
      expect(await next(queue)).toEqual([]);
    });
  });
});
