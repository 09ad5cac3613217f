/**
 * Rows of messages.md §5.6 (autopilot), named by their section: the width by ready partitions and waiting
 * pops, the batch without and with samples, what is left alone. The measure itself:
 * src/coordinators/dispatcher/delivery-policies.spec.ts.
 */
import { TestBroker } from '../../support/broker.js';
import { Calls, freshQueue, idsOf, messagesOf } from '../calls.js';

const ALL = { consumerGroup: 'g', subscriptionMode: 'all' };

async function fill(calls: Calls, partitions: number, each = 1): Promise<string> {
  const queue = freshQueue();
  const items = Array.from({ length: partitions * each }, (_, n) => ({
    ...{ id: `m${n}`, partition: `p${n % partitions}` },
  }));
  await calls.push(queue, ...items);
  // The first pop makes the leader judge the queue; it leaves everything as it was.
  const [message] = messagesOf(await calls.pop(queue, { ...ALL, batch: 1 }));
  await calls.ack(message!, 'g', { id: message!.transactionId, status: 'retry' });
  return queue;
}

describe('5.6', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  it.each([
    ['one ready', 1, 1],
    ['as many as are ready', 7, 7],
    ['no more than 64', 70, 64],
  ])('5.6 width of a pop alone: %s', async (_row, ready, width) => {
    const queue = await fill(calls, ready);
    const popped = await calls.pop(queue, { ...ALL, autopilot: true });
    expect(popped.json.autopilot).toEqual({ partitions: width, batch: 100 });
    expect(popped.json.partitionsClaimed).toBe(width);
  });

  it.each<[string, object, object | undefined]>([
    ['batch was sent', { batch: 2 }, { partitions: 3, batch: 2 }],
    ['partitions were sent', { partitions: 2 }, { partitions: 2, batch: 100 }],
    ['both were sent', { partitions: 2, batch: 2 }, undefined],
    ['autopilot=false', { autopilot: false }, undefined],
    ['conflation asked for', { conflation: true, consumerGroup: 'c' }, undefined],
  ])('5.6 only what was not sent: %s', async (_row, sent, chosen) => {
    const queue = await fill(calls, 3, 2);
    const popped = await calls.pop(queue, { ...ALL, autopilot: true, ...sent });
    expect(popped.status).toBe(200);
    expect(popped.json.autopilot).toEqual(chosen);
  });

  it('5.6 on the queue route alone', async () => {
    const queue = await fill(calls, 2);
    const pinned = await calls.popPinned(queue, 'p0', { ...ALL, autopilot: true });
    expect(pinned.json).not.toHaveProperty('autopilot');
    const found = await calls.discover({ namespace: queue, ...ALL, autopilot: true });
    expect(idsOf(found)).toEqual(['m1']);
    expect(found.json).not.toHaveProperty('autopilot');
  });
});

describe('5.6 batch', () => {
  it('5.6 without a sample the minimum, then what is acknowledged in one drain time, at most the maximum', async () => {
    const broker = await TestBroker.start({
      ...{ QUEEN_RAFT_AUTOPILOT_BATCH_MIN: '2', QUEEN_RAFT_AUTOPILOT_BATCH_MAX: '9' },
      QUEEN_RAFT_AUTOPILOT_DRAIN_MS: '60000',
    });
    try {
      const calls = new Calls(broker);
      const queue = await fill(calls, 1, 60);
      const batches: number[] = [];
      for (let n = 0; n < 3; n += 1) {
        const popped = await calls.pop(queue, { ...ALL, autopilot: true });
        batches.push(popped.json.autopilot.batch);
        await calls.ack(messagesOf(popped)[0]!, 'g', ...idsOf(popped));
      }
      // A minute of what was acknowledged at once is far more than the maximum.
      expect(batches).toEqual([2, 9, 9]);
      const other = await calls.pop(queue, { ...ALL, consumerGroup: 'other', autopilot: true });
      expect(other.json.autopilot.batch).toBe(2);
    } finally {
      await broker.stop();
    }
  });
});
