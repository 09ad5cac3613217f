/** Long polling (messages.md §5.7, G11, G15): woken at once, oldest first, gone clients cost nothing. */
import { TestBroker } from '../support/broker.js';
import { Calls, eventually, freshQueue, idsOf, messagesOf } from './calls.js';
import { PROMPT_MS, promptly, queryText } from './calls.js';
import { RawClient } from './raw-http.js';

const WAIT = { wait: true, timeout: 40_000 };
const ROUNDS = 3;

describe('long poll', () => {
  let broker: TestBroker;
  let calls: Calls;

  beforeAll(async () => {
    broker = await TestBroker.start();
    calls = new Calls(broker);
  });

  afterAll(() => broker.stop());

  describe('what wakes a waiting pop', () => {
    it('a push to its queue', async () => {
      const queue = freshQueue();
      const { answer } = await calls.park(() => calls.pop(queue, WAIT));
      expect(idsOf(await promptly(answer, () => calls.push(queue, 'a')))).toEqual(['a']);
    });

    it('a push within a few milliseconds, as a rule', async () => {
      const queue = freshQueue();
      const medianMs = async (): Promise<number> => {
        const took: number[] = [];
        for (let i = 0; i < 7; i += 1) {
          const { answer } = await calls.park(() => calls.pop(queue, { ...WAIT, autoAck: true }));
          await calls.push(queue, {});
          const pushed = Date.now();
          await answer;
          took.push(Date.now() - pushed);
        }
        return took.sort((a, b) => a - b)[3] ?? Infinity;
      };
      // Again, up to three times in all, when the machine was busy meanwhile.
      let best = await medianMs();
      for (let n = 1; n < ROUNDS && best >= 100; n += 1) best = Math.min(best, await medianMs());
      expect(best).toBeLessThan(100);
    });

    it('a push to its partition, not to another one', async () => {
      const queue = freshQueue();
      await calls.push(queue, { id: '0', partition: 'x' });
      await calls.popPinned(queue, 'x', { autoAck: true });
      const { answer } = await calls.park(() => calls.popPinned(queue, 'x', WAIT));
      await calls.push(queue, { id: 'other', partition: 'y' });
      const popped = await promptly(answer, () =>
        calls.push(queue, { id: 'mine', partition: 'x' }),
      );
      expect(idsOf(popped)).toEqual(['mine']);
    });

    it('a queue that comes to be, for a pinned pop', async () => {
      const queue = freshQueue();
      const { answer } = await calls.park(() => calls.popPinned(queue, 'p', WAIT));
      const push = () => calls.push(queue, { id: 'a', partition: 'p' });
      expect(idsOf(await promptly(answer, push))).toEqual(['a']);
    });

    it('a partition that comes to be, for a pinned pop of a named group', async () => {
      const queue = freshQueue();
      await calls.push(queue, { id: 'x', partition: 'other' });
      const group = { consumerGroup: 'g', subscriptionMode: 'all' };
      const { answer } = await calls.park(() => calls.popPinned(queue, 'p', { ...WAIT, ...group }));
      const push = () => calls.push(queue, { id: 'a', partition: 'p' });
      expect(idsOf(await promptly(answer, push))).toEqual(['a']);
    });

    it('an ack that leaves messages behind', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a', 'b');
      const first = await calls.pop(queue, { batch: 1 });
      const { answer } = await calls.park(() => calls.pop(queue, WAIT));
      const ack = () => calls.ack(first.json, undefined, 'a');
      expect(idsOf(await promptly(answer, ack))).toEqual(['b']);
    });

    it('a nack', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      const first = await calls.pop(queue);
      const { answer } = await calls.park(() => calls.pop(queue, WAIT));
      const nack = () => calls.ack(first.json, undefined, { id: 'a', status: 'retry' });
      expect(idsOf(await promptly(answer, nack))).toEqual(['a']);
    });

    it('the end of a lease', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      await calls.pop(queue, { leaseSeconds: 1 });
      const started = Date.now();
      const popped = await calls.pop(queue, WAIT);
      expect(popped.json.messages[0].deliveryAttempt).toBe(2);
      expect(Date.now() - started).toBeLessThan(1_000 + PROMPT_MS);
    });
  });

  describe('fairness', () => {
    it('serves the oldest waiter first', async () => {
      const queue = freshQueue();
      const order: number[] = [];
      const waiters: Promise<void>[] = [];
      for (let i = 0; i < 4; i += 1) {
        const { answer } = await calls.park(() => calls.pop(queue, { ...WAIT, autoAck: true }));
        waiters.push(answer.then((popped) => void order.push(i, ...idsOf(popped).map(Number))));
      }
      for (let i = 0; i < 4; i += 1) {
        await calls.push(queue, `${i}`);
        await waiters[i];
      }
      expect(order).toEqual([0, 0, 1, 1, 2, 2, 3, 3]);
    });

    it('gives waiters disjoint partitions', async () => {
      const queue = freshQueue();
      const parked = [];
      for (let i = 0; i < 5; i += 1) parked.push(await calls.park(() => calls.pop(queue, WAIT)));
      const partitions = Array.from({ length: 5 }, (_, i) => ({ id: `${i}`, partition: `p${i}` }));
      await calls.push(queue, ...partitions);
      const popped = await Promise.all(parked.map(({ answer }) => answer));
      expect(popped.flatMap(idsOf).sort()).toEqual(['0', '1', '2', '3', '4']);
      expect(new Set(popped.map(({ json }) => json.partition)).size).toBe(5);
      expect(new Set(popped.map(({ json }) => json.leaseId)).size).toBe(5);
    });

    it('keeps a waiter that finds nothing at the front', async () => {
      const queue = freshQueue();
      const first = await calls.park(() => calls.pop(queue, WAIT));
      const second = await calls.park(() => calls.pop(queue, WAIT));
      await calls.push(queue, 'a');
      expect(idsOf(await first.answer)).toEqual(['a']);
      await calls.push(queue, { id: 'b', partition: 'other' });
      expect(idsOf(await second.answer)).toEqual(['b']);
    });

    it('does not wake other groups with an ack', async () => {
      const queue = freshQueue();
      await calls.push(queue, 'a');
      const all = { subscriptionMode: 'all' };
      const g1 = await calls.pop(queue, { consumerGroup: 'g1', ...all });
      await calls.pop(queue, { consumerGroup: 'g2', ...all });
      const waiting = calls.pop(queue, { consumerGroup: 'g2', wait: true, timeout: 400 });
      await calls.ack(g1.json, 'g1', { id: 'a', status: 'retry' });
      expect((await waiting).status).toBe(204);
    });
  });

  describe('a client that leaves', () => {
    const abortable = async (path: string): Promise<{ gone: () => Promise<void> }> => {
      const before = calls.parked;
      const controller = new AbortController();
      const call = broker.send('GET', path, undefined, { signal: controller.signal });
      const settled = call.then(
        () => undefined,
        () => undefined,
      );
      await eventually(async () => (calls.parked > before ? true : null));
      return {
        gone: async () => {
          const before = calls.parked;
          controller.abort();
          await settled;
          await eventually(async () => (calls.parked < before ? true : null));
        },
      };
    };

    it('while it waits: no lease, no attempt, the next client gets the message', async () => {
      const queue = freshQueue();
      await calls.pop(queue);
      const waiting = await abortable(`/api/v1/pop/queue/${queue}?wait=true&timeout=20000`);
      await waiting.gone();
      await calls.push(queue, 'a');
      const popped = await eventually(async () => {
        const answer = await calls.pop(queue);
        return answer.status === 200 ? answer : null;
      });
      expect(popped.json.messages[0].deliveryAttempt).toBe(1);
    });

    it('gives its place to the waiter behind it', async () => {
      const queue = freshQueue();
      await calls.pop(queue);
      const waiting = await abortable(`/api/v1/pop/queue/${queue}?wait=true&timeout=20000`);
      const { answer } = await calls.park(() => calls.pop(queue, WAIT));
      await waiting.gone();
      await calls.push(queue, 'a');
      expect(idsOf(await answer)).toEqual(['a']);
      expect((await answer).json.messages[0].deliveryAttempt).toBe(1);
    });

    it.each([
      ['the lease is handed back, the attempt uncounted', { leaseSeconds: 600 }],
      ['a commit on delivery is taken back', { autoAck: true }],
    ])('before it read a large answer: %s', async (_name, query) => {
      const queue = freshQueue();
      await calls.push(queue, { id: 'big', payload: 'x'.repeat(12_000_000) });
      const client = await RawClient.open(broker.portNumber);
      // Twelve megabytes do not fit the socket buffers: the answer cannot be complete.
      client.request(`GET /api/v1/pop/queue/${queue}${queryText(query)}`);
      client.pauseReading();
      await eventually(async () => ((await calls.depth(queue)).ready === 0 ? true : null));
      client.destroy();
      const popped = await eventually(async () => {
        const answer = await calls.pop(queue);
        return answer.status === 200 ? answer : null;
      });
      expect(popped.json.messages[0].deliveryAttempt).toBe(1);
    });
  });

  describe('many at once', () => {
    it('every message once, in order inside its partition', async () => {
      const queue = freshQueue();
      const seen = new Map<string, number[]>();
      let left = 300;
      const consume = async (): Promise<void> => {
        while (left > 0) {
          const query = { wait: true, timeout: 500, batch: 4, partitions: 2, autoAck: true };
          for (const { transactionId } of messagesOf(await calls.pop(queue, query))) {
            const [partition = '', number] = transactionId.split('/');
            seen.set(partition, [...(seen.get(partition) ?? []), Number(number)]);
            left -= 1;
          }
        }
      };
      const consumers = Array.from({ length: 12 }, consume);
      for (let n = 0; n < 30; n += 1) {
        const items = Array.from({ length: 10 }, (_, p) => ({
          id: `p${p}/${n}`,
          partition: `p${p}`,
        }));
        await calls.push(queue, ...items);
      }
      await Promise.all(consumers);
      expect(left).toBe(0);
      expect(seen.size).toBe(10);
      // Two pops may answer in another order than they were granted: compare as sets, per pop in order.
      for (const numbers of seen.values()) {
        expect([...numbers].sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => n));
      }
    });
  });

  describe('deletion', () => {
    it('answers pops that wait for the queue empty, at once', async () => {
      const queue = freshQueue();
      await calls.push(queue, { id: 'x', partition: 'p' });
      await calls.pop(queue, { autoAck: true });
      const wide = await calls.park(() => calls.pop(queue, WAIT));
      const pinned = await calls.park(() => calls.popPinned(queue, 'p', WAIT));
      const remove = () => broker.send('DELETE', `/api/v1/resources/queues/${queue}`);
      const both = await promptly(Promise.all([wide.answer, pinned.answer]), remove);
      expect(both.map(({ status }) => status)).toEqual([204, 204]);
    });
  });
});
