/** Bounds of queue, tenant and node, what happens at them, and that accounts are even afterwards. */
import {
  EngineHarness,
  EPHEMERAL_TENANT,
  NO_LIMITS,
} from '../../../test/support/ephemeral-engine.js';

const text = (bytes: number): string => 'x'.repeat(bytes - 2);

describe('when it is full', () => {
  it.each([
    ['reject by length', { maxLength: 3 }, ['ok', 'ok', 'ok', 'queue_full'], 3, 0],
    ['reject by bytes', { maxBytes: 25 }, ['ok', 'ok', 'queue_full', 'queue_full'], 2, 0],
    ['drop by length', { maxLength: 3, policy: 'dropOldest' }, ['ok', 'ok', 'ok', 'ok'], 3, 1],
    ['drop by bytes', { maxBytes: 25, policy: 'dropOldest' }, ['ok', 'ok', 'ok', 'ok'], 2, 2],
  ])('%s', async (_, options, expected, length, dropped) => {
    const harness = new EngineHarness();
    harness.declare('q', options);
    await harness.pop('q', { partition: 'p', group: 'g' });
    expect([0, 1, 2, 3].map(() => harness.push('q', 'p', [text(10)]))).toEqual(expected);
    const queue = harness.queue('q')!;
    expect([queue.length, queue.drops.bounds]).toEqual([length, dropped]);
    expect(queue.rings.get('p')!.cursors.get('g')!.skipped).toBe(dropped);
    expect(harness.engine.store.account.payloadBytes).toBe(length * 10);
    await harness.stop();
  });

  it('a push that can never fit drops nothing; neither does one that another partition blocks', async () => {
    const harness = new EngineHarness();
    harness.declare('q', { maxLength: 3, policy: 'dropOldest' });
    expect(harness.push('q', 'a', [1, 2])).toBe('ok');
    expect(harness.push('q', 'a', [1, 2, 3, 4])).toBe('queue_full');
    expect(harness.push('q', 'b', [1, 2])).toBe('queue_full');
    expect(harness.push('q', 'b', [1])).toBe('ok');
    expect([...harness.queue('q')!.rings.values()].map(({ length }) => length)).toEqual([2, 1]);
    await harness.stop();
  });

  it.each([
    ['tenant bytes', { maxBytes: 25, maxQueues: null }, 'ephemeral_quota_exceeded'],
    ['tenant queues', { maxBytes: null, maxQueues: 1 }, 'ephemeral_unavailable'],
  ])('%s', async (_, limits, code) => {
    const harness = new EngineHarness();
    expect(harness.push('q', 'p', [text(20)], limits)).toBe('ok');
    expect(harness.push('other', 'p', [text(20)], limits)).toBe(code);
    expect(harness.engine.store.queues).toBe(1);
    await harness.pop('other', { partition: 'p' });
    expect(harness.engine.store.queues).toBe(2);
    await harness.stop();
  });

  it('the node: exact for payloads, and what is around them counts beyond the first mebibyte', async () => {
    const harness = new EngineHarness({ maxBytes: 100 });
    expect([60, 40, 2].map((size) => harness.push('q', 'p', [text(size)]))).toEqual([
      ...['ok', 'ok', 'ephemeral_unavailable'],
    ]);
    const many = new EngineHarness({ maxBytes: 1 << 20 });
    let refused = '';
    let rings = 0;
    for (; refused === '' && rings < 100_000; rings += 1) {
      const verdict = many.push('q', `p${rings}`, [1]);
      if (verdict !== 'ok') refused = verdict;
    }
    // A byte each, but thousands of partitions: structure is what fills the node.
    expect([refused, rings > 1000 && rings < 10_000]).toEqual(['ephemeral_unavailable', true]);
    expect(many.engine.store.account.bytes).toBeLessThanOrEqual(1 << 20);
    await Promise.all([harness.stop(), many.stop()]);
  });
});

describe('pops at the ceiling', () => {
  const fill = async (harness: EngineHarness): Promise<number> => {
    let made = 0;
    for (; made < 100_000; made += 1) {
      await harness.pop(`q${made}`, { partition: 'p', group: `g${made}` });
      if (harness.engine.store.queues <= made) break;
    }
    return made;
  };

  it('make no queue, no partition and no group more, and still get what is there', async () => {
    const harness = new EngineHarness({ maxBytes: 1 << 20 });
    harness.push('kept', 'p', ['x']);
    const made = await fill(harness);
    const { account } = harness.engine.store;
    expect([made > 100, account.bytes <= 1 << 20]).toEqual([true, true]);
    const before = account.bytes;
    for (let n = 0; n < 1000; n += 1) {
      expect(await harness.pop('kept', { partition: `other${n}` })).toEqual([]);
      expect(await harness.pop('q0', { partition: 'p', group: `new${n}` })).toEqual([]);
    }
    expect(account.bytes - before).toBeLessThan(4000);
    expect(harness.push('kept', 'p2', ['y'])).toBe('ephemeral_unavailable');
    await harness.stop();
  });

  it('wait for room: one that waits gets its message once others are gone', async () => {
    const harness = new EngineHarness({ maxBytes: 1 << 20 });
    const made = await fill(harness);
    const waiting = harness.pop('late', { deadlineMs: harness.nowMs + 60_000 });
    for (let n = 0; n < made; n += 2) await harness.engine.delete(EPHEMERAL_TENANT, `q${n}`);
    expect(harness.push('late', 'p', ['x'])).toBe('ok');
    expect((await waiting).map(({ payload }) => payload)).toEqual(['x']);
    await harness.stop();
  });

  it('groups beyond those remembered go with their last partition', async () => {
    const harness = new EngineHarness({ idleMs: 1000 });
    harness.declare('q', {});
    for (let n = 0; n < 400; n += 1) await harness.pop('q', { partition: 'p', group: `g${n}` });
    expect(harness.queue('q')!.groups.size).toBe(400);
    harness.nowMs += 1000;
    await harness.engine.sweeper.sweep();
    await harness.engine.sweeper.sweep();
    expect([harness.queue('q')!.rings.size, harness.queue('q')!.groups.size]).toEqual([0, 256]);
    await harness.stop();
  });

  it('know beforehand what a new partition costs, however many groups there are', async () => {
    const harness = new EngineHarness();
    for (let n = 0; n < 400; n += 1) await harness.pop('q', { partition: 'p', group: `g${n}` });
    const account = harness.engine.store.account as unknown as { readonly structure: number };
    const [before, cost] = [account.structure, harness.queue('q')!.costOfPop('new', 'late')];
    await harness.pop('q', { partition: 'new', group: 'late' });
    expect(account.structure - before).toBe(cost);
    await harness.stop();
  });

  it('groups of a queue that is deleted during a round are given back once', async () => {
    const harness = new EngineHarness();
    for (let n = 0; n < 2500; n += 1) await harness.pop('q', { partition: 'p', group: `g${n}` });
    const round = harness.engine.sweeper.sweep();
    await harness.engine.delete(EPHEMERAL_TENANT, 'q');
    await round;
    expect(harness.engine.store.account).toMatchObject({ structure: 0 });
    await harness.stop();
  });
});

describe('age and idleness', () => {
  it('drops heads older than the ttl, and never delivers one', async () => {
    const harness = new EngineHarness();
    harness.declare('q', { ttlSeconds: 1 });
    harness.push('q', 'p', [1, 2]);
    harness.nowMs += 600;
    harness.push('q', 'p', [3]);
    harness.nowMs += 600;
    const popped = await harness.pop('q', { partition: 'p' });
    expect(popped.map(({ payload }) => payload)).toEqual([3]);
    harness.nowMs += 600;
    await harness.engine.sweeper.sweep();
    expect([harness.queue('q')!.length, harness.queue('q')!.drops.ttl]).toEqual([0, 3]);
    await harness.stop();
  });

  it('collects implicit queues that are empty and idle, and empty partitions of declared ones', async () => {
    const harness = new EngineHarness({ idleMs: 1000 });
    harness.declare('kept', {});
    for (const queue of ['kept', 'gone', 'filled']) harness.push(queue, 'p', [1]);
    for (const queue of ['kept', 'gone']) await harness.pop(queue, { commitOnDelivery: true });
    harness.nowMs += 999;
    await harness.engine.sweeper.sweep();
    expect(harness.engine.store.queues).toBe(3);
    harness.nowMs += 1;
    await harness.engine.sweeper.sweep();
    expect(['kept', 'gone', 'filled'].map((queue) => harness.queue(queue)?.rings.size)).toEqual([
      ...[0, undefined, 1],
    ]);
    await harness.stop();
  });

  it('ids never repeat after a collection', async () => {
    const harness = new EngineHarness({ idleMs: 1000 });
    harness.push('q', 'p', [1]);
    const [first] = await harness.pop('q', { commitOnDelivery: true });
    harness.nowMs += 2000;
    await harness.engine.sweeper.sweep();
    harness.push('q', 'p', [2]);
    const [second] = await harness.pop('q');
    expect(second?.id).not.toBe(first?.id);
    expect(harness.ack('q', [first!.id])).toEqual(['unknown']);
    await harness.stop();
  });
});

it('after everything is gone the accounts are at zero', async () => {
  const harness = new EngineHarness();
  const { store } = harness.engine;
  const before = store.account.bytes;
  for (let n = 0; n < 3000; n += 1) harness.push(`q${n % 7}`, `p${n % 50}`, [text(500), n]);
  for (let n = 0; n < 7; n += 1) {
    await harness.pop(`q${n}`, { group: 'g', batch: 90 });
    await harness.pop(`q${n}`, { group: 'h', batch: 200, commitOnDelivery: true });
  }
  expect(await harness.engine.reset(EPHEMERAL_TENANT, 'q0')).toBeGreaterThan(0);
  for (let n = 0; n < 7; n += 1) await harness.engine.delete(EPHEMERAL_TENANT, `q${n}`);
  expect([store.account.payloadBytes, store.account.bytes, store.queues]).toEqual([0, before, 0]);
  expect(store.share(EPHEMERAL_TENANT).bytes).toBe(0);
  expect(harness.push('q0', 'p', [1], NO_LIMITS)).toBe('ok');
  await harness.stop();
});
