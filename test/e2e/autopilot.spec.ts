/** The pop autopilot over HTTP (messages.md §5.6): it chooses only what the client did not send. */
import { TestBroker } from '../support/broker.js';
import { Calls, freshQueue, idsOf } from './calls.js';

describe('autopilot', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start({
      QUEEN_RAFT_AUTOPILOT_BATCH_MIN: '3',
      QUEEN_RAFT_AUTOPILOT_BATCH_MAX: '5',
    });
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  it('chooses width and batch and says so', async () => {
    const queue = freshQueue();
    for (const partition of ['a', 'b', 'c', 'd']) {
      await calls.push(
        queue,
        { id: `${partition}1`, partition },
        { id: `${partition}2`, partition },
      );
    }
    // The first pop makes the leader judge the queue.
    await calls.pop(queue, { batch: 1 });
    const popped = await calls.pop(queue, { autopilot: true });
    expect(popped.json.autopilot).toEqual({ partitions: 3, batch: 3 });
    expect(idsOf(popped)).toHaveLength(3);
  });

  it('leaves alone what was sent, and says nothing when that is everything', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'm1', 'm2', 'm3', 'm4');
    const some = await calls.pop(queue, { autopilot: true, batch: 1, autoAck: true });
    expect(idsOf(some)).toEqual(['m1']);
    expect(some.json.autopilot).toMatchObject({ batch: 1 });
    const all = await calls.pop(queue, { autopilot: true, batch: 1, partitions: 1, autoAck: true });
    expect(all.json).not.toHaveProperty('autopilot');
    const off = await calls.pop(queue, { batch: 1, autoAck: true });
    expect(off.json).not.toHaveProperty('autopilot');
  });

  it('is ignored by last-value delivery', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'm1', 'm2');
    const group = { consumerGroup: 'g', subscriptionMode: 'all', conflation: true };
    const popped = await calls.pop(queue, { ...group, autopilot: true });
    expect(idsOf(popped)).toEqual(['m2']);
    expect(popped.json).not.toHaveProperty('autopilot');
  });
});
