/**
 * messages.md §5.3 and §5.7, the rows no other file shows: each event that makes a partition ready, for
 * parked pops and for pops that do not wait. Parameters: pop-parameters.spec; answers: pop-selection.spec.
 */
import { type HttpAnswer, TestBroker } from '../../support/broker.js';
import { Calls, freshQueue, idsOf, messagesOf, promptly } from '../calls.js';

const WAIT = { wait: true, timeout: 40_000 };

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

interface Event {
  readonly what: string;
  /** Leaves nothing claimable and says what makes it so. */
  readonly before: (queue: string) => Promise<() => Promise<unknown>>;
  readonly ids: readonly string[];
}

const nothing = (): Promise<void> => Promise.resolve();

const EVENTS: readonly Event[] = [
  {
    what: 'an append',
    before: (queue) => calls.pop(queue).then(() => () => calls.push(queue, 'a')),
    ids: ['a'],
  },
  {
    what: 'an ack that releases',
    before: async (queue) => {
      await calls.push(queue, 'a', 'b');
      const held = await calls.pop(queue, { batch: 1 });
      return () => calls.ack(held.json, undefined, 'a');
    },
    ids: ['b'],
  },
  {
    what: 'a nack',
    before: async (queue) => {
      await calls.push(queue, 'a', 'b');
      const held = await calls.pop(queue);
      return () => calls.ack(held.json, undefined, { id: 'a', status: 'failed' });
    },
    ids: ['a', 'b'],
  },
  {
    what: 'a dead letter',
    before: async (queue) => {
      await calls.push(queue, 'a', 'b');
      const held = await calls.pop(queue);
      return () => calls.ack(held.json, undefined, { id: 'a', status: 'dlq' });
    },
    ids: ['b'],
  },
  {
    what: 'the end of a lease',
    before: async (queue) => {
      await calls.push(queue, 'a');
      await calls.pop(queue, { leaseSeconds: 1 });
      return nothing;
    },
    ids: ['a'],
  },
  {
    what: 'the end of a delay',
    before: async (queue) => {
      await calls.configure(queue, { delayedProcessing: 1 });
      await calls.push(queue, 'a');
      return nothing;
    },
    ids: ['a'],
  },
  {
    what: 'the end of a window',
    before: async (queue) => {
      await calls.configure(queue, { windowBuffer: 1 });
      await calls.push(queue, 'a');
      return nothing;
    },
    ids: ['a'],
  },
  {
    what: 'a seek',
    before: async (queue) => {
      await calls.push(queue, 'a');
      await calls.pop(queue, { autoAck: true });
      const path = `/api/v1/consumer-groups/__QUEUE_MODE__/queues/${queue}/seek`;
      return () => broker.post(path, { timestamp: '2020-01-01T00:00:00Z' });
    },
    ids: ['a'],
  },
  {
    what: 'a position',
    before: async (queue) => {
      await calls.push(queue, 'a', 'b');
      await calls.pop(queue, { autoAck: true });
      const position = { queue, consumerGroup: '__QUEUE_MODE__', offset: 1 };
      return () => broker.post('/api/v1/transaction', { positions: [position] });
    },
    ids: ['b'],
  },
  {
    what: 'a transaction that pushes',
    before: (queue) =>
      calls.pop(queue).then(() => {
        const items = [{ queue, transactionId: 'a', payload: 1 }];
        return () => broker.post('/api/v1/transaction', { operations: [{ type: 'push', items }] });
      }),
    ids: ['a'],
  },
];

/** Parked when something has to be done; what happens by itself may happen before anybody looks. */
async function waiting(
  act: () => unknown,
  pop: () => Promise<HttpAnswer>,
): Promise<() => Promise<HttpAnswer>> {
  const answer = act === nothing ? pop() : (await calls.park(pop)).answer;
  return () => answer;
}

describe('§5.3 row: a partition becomes ready by', () => {
  it.each(EVENTS.map((event) => [event.what, event] as const))(
    '%s: a parked pop of the queue is answered',
    async (_what, { before, ids }) => {
      const queue = freshQueue();
      const act = await before(queue);
      const answer = await waiting(act, () => calls.pop(queue, WAIT));
      await act();
      expect(idsOf(await answer())).toEqual(ids);
    },
  );

  it.each(EVENTS.map((event) => [event.what, event] as const))(
    '%s: a parked pop of the partition is answered',
    async (_what, { before, ids }) => {
      const queue = freshQueue();
      const act = await before(queue);
      const answer = await waiting(act, () => calls.popPinned(queue, 'Default', WAIT));
      await act();
      expect(idsOf(await answer())).toEqual(ids);
    },
  );
});

describe('§5.3 row: after a commit on delivery the partition is there for the next pop', () => {
  it.each<[string, (queue: string) => Promise<HttpAnswer>]>([
    ['queue', (queue) => calls.pop(queue, { autoAck: true, batch: 1 })],
    ['pinned', (queue) => calls.popPinned(queue, 'Default', { autoAck: true, batch: 1 })],
  ])('%s pops at once that do not wait get a message each', async (_scope, pop) => {
    const queue = freshQueue();
    const ids = Array.from({ length: 12 }, (_, i) => `m${i}`);
    await calls.push(queue, ...ids);
    const answers = await Promise.all(ids.map(() => pop(queue)));
    expect(answers.flatMap(idsOf).sort()).toEqual([...ids].sort());
    expect((await pop(queue)).status).toBe(204);
  });
});

describe('§5.3 row: batch is spent over claims', () => {
  it.each([
    [1, 5, 1, 1],
    [3, 5, 3, 2],
    [10, 2, 4, 2],
    [10, 5, 6, 3],
  ])(
    'batch=%i partitions=%i: %i messages of %i partitions',
    async (batch, partitions, n, claims) => {
      const queue = freshQueue();
      const items = ['a', 'b', 'c'].flatMap((partition) => [{ partition }, { partition }]);
      await calls.push(queue, ...items);
      const popped = await calls.pop(queue, { batch, partitions });
      expect(messagesOf(popped)).toHaveLength(n);
      expect(popped.json.partitionsClaimed).toBe(claims);
    },
  );
});

describe('§5.7 row: answered empty', () => {
  it('a waiting pop whose group is deleted, pinned or not', async () => {
    const queue = freshQueue();
    await calls.push(queue, { id: 'x', partition: 'p' });
    const group = { consumerGroup: 'leaving', subscriptionMode: 'new' };
    await calls.pop(queue, group);
    const wide = await calls.park(() => calls.pop(queue, { ...group, ...WAIT }));
    const pinned = await calls.park(() => calls.popPinned(queue, 'p', { ...group, ...WAIT }));
    const remove = () => broker.send('DELETE', '/api/v1/consumer-groups/leaving');
    const both = await promptly(Promise.all([wide.answer, pinned.answer]), remove);
    expect(both.map(({ status }) => status)).toEqual([204, 204]);
  });

  it('a waiting pop of a queue that never was and never comes', async () => {
    const pops = await Promise.all([
      calls.popPinned(freshQueue('nowhere'), 'p', { wait: true, timeout: 200 }),
      calls.pop(freshQueue('nowhere'), { wait: true, timeout: 200 }),
    ]);
    expect(pops.map(({ status, text }) => [status, text])).toEqual([
      [204, ''],
      [204, ''],
    ]);
  });
});
