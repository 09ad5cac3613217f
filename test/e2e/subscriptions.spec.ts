/** Registration and start policies of groups (messages.md §2.3, G13), through pops alone. */
import { TestBroker } from '../support/broker.js';
import { Calls, freshQueue, idsOf, type Query } from './calls.js';

describe('subscriptions', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  /** Ids that group `g` gets of a queue holding `old`, then `new` pushed after its first pop. */
  const seenBy = async (query: Query): Promise<string[]> => {
    const queue = freshQueue();
    await calls.push(queue, 'old');
    const first = await calls.pop(queue, { consumerGroup: 'g', ...query, autoAck: true });
    await calls.push(queue, 'new');
    const second = await calls.pop(queue, { consumerGroup: 'g', autoAck: true });
    return [...idsOf(first), ...idsOf(second)];
  };

  describe('subscriptionMode', () => {
    it.each(['new', 'new-only', 'new_only', 'newonly', 'NEW', ' New '])(
      '%j means new',
      async (subscriptionMode) => {
        expect(await seenBy({ subscriptionMode })).toEqual(['new']);
      },
    );

    it.each(['all', 'latest', 'earliest', 'from_beginning', 'newest', '', 'timestamp'])(
      '%j means all',
      async (subscriptionMode) => {
        expect(await seenBy({ subscriptionMode })).toEqual(['old', 'new']);
      },
    );

    it('defaults to new', async () => {
      expect(await seenBy({})).toEqual(['new']);
    });

    it('is ignored in queue mode, which starts at the beginning', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'old');
      const query = { subscriptionMode: 'new', subscriptionFrom: 'now' };
      expect(idsOf(await calls.pop(queue, query))).toEqual(['old']);
    });
  });

  describe('subscriptionFrom', () => {
    it.each(['now', 'NOW', 'Now'])('%s is new and beats the mode', async (subscriptionFrom) => {
      expect(await seenBy({ subscriptionFrom, subscriptionMode: 'all' })).toEqual(['new']);
    });

    it.each(['nonsense', '', '2026-13-01T00:00:00Z', '123'])(
      '%j is ignored: the mode decides',
      async (subscriptionFrom) => {
        expect(await seenBy({ subscriptionFrom, subscriptionMode: 'all' })).toEqual(['old', 'new']);
        expect(await seenBy({ subscriptionFrom, subscriptionMode: 'new' })).toEqual(['new']);
      },
    );

    it('an old instant beats mode new', async () => {
      const query = { subscriptionFrom: '2020-01-01T00:00:00Z', subscriptionMode: 'new' };
      expect(await seenBy(query)).toEqual(['old', 'new']);
    });

    it('starts at the first append at or after the instant', async () => {
      const queue = freshQueue();
      for (const id of ['a', 'b', 'c']) {
        await calls.push(queue, id);
        await new Promise((resolve) => setTimeout(resolve, 4));
      }
      const { messages } = (await calls.pop(queue)).json;
      // Instants are resolved to milliseconds: the one after a's lies between a and b.
      const afterA = new Date(Date.parse(messages[0].createdAt) + 1).toISOString();
      const popped = await calls.pop(queue, { consumerGroup: 'g', subscriptionFrom: afterA });
      expect(idsOf(popped)).toEqual(['b', 'c']);
    });

    it('in the future holds back until then', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'old');
      const subscriptionFrom = new Date(Date.now() + 3_600_000).toISOString();
      const group = { consumerGroup: 'g', subscriptionFrom };
      expect((await calls.pop(queue, group)).status).toBe(204);
      await calls.push(queue, 'still too early');
      expect((await calls.pop(queue, group)).status).toBe(204);
    });
  });

  describe('registration', () => {
    it('is committed by an empty pop and never changed by later ones', async () => {
      const queue = freshQueue();
      expect((await calls.pop(queue, { consumerGroup: 'g' })).status).toBe(204);
      await calls.push(queue, 'a');
      const later = { consumerGroup: 'g', subscriptionMode: 'new', subscriptionFrom: 'now' };
      expect(idsOf(await calls.pop(queue, later))).toEqual(['a']);
    });

    it('reads partitions created later from their first message', async () => {
      const queue = freshQueue();
      await calls.push(queue, { id: 'old', partition: 'p0' });
      await calls.pop(queue, { consumerGroup: 'g' });
      await calls.push(queue, { id: 'fresh', partition: 'p1' });
      expect(idsOf(await calls.pop(queue, { consumerGroup: 'g' }))).toEqual(['fresh']);
    });

    it('is per queue', async () => {
      const [a, b] = [freshQueue(), freshQueue()];
      await calls.push(b, 'old');
      await calls.pop(a, { consumerGroup: 'g', subscriptionMode: 'new' });
      const popped = await calls.pop(b, { consumerGroup: 'g', subscriptionMode: 'all' });
      expect(idsOf(popped)).toEqual(['old']);
    });

    it('survives a restart', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'old');
      await calls.pop(queue, { consumerGroup: 'g' });
      await broker.restart();
      await calls.push(queue, 'after');
      const popped = await calls.pop(queue, { consumerGroup: 'g', subscriptionMode: 'all' });
      expect(idsOf(popped)).toEqual(['after']);
    });
  });

  describe('a pinned pop of an unregistered group', () => {
    it.each([
      [{ subscriptionMode: 'all' }, ['old', 'new']],
      [{ subscriptionMode: 'new' }, ['new']],
      [{ subscriptionFrom: 'now' }, ['new']],
      [{ subscriptionFrom: '2020-01-01T00:00:00Z' }, ['old', 'new']],
      [{}, ['new']],
    ] as const)('starts by its own intent %j', async (intent, expected) => {
      const queue = freshQueue();
      await calls.push(queue, 'old');
      const query = { consumerGroup: 'g', autoAck: true, ...intent };
      const seen: string[] = [];
      if (expected[0] === 'old') {
        seen.push(...idsOf(await calls.popPinned(queue, 'Default', query)));
        await calls.push(queue, 'new');
        seen.push(...idsOf(await calls.popPinned(queue, 'Default', query)));
      } else {
        const wait = { wait: true, timeout: 10_000 };
        const { answer } = await calls.park(() =>
          calls.popPinned(queue, 'Default', { ...query, ...wait }),
        );
        await calls.push(queue, 'new');
        seen.push(...idsOf(await answer));
      }
      expect(seen).toEqual(expected);
    });

    it('keeps the start of its first contact, also when that found nothing', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'old');
      const query = { consumerGroup: 'g', autoAck: true, subscriptionMode: 'new' };
      expect((await calls.popPinned(queue, 'Default', query)).status).toBe(204);
      await calls.push(queue, 'new');
      expect(idsOf(await calls.popPinned(queue, 'Default', query))).toEqual(['new']);
    });

    it('does not register: a later queue pop decides for the partitions not read yet', async () => {
      const queue = freshQueue();
      await calls.push(queue, { id: 'a0', partition: 'a' }, { id: 'b0', partition: 'b' });
      const group = { consumerGroup: 'g', autoAck: true };
      const pinned = await calls.popPinned(queue, 'a', { ...group, subscriptionMode: 'all' });
      expect(idsOf(pinned)).toEqual(['a0']);
      const wide = await calls.pop(queue, { ...group, subscriptionMode: 'all', partitions: 5 });
      expect(idsOf(wide)).toEqual(['b0']);
    });
  });
});

describe('DEFAULT_SUBSCRIPTION_MODE=all', () => {
  it('decides when the pop says nothing', async () => {
    const broker = await TestBroker.start({ DEFAULT_SUBSCRIPTION_MODE: 'all' });
    try {
      const calls = new Calls(broker);
      const queue = freshQueue();
      await calls.push(queue, 'old');
      expect(idsOf(await calls.pop(queue, { consumerGroup: 'g' }))).toEqual(['old']);
      const fresh = { consumerGroup: 'h', subscriptionMode: 'new' };
      expect((await calls.pop(queue, fresh)).status).toBe(204);
    } finally {
      await broker.stop();
    }
  });
});
