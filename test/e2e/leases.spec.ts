/** Leases, delivery attempts and lease extension (messages.md §2.4, §2.5, §7, G9). */
import { type HttpAnswer, TestBroker } from '../support/broker.js';
import {
  Calls,
  eventually,
  freshQueue,
  idsOf,
  messagesOf,
  unhurried,
  type Query,
} from './calls.js';

const WAIT = { wait: true, timeout: 30_000 };
const UNKNOWN_LEASE = '0199c0de-aaaa-7bbb-8ccc-ddddeeeeffff';

describe('leases', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  const attempts = (answer: HttpAnswer): number[] =>
    messagesOf(answer).map((message) => message.deliveryAttempt);

  const extend = (leaseId: string, body?: string) =>
    broker.send('POST', `/api/v1/lease/${leaseId}/extend`, body);

  describe('a live lease', () => {
    it('keeps every other pop of its group away from the partition', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b');
      await calls.pop(queue, { batch: 1 });
      expect((await calls.pop(queue)).status).toBe(204);
      expect((await calls.popPinned(queue, 'Default')).status).toBe(204);
      expect((await calls.pop(queue, { autoAck: true })).status).toBe(204);
    });

    it('has one id for all partitions of a pop; releasing one keeps the others', async () => {
      const queue = freshQueue();
      await calls.push(queue, { id: 'a', partition: '1' }, { id: 'b', partition: '2' });
      const popped = await calls.pop(queue, { partitions: 2 });
      const [a, b] = popped.json.messages;
      expect(a.leaseId).toBe(b.leaseId);
      const [row] = await calls.ack(a, undefined, { id: 'a', status: 'retry' });
      expect(row).toMatchObject({ success: true, leaseReleased: true });
      expect(idsOf(await calls.pop(queue))).toEqual(['a']);
      expect((await calls.ack(b, undefined, 'b'))[0]).toMatchObject({ success: true });
    });

    it('survives a restart', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b');
      const popped = await calls.pop(queue);
      await broker.restart();
      expect((await calls.pop(queue)).status).toBe(204);
      const rows = await calls.ack(popped.json, undefined, 'a', 'b');
      expect(rows.map((row) => [row.success, row.leaseReleased])).toEqual([
        [true, true],
        [true, true],
      ]);
    });
  });

  describe('an expired lease', () => {
    const expired = async (query: Query = {}) => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b', 'c');
      const first = await calls.pop(queue, { leaseSeconds: 1, ...query });
      return { queue, first };
    };

    it('redelivers from committed + 1 with the next attempt, under a new lease', async () => {
      const { queue, first } = await unhurried((timely) =>
        timely(1_000, async () => {
          const made = await expired();
          await calls.ack(made.first.json, undefined, 'a');
          return made;
        }),
      );
      const again = await calls.pop(queue, WAIT);
      expect(idsOf(again)).toEqual(['b', 'c']);
      expect(attempts(again)).toEqual([2, 2]);
      expect(again.json.leaseId).not.toBe(first.json.leaseId);
    });

    it('is fenced off: a late ack fails and moves nothing', async () => {
      const { queue, first } = await expired();
      const second = await calls.pop(queue, WAIT);
      const rows = await calls.ack(first.json, undefined, 'a', 'b', 'c');
      expect(rows.map(({ success, error }) => [success, error])).toEqual(
        rows.map(() => [false, 'invalid or expired lease']),
      );
      expect((await calls.depth(queue)).processing).toBe(3);
      expect((await calls.ack(second.json, undefined, 'a', 'b', 'c'))[0]!.leaseReleased).toBe(true);
    });

    it('refuses an ack also when nobody took the partition since', async () => {
      const { queue, first } = await expired();
      await eventually(async () => ((await calls.depth(queue)).processing === 0 ? true : null));
      const [row] = await calls.ack(first.json, undefined, 'a');
      expect(row).toMatchObject({ success: false, leaseReleased: false, noop: false });
    });

    it('does not count for other groups', async () => {
      const { queue } = await expired({ consumerGroup: 'g1', subscriptionMode: 'all' });
      const other = await calls.pop(queue, { consumerGroup: 'g2', subscriptionMode: 'all' });
      expect(attempts(other)).toEqual([1, 1, 1]);
    });
  });

  describe('deliveryAttempt', () => {
    it('counts deliveries that start at the same message', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      for (let attempt = 1; attempt <= 4; attempt += 1) {
        const popped = await calls.pop(queue);
        expect(attempts(popped)).toEqual([attempt]);
        await calls.ack(popped.json, undefined, { id: 'a', status: 'retry' });
      }
    });

    it('is put on every message of the batch, new ones included', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      const first = await calls.pop(queue);
      await calls.ack(first.json, undefined, { id: 'a', status: 'retry' });
      await calls.push(queue, 'b');
      expect(attempts(await calls.pop(queue))).toEqual([2, 2]);
    });

    it('moves with a partial ack without being reset', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b');
      const first = await calls.pop(queue);
      await calls.ack(first.json, undefined, 'a');
      await calls.ack(first.json, undefined, { id: 'b', status: 'retry' });
      const second = await calls.pop(queue);
      expect([idsOf(second), attempts(second)]).toEqual([['b'], [2]]);
    });

    it('is reset once a batch is settled', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      const first = await calls.pop(queue);
      await calls.ack(first.json, undefined, { id: 'a', status: 'retry' });
      const second = await calls.pop(queue);
      await calls.ack(second.json, undefined, 'a');
      await calls.push(queue, 'b');
      expect(attempts(await calls.pop(queue))).toEqual([1]);
    });

    it('goes on for the message behind a completed prefix', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b');
      const first = await calls.pop(queue);
      const items = ['a', { id: 'b', status: 'retry' }] as const;
      await calls.ack(first.json, undefined, ...items);
      expect(attempts(await calls.pop(queue))).toEqual([2]);
    });
  });

  describe('extend', () => {
    const leased = async (query: Query = {}): Promise<{ queue: string; leaseId: string }> => {
      const queue = freshQueue();
      await calls.push(queue, { id: 'a', partition: '1' }, { id: 'b', partition: '2' });
      const popped = await calls.pop(queue, { leaseSeconds: 30, ...query });
      return { queue, leaseId: popped.json.leaseId };
    };

    const secondsLeft = (answer: { json: { expiresAt: string } }): number =>
      (Date.parse(answer.json.expiresAt) - Date.now()) / 1000;

    it('has exactly the fields of the contract', async () => {
      const { leaseId } = await leased();
      const answer = await extend(leaseId, '{"seconds":60}');
      expect(answer.status).toBe(200);
      const at = answer.json.expiresAt;
      expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
      expect(answer.json).toEqual({
        leaseId,
        success: true,
        renewed: 1,
        newExpiresAt: at,
        expiresAt: at,
        lease_expires_at: at,
      });
    });

    it('renews every partition of the pop', async () => {
      const { leaseId } = await leased({ partitions: 2 });
      expect((await extend(leaseId)).json.renewed).toBe(2);
    });

    it.each([
      ['no body', undefined],
      ['an empty body', ''],
      ['broken JSON', '{"seconds":'],
      ['another type', '[]'],
      ['null', 'null'],
      ['a missing field', '{}'],
      ['seconds null', '{"seconds":null}'],
      ['seconds text', '{"seconds":"5"}'],
    ])('%s means 60 seconds', async (_name, body) => {
      const { leaseId } = await leased();
      const seconds = secondsLeft(await extend(leaseId, body));
      expect(seconds).toBeGreaterThan(50);
      expect(seconds).toBeLessThanOrEqual(60);
    });

    it.each([0, -5, 1])('seconds %i counts as 1 and never shortens', async (seconds) => {
      const { leaseId } = await leased();
      const left = secondsLeft(await extend(leaseId, JSON.stringify({ seconds })));
      expect(left).toBeGreaterThan(10);
      expect(left).toBeLessThanOrEqual(30);
    });

    it('takes any large number of seconds', async () => {
      const { leaseId } = await leased();
      const answer = await extend(leaseId, '{"seconds":1e300}');
      expect(answer.json.success).toBe(true);
    });

    it.each([
      ['unknown', UNKNOWN_LEASE],
      ['no UUID', 'nonsense'],
      ['escaped', '%2F%00'],
    ])('%s lease ids renew nothing', async (_name, leaseId) => {
      const answer = await extend(leaseId);
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual({
        leaseId: decodeURIComponent(leaseId),
        success: false,
        renewed: 0,
        newExpiresAt: null,
        expiresAt: null,
        lease_expires_at: null,
      });
    });

    it('does not bring an expired or a released lease back', async () => {
      const { queue, leaseId } = await leased({ leaseSeconds: 1 });
      await eventually(async () => ((await calls.depth(queue)).processing === 0 ? true : null));
      expect((await extend(leaseId)).json.renewed).toBe(0);
      const popped = await calls.pop(queue);
      await calls.ack(popped.json, undefined, ...idsOf(popped));
      expect((await extend(popped.json.leaseId)).json.renewed).toBe(0);
    });

    it('keeps the lease alive beyond its first end', async () => {
      const queue = await unhurried((timely) =>
        timely(1_000, async () => {
          const made = await leased({ leaseSeconds: 1, partitions: 2 });
          await extend(made.leaseId, '{"seconds":60}');
          return made.queue;
        }),
      );
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      expect((await calls.pop(queue)).status).toBe(204);
    });
  });
});
