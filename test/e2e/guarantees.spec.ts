/**
 * The guarantees of messages.md §16 on one node, one test each, named by its number. Those that speak of
 * several nodes (G1, G2, G16, G17, G22–G24 across failover) have their other half in
 * test/cluster/guarantees.spec.ts. Ordering and delivery here, the others in guarantees-effects.spec.ts.
 */
import { TestBroker } from '../support/broker.js';
import {
  Calls,
  eventually,
  freshQueue,
  idsOf,
  messagesOf,
  type Message,
  unhurried,
  type Wire,
} from './calls.js';

const ALL = { consumerGroup: 'g', subscriptionMode: 'all' };
const WAIT = { ...ALL, wait: true, timeout: 30_000 };

let broker: TestBroker;
let calls: Calls;

beforeAll(async () => {
  broker = await TestBroker.start();
  calls = new Calls(broker);
});

afterAll(() => broker.stop());

const recordsOf = async (queue: string, partition = 'Default'): Promise<Wire[]> =>
  (await broker.post('/api/v1/fetch', { entries: [{ queue, partition, offset: 0 }] })).json
    .entries[0].records;

const offsetsOf = async (queue: string, partition?: string): Promise<number[]> =>
  (await recordsOf(queue, partition)).map(({ offset }) => offset);

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** Pops and acknowledges until nothing comes. */
async function drain(queue: string, query = {}): Promise<string[]> {
  const seen: string[] = [];
  for (;;) {
    const popped = await calls.pop(queue, { ...ALL, batch: 3, ...query });
    if (popped.status !== 200) return seen;
    const messages = messagesOf(popped);
    const ids = messages.map(({ transactionId }) => transactionId);
    seen.push(...ids);
    const group = (query as { consumerGroup?: string }).consumerGroup ?? 'g';
    await calls.ack(messages[0]!, group, ...ids);
  }
}

describe('ordering', () => {
  it('G1 offsets are 0, 1, 2 without gaps or reuse, over concurrency and a restart', async () => {
    const queue = freshQueue();
    const rows = await Promise.all(range(20).map((n) => calls.push(queue, `a${n}`, `b${n}`)));
    await broker.restart();
    const later = await calls.push(queue, 'last');
    expect(later[0]?.offset).toBe(40);
    const given = rows.flat().map(({ offset }) => offset);
    expect([...given].sort((a, b) => a! - b!)).toEqual(range(40));
    expect(await offsetsOf(queue)).toEqual(range(41));
  });

  it('G2 groups, queue mode and fetch see one order', async () => {
    const queue = freshQueue();
    await Promise.all(range(12).map((n) => calls.push(queue, `m${n}`)));
    const order = (await recordsOf(queue)).map(({ transactionId }) => transactionId);
    expect(order).toHaveLength(12);
    expect(await drain(queue)).toEqual(order);
    expect(await drain(queue, { consumerGroup: 'h', batch: 5 })).toEqual(order);
    expect(idsOf(await calls.pop(queue, { batch: 20 }))).toEqual(order);
  });

  it('G3 one live lease per group and partition, batches in cursor order without skips', async () => {
    const queue = freshQueue();
    await calls.push(queue, ...range(6).map((n) => `m${n}`));
    const seen: string[] = [];
    while (seen.length < 6) {
      const answers = await Promise.all(range(5).map(() => calls.pop(queue, { ...ALL, batch: 2 })));
      const [winner, ...others] = answers.filter(({ status }) => status === 200);
      expect(others).toEqual([]);
      seen.push(...idsOf(winner!));
      await calls.ack(messagesOf(winner!)[0]!, 'g', ...idsOf(winner!));
    }
    expect(seen).toEqual(range(6).map((n) => `m${n}`));
  });

  it('G4 items of a push keep their order and are contiguous, minus duplicates', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'b');
    const [first, second] = await Promise.all([
      calls.push(queue, 'a1', 'b', 'a2', 'a3'),
      calls.push(queue, 'c1', 'c2', 'b', 'c3'),
    ]);
    for (const rows of [first, second]) {
      const fresh = rows.filter(({ status }) => status === 'queued').map(({ offset }) => offset!);
      expect(fresh).toEqual(range(3).map((n) => fresh[0]! + n));
    }
    expect(await offsetsOf(queue)).toEqual(range(7));
  });

  it('G5 createdAt rises strictly from append to append', async () => {
    const queue = freshQueue();
    await Promise.all(range(20).map((n) => calls.push(queue, `${n}`, `${n}+`)));
    const stamps = (await recordsOf(queue)).map(({ ts }) => String(ts));
    const popped = messagesOf(await calls.pop(queue, { ...ALL, batch: 100 }));
    const created = popped.map(({ createdAt }) => createdAt);
    const distinct = [...new Set(created)];
    expect(distinct).toHaveLength(20);
    expect([...distinct].sort()).toEqual(distinct);
    expect(stamps).toHaveLength(created.length);
    range(20).forEach((n) => expect(created[2 * n]).toBe(created[2 * n + 1]));
  });

  it('G6 a stuck partition delays no other', async () => {
    const queue = freshQueue();
    await calls.push(queue, { id: 's', partition: 'stuck' });
    const stuck = await calls.pop(queue, ALL);
    for (const n of range(5)) {
      await calls.push(queue, { id: `s${n}`, partition: 'stuck' });
      await calls.push(queue, { id: `f${n}`, partition: 'free' });
      const popped = await calls.pop(queue, WAIT);
      expect(idsOf(popped)).toEqual([`f${n}`]);
      await calls.ack(messagesOf(popped)[0]!, 'g', `f${n}`);
    }
    const acked = await calls.ack(messagesOf(stuck)[0]!, 'g', 's');
    expect(acked[0]?.success).toBe(true);
  });
});

describe('delivery', () => {
  it('G7 what was queued comes until it is acknowledged, to every group', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    for (const consumerGroup of ['g', 'h']) {
      const query = { ...WAIT, consumerGroup, leaseSeconds: 1 };
      expect(idsOf(await calls.pop(queue, query))).toEqual(['a', 'b']);
      const again = await calls.pop(queue, query);
      expect(idsOf(again)).toEqual(['a', 'b']);
      const [message] = messagesOf(again);
      await calls.ack(message!, consumerGroup, { id: 'a', status: 'retry' });
      const third = await calls.pop(queue, { ...query, leaseSeconds: 60 });
      expect(idsOf(third)).toEqual(['a', 'b']);
      await calls.ack(messagesOf(third)[0]!, consumerGroup, 'a', 'b');
      expect((await calls.pop(queue, { ...ALL, consumerGroup })).status).toBe(204);
    }
  });

  it('G8 nothing comes again after a successful ack, also after a restart', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'a', 'b');
    const [message] = messagesOf(await calls.pop(queue, { ...ALL, batch: 1 }));
    expect((await calls.ack(message!, 'g', 'a'))[0]?.success).toBe(true);
    await broker.restart();
    expect(await drain(queue)).toEqual(['b']);
  });

  it('G9 an expired lease comes again from committed + 1, one attempt more, budget untouched', async () => {
    const queue = await unhurried(async (timely) => {
      const fresh = freshQueue();
      await calls.configure(fresh, { retryLimit: 1 });
      await calls.push(fresh, 'a', 'b', 'c');
      await timely(1_000, async () => {
        const [first] = messagesOf(await calls.pop(fresh, { ...ALL, leaseSeconds: 1 }));
        await calls.ack(first!, 'g', 'a');
      });
      return fresh;
    });
    let last: Message | undefined;
    for (const attempt of [2, 3, 4]) {
      const popped = await calls.pop(queue, { ...WAIT, leaseSeconds: attempt === 4 ? 60 : 1 });
      expect(idsOf(popped)).toEqual(['b', 'c']);
      [last] = messagesOf(popped);
      expect(last?.deliveryAttempt).toBe(attempt);
    }
    const [row] = await calls.ack(last!, 'g', { id: 'b', status: 'failed' });
    expect(row).toMatchObject({ success: true, dlq: false });
  });

  it.each([0, 1, 3])('G10 failed comes again exactly %i times, then is filed', async (limit) => {
    const queue = freshQueue();
    await calls.configure(queue, { retryLimit: limit });
    await calls.push(queue, 'x', 'next');
    let deliveries = 0;
    for (let dlq = false; !dlq;) {
      const popped = await calls.pop(queue, { ...ALL, batch: 1 });
      expect(idsOf(popped)).toEqual(['x']);
      deliveries += 1;
      const failed = { id: 'x', status: 'failed', error: 'no' };
      dlq = (await calls.ack(messagesOf(popped)[0]!, 'g', failed))[0]!.dlq;
    }
    expect(deliveries).toBe(limit + 1);
    expect((await broker.get(`/api/v1/dlq?queue=${queue}`)).json.total).toBe(1);
    expect(await drain(queue)).toEqual(['next']);
  });

  it('G11 a pop nobody receives leaves no lease and raises no attempt', async () => {
    const queue = freshQueue();
    await calls.pop(queue, ALL);
    const gone = new AbortController();
    const path = `/api/v1/pop/queue/${queue}?consumerGroup=g&wait=true&timeout=20000`;
    const parked = calls.parked;
    const waiting = broker.send('GET', path, undefined, { signal: gone.signal }).catch(() => null);
    await eventually(async () => (calls.parked > parked ? true : null));
    gone.abort();
    await waiting;
    await eventually(async () => (calls.parked === parked ? true : null));
    await calls.push(queue, 'a');
    // Below the reply margin nothing is claimed.
    expect((await calls.pop(queue, { ...ALL, timeout: 40 })).status).toBe(204);
    expect(await calls.depth(queue, 'g')).toMatchObject({ pending: 1, processing: 0 });
    expect(messagesOf(await calls.pop(queue, WAIT))[0]?.deliveryAttempt).toBe(1);
  });

  it('G12 commit on delivery delivers at most once', async () => {
    const queue = freshQueue();
    await calls.push(queue, ...range(9).map((n) => `m${n}`));
    const query = { ...ALL, batch: 2, commitOnDelivery: true };
    const answers = await Promise.all(range(12).map(() => calls.pop(queue, query)));
    await broker.restart();
    const rest = await calls.pop(queue, { ...query, batch: 20 });
    const all = [...answers, rest].flatMap((answer) => idsOf(answer));
    expect([...all].sort()).toEqual(range(9).map((n) => `m${n}`));
    expect((await calls.pop(queue, ALL)).status).toBe(204);
  });

  it('G13 new sees what comes later, all sees everything, groups leave each other alone', async () => {
    const queue = freshQueue();
    await calls.push(queue, 'old');
    const fresh = { consumerGroup: 'n', subscriptionMode: 'new' };
    expect((await calls.pop(queue, fresh)).status).toBe(204);
    await calls.push(queue, 'later', { id: 'created', partition: 'created-later' });
    const seen: string[] = [];
    while (seen.length < 2) {
      const popped = await calls.pop(queue, { ...WAIT, ...fresh });
      seen.push(...idsOf(popped));
      // The other group settles all of it meanwhile.
      if (seen.length === 1)
        expect((await drain(queue)).sort()).toEqual(['created', 'later', 'old']);
      const [head] = messagesOf(popped);
      expect((await calls.ack(head!, 'n', ...idsOf(popped)))[0]?.success).toBe(true);
    }
    expect(seen.sort()).toEqual(['created', 'later']);
    expect((await calls.pop(queue, fresh)).status).toBe(204);
  });

  it('G14 conflation: a delivery starts after the last push', async () => {
    const queue = freshQueue();
    const query = { ...WAIT, conflation: true };
    await calls.push(queue, 'm0');
    for (const n of range(4)) {
      const popped = await calls.pop(queue, query);
      expect(idsOf(popped)).toEqual([`m${2 * n}`]);
      // While it is worked on, more comes; the last of it must be delivered afterwards.
      await calls.push(queue, `m${2 * n + 1}`);
      await calls.push(queue, `m${2 * n + 2}`);
      await calls.ack(messagesOf(popped)[0]!, 'g', `m${2 * n}`);
    }
    expect(idsOf(await calls.pop(queue, query))).toEqual(['m8']);
  });

  it('G15 an append wakes the oldest waiter; each gets partitions of its own', async () => {
    const queue = freshQueue();
    await calls.pop(queue, ALL);
    const waiters = [];
    for (const _ of range(3)) waiters.push(await calls.park(() => calls.pop(queue, WAIT)));
    for (const [n, { answer }] of waiters.entries()) {
      const from = performance.now();
      await calls.push(queue, { id: `m${n}`, partition: `p${n}` });
      expect(idsOf(await answer)).toEqual([`m${n}`]);
      // Far below any polling; the machine may be busy.
      expect(performance.now() - from).toBeLessThan(15_000);
    }
  });
});
