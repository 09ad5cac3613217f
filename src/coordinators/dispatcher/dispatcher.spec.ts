/** The dispatcher over real machine tables: who gets what, and what everybody else is told. */
import { FakeHost, rangesOf } from '../../../test/support/dispatcher-host.js';

const EMPTY = { granted: false };
const GRANTED = { granted: true };

describe('dispatcher', () => {
  let host: FakeHost;

  beforeEach(() => {
    host = new FakeHost();
    host.register();
  });

  afterEach(() => host.dispatcher.stop());

  it('serves the oldest waiter first, disjoint partitions each', async () => {
    const pops = [host.pop(), host.pop(), host.pop()];
    await host.settle();
    host.push('a');
    host.push('b');
    await host.settle();
    expect(pops.map((pop) => rangesOf(host, pop))).toEqual([['a 0-0'], ['b 0-0'], []]);
    expect(pops[2]!.answer).toBeNull();
  });

  it.each([
    ['the older pinned pop', true],
    ['the older queue-wide pop', false],
  ])('gives a partition to %s', async (_name, pinnedFirst) => {
    host.push('a');
    const done = host.pop();
    await host.settle();
    const pinned = { scope: 'partition', partition: 'a' } as const;
    const pops = pinnedFirst ? [host.pop(pinned), host.pop()] : [host.pop(), host.pop(pinned)];
    await host.settle();
    host.push('a');
    host.ackAll(done);
    await host.settle();
    expect(pops.map((pop) => rangesOf(host, pop))).toEqual([['a 1-1'], []]);
  });

  it('lets a pinned pop go before queue-wide ones that came later', async () => {
    for (const partition of ['a', 'b']) host.push(partition);
    const done = host.pop({ maxPartitions: 2 });
    await host.settle();
    const first = host.pop();
    const pinned = host.pop({ scope: 'partition', partition: 'a' });
    const last = host.pop();
    await host.settle();
    host.hold = true;
    host.push('b');
    host.push('a');
    host.ackAll(done);
    await host.settle();
    host.applyClaims();
    await host.settle();
    expect([first, pinned, last].map((pop) => rangesOf(host, pop).join())).toEqual([
      'a 1-1',
      '',
      'b 1-1',
    ]);
  });

  it('names a slot in one claim at a time', async () => {
    host.hold = true;
    const pops = [host.pop(), host.pop({ scope: 'partition', partition: 'a' })];
    host.push('a');
    host.push('a');
    await host.settle();
    expect(host.claims).toHaveLength(1);
    host.applyClaims();
    await host.settle();
    expect(pops.map((pop) => rangesOf(host, pop).length)).toEqual([1, 0]);
  });

  it.each([
    ['a lease', { leaseSeconds: 5 }, {}],
    ['a delay', {}, { delayedProcessing: 5 }],
    ['a window', {}, { windowBuffer: 5 }],
  ])('sees the end of %s without waiting for the next tick', async (_what, first, options) => {
    host.configure(options);
    host.push('a');
    host.pop({ wait: false, ...first });
    await host.settle();
    // Time passes, nobody ticks.
    host.machine.advance(4);
    const early = host.pop({ wait: false });
    await host.settle();
    host.machine.advance(2);
    const late = [host.pop({ wait: false }), host.pop({ scope: 'partition', partition: 'a' })];
    await host.settle();
    expect(early.answer).toMatchObject(EMPTY);
    expect(late.map((pop) => rangesOf(host, pop))).toEqual([['a 0-0'], []]);
  });

  describe('pops that do not wait, while a commit on delivery is on its way', () => {
    const auto = { wait: false, commitOnDelivery: true, maxMessages: 1 } as const;

    it.each([
      ['queue-wide', auto],
      ['pinned', { ...auto, scope: 'partition', partition: 'a' } as const],
    ])('%s ones get what it leaves, and empty when it leaves nothing', async (_what, request) => {
      host.hold = true;
      host.push('a', 2);
      const pops = [host.pop(request), host.pop(request), host.pop(request)];
      await host.settle();
      expect(host.claims).toHaveLength(1);
      expect(pops.map(({ answer }) => answer)).toEqual([null, null, null]);
      host.applyClaims();
      await host.settle();
      // The second claim leaves nothing.
      expect(pops[2]!.answer).toMatchObject(EMPTY);
      host.applyClaims();
      await host.settle();
      expect(pops.map((pop) => rangesOf(host, pop))).toEqual([['a 0-0'], ['a 1-1'], []]);
      expect(pops[2]!.answer).toMatchObject(EMPTY);
    });

    it.each([
      ['queue-wide', auto],
      ['pinned', { ...auto, scope: 'partition', partition: 'a' } as const],
    ])('%s ones stay however busy the queue is meanwhile', async (_what, request) => {
      host.hold = true;
      host.push('a', 2);
      const pops = [host.pop(request), host.pop(request)];
      await host.settle();
      // Each makes the dispatcher look at the queue again; no claim lands.
      for (let n = 0; n < 300; n += 1) {
        host.configure({ delayedProcessing: 0, leaseTime: 10 + n });
        await host.settle(2);
      }
      expect(pops[1]!.answer).toBeNull();
      host.applyClaims();
      await host.settle();
      host.applyClaims();
      await host.settle();
      expect(pops.map((pop) => rangesOf(host, pop))).toEqual([['a 0-0'], ['a 1-1']]);
    });

    it('are empty at once when it takes everything', async () => {
      host.hold = true;
      host.push('a');
      const pops = [host.pop(auto), host.pop(auto)];
      await host.settle();
      expect(pops.map(({ answer }) => answer)).toEqual([null, expect.objectContaining(EMPTY)]);
      host.applyClaims();
      await host.settle();
      expect(rangesOf(host, pops[0]!)).toEqual(['a 0-0']);
    });

    it.each([
      ['queue-wide', auto],
      ['pinned', { ...auto, scope: 'partition', partition: 'a' } as const],
    ])('%s ones get what came after the claim that takes everything', async (_what, request) => {
      host.hold = true;
      host.push('a');
      const first = host.pop(request);
      await host.settle();
      host.push('a');
      await host.settle();
      const second = host.pop(request);
      await host.settle();
      expect(second.answer).toBeNull();
      host.applyClaims();
      await host.settle();
      host.applyClaims();
      await host.settle();
      expect([first, second].map((pop) => rangesOf(host, pop))).toEqual([['a 0-0'], ['a 1-1']]);
    });

    it('are empty when the partition goes meanwhile', async () => {
      host.hold = true;
      host.push('a', 2);
      const first = host.pop({ ...auto, scope: 'partition', partition: 'a' });
      const second = host.pop(auto);
      await host.settle();
      host.dropPartition('a');
      host.applyClaims();
      await host.settle();
      expect([first, second].map(({ answer }) => answer)).toEqual([
        expect.objectContaining(EMPTY),
        expect.objectContaining(EMPTY),
      ]);
    });

    it('are empty when its claim is lost to somebody who holds the partition', async () => {
      host.hold = true;
      host.push('a', 2);
      const pinned = { ...auto, scope: 'partition', partition: 'a' } as const;
      const pops = [host.pop(auto), host.pop(auto), host.pop(pinned)];
      await host.settle();
      host.apply(host.machine.claimBytes({ partition: 'a' }));
      host.applyClaims();
      await host.settle();
      expect(pops.map(({ answer }) => answer)).toEqual(
        pops.map(() => expect.objectContaining(EMPTY)),
      );
    });
  });

  it('sees the partition that took the place of one which went while it was claimed', async () => {
    host.hold = true;
    host.push('a');
    const slot = host.machine.partition('orders', 'a');
    const pop = host.pop();
    await host.settle();
    host.dropPartition('a');
    host.push('b');
    expect(host.machine.partition('orders', 'b')).toBe(slot);
    await host.settle();
    host.applyClaims();
    await host.settle();
    host.applyClaims();
    await host.settle();
    expect(rangesOf(host, pop)).toEqual(['b 0-0']);
  });

  it('puts pops whose claim was lost back in their order', async () => {
    for (const partition of ['a', 'b']) host.push(partition);
    host.hold = true;
    const pops = [host.pop(), host.pop(), host.pop()];
    await host.settle();
    expect(host.claims.flatMap(({ grants }) => grants)).toHaveLength(2);
    // Somebody else (a former leader) took both first.
    const taken = ['a', 'b'].map((partition) => host.machine.claimBytes({ partition }));
    host.apply(...taken);
    host.applyClaims();
    await host.settle();
    expect(pops.map(({ answer }) => answer)).toEqual([null, null, null]);
    host.hold = false;
    for (const partition of ['c', 'd', 'e']) host.push(partition);
    await host.settle();
    expect(pops.map((pop) => rangesOf(host, pop))).toEqual([['c 0-0'], ['d 0-0'], ['e 0-0']]);
  });

  it('answers empty at the deadline minus the margin, never earlier', async () => {
    const waiting = host.pop({}, { timeoutMs: 1000 });
    const pinned = host.pop({ scope: 'partition', partition: 'nowhere' }, { timeoutMs: 1000 });
    const short = host.pop({}, { timeoutMs: 50 });
    await host.pass(940);
    expect(short.answer).toMatchObject(EMPTY);
    expect(waiting.answer).toBeNull();
    await host.pass(20);
    expect([waiting.answer, pinned.answer]).toEqual([
      expect.objectContaining(EMPTY),
      expect.objectContaining(EMPTY),
    ]);
  });

  it('answers a lost claim after the deadline, wherever its pop would go back to', async () => {
    host.push('a');
    host.hold = true;
    const pinned = host.pop({ scope: 'partition', partition: 'a' }, { timeoutMs: 1000 });
    await host.settle();
    host.apply(host.machine.claimBytes({ partition: 'a' }));
    await host.pass(2000);
    expect(pinned.answer).toBeNull();
    host.applyClaims();
    await host.settle();
    expect(pinned.answer).toMatchObject(EMPTY);
  });

  it('drops a pop whose client is gone', async () => {
    const controller = new AbortController();
    const gone = host.pop({}, { signal: controller.signal });
    const next = host.pop();
    await host.settle();
    controller.abort();
    host.push('a');
    await host.settle();
    expect(gone.answer).toMatchObject(EMPTY);
    expect(gone.grant).toBeNull();
    expect(next.answer).toMatchObject(GRANTED);
  });

  it('refuses everybody with retry when it stops, also those on their way', async () => {
    host.push('a');
    host.hold = true;
    const pops = [
      host.pop(),
      host.pop(),
      host.pop({ scope: 'partition', partition: 'a' }),
      host.pop({ scope: 'partition', partition: 'nowhere' }),
    ];
    await host.settle();
    host.dispatcher.stop();
    const late = host.pop();
    await host.settle();
    for (const { error } of [...pops, late]) expect(error).toMatchObject({ code: 'retry' });
    expect(host.dispatcher.figures()).toMatchObject({ parked: 0, lanes: 0 });
  });

  it('tells the error of a claim that was not accepted, and serves the partition again', async () => {
    host.push('a');
    host.proposeError = new Error('overloaded');
    const pop = host.pop();
    await host.settle();
    expect(pop.error?.message).toBe('overloaded');
    host.proposeError = null;
    const next = host.pop();
    await host.settle();
    expect(rangesOf(host, next)).toEqual(['a 0-0']);
  });

  it('answers waiters of a deleted queue empty, also with a claim on its way', async () => {
    host.push('a');
    host.hold = true;
    const pops = [host.pop()];
    await host.settle();
    pops.push(host.pop(), host.pop({ scope: 'partition', partition: 'a' }));
    await host.settle();
    host.deleteQueue();
    await host.settle();
    expect(pops[1]!.answer).toMatchObject(EMPTY);
    expect(pops[2]!.answer).toMatchObject(EMPTY);
    host.applyClaims();
    await host.settle();
    expect(pops[0]!.answer).toMatchObject(EMPTY);
    expect(host.dispatcher.figures()).toMatchObject({ parked: 0, lanes: 0 });
  });

  it('wakes pinned pops by the append that creates their partition', async () => {
    const pops = ['a', 'a', 'b'].map((partition) =>
      host.pop({ scope: 'partition', partition, group: 'g' }),
    );
    host.push('c');
    await host.settle();
    expect(pops.map(({ answer }) => answer)).toEqual([null, null, null]);
    host.push('a');
    await host.settle();
    expect(pops.map((pop) => rangesOf(host, pop))).toEqual([['a 0-0'], [], []]);
  });

  it('shares one budget over the queues of a discovery pop', async () => {
    for (const queue of ['q1', 'q2', 'q3']) {
      host.configure({ namespace: 'n' }, queue);
      host.register('g', { queue });
      host.push('a', 4, queue);
      host.push('b', 4, queue);
    }
    host.configure({ namespace: 'other' }, 'q4');
    const pop = host.pop({
      ...{ scope: 'discovery', queue: '', namespace: 'n', wait: false },
      ...{ maxMessages: 14, maxPartitions: 9 },
    });
    await host.settle();
    expect(rangesOf(host, pop)).toEqual(['a 0-3', 'b 0-3', 'a 0-3', 'b 0-1']);
    const none = host.pop({ scope: 'discovery', queue: '', namespace: 'nobody', wait: false });
    await host.settle();
    expect(none.answer).toMatchObject(EMPTY);
  });

  it('claims nothing for a discovery pop that is gone during the walk', async () => {
    for (const queue of ['q1', 'q2']) {
      host.configure({ namespace: 'n' }, queue);
      host.register('g', { queue });
      for (let n = 0; n < 2100; n += 1) host.push(`p${n}`, 1, queue);
    }
    const controller = new AbortController();
    const request = { scope: 'discovery', queue: '', namespace: 'n', wait: false } as const;
    const pop = host.pop({ ...request, maxPartitions: 9000 }, { signal: controller.signal });
    controller.abort();
    await host.settle(20);
    expect(pop.answer).toMatchObject(EMPTY);
    expect(host.claims).toHaveLength(0);
    const next = host.pop({ ...request, maxPartitions: 1 });
    await host.settle(20);
    expect(next.answer).toMatchObject(GRANTED);
  });

  it('scans a large queue in slices while appends arrive', async () => {
    for (let n = 0; n < 5000; n += 1) host.push(`p${n}`);
    const pop = host.pop({ maxPartitions: 64 });
    const all = [pop];
    while (all.length < 90) {
      host.push(`late${all.length}`);
      all.push(host.pop({ maxPartitions: 64, maxMessages: 1000 }));
      if (all.length % 10 === 0) await host.settle(2);
    }
    await host.settle(30);
    const seen = all.flatMap((one) => rangesOf(host, one));
    expect(seen).toHaveLength(5089);
    expect(new Set(seen).size).toBe(5089);
  });

  it('gives a partition again when its lease ends', async () => {
    host.push('a');
    const first = host.pop({ leaseSeconds: 5 });
    await host.settle();
    expect(first.answer).toMatchObject(GRANTED);
    const second = host.pop({ leaseSeconds: 5 });
    const pinned = host.pop({ scope: 'partition', partition: 'a' });
    await host.pass(4990);
    expect(second.answer).toBeNull();
    await host.pass(20);
    expect(rangesOf(host, second)).toEqual(['a 0-0']);
    expect(second.grant!.ranges[0]!.deliveryAttempt).toBe(2);
    await host.pass(5010);
    expect(rangesOf(host, pinned)).toEqual(['a 0-0']);
  });

  it('holds a lease of another term longer by the clock skew', async () => {
    host.push('a');
    host.pop({ leaseSeconds: 5 });
    await host.settle();
    host.dispatcher.stop();
    host.machine.term += 1;
    host.dispatcher.start();
    const next = host.pop();
    await host.pass(5400);
    expect(next.answer).toBeNull();
    await host.pass(200);
    expect(next.answer).toMatchObject(GRANTED);
  });

  it('re-queues at the back what a commit on delivery left', async () => {
    for (const partition of ['a', 'b']) host.push(partition, 3);
    const request = { commitOnDelivery: true, maxMessages: 2, wait: false };
    const seen: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const pop = host.pop(request);
      await host.settle();
      seen.push(...rangesOf(host, pop));
    }
    expect(seen).toEqual(['a 0-1', 'b 0-1', 'a 2-2', 'b 2-2']);
  });

  it('drops lanes nobody uses, not those somebody waits at', async () => {
    host.dispatcher.stop();
    host = new FakeHost({ idleLaneMs: 5_000 });
    host.register('g');
    host.register('h');
    host.pop({ wait: false });
    const pinned = host.pop({ group: 'h' }, { timeoutMs: 60_000 });
    await host.settle();
    await host.pass(6_000);
    expect(host.dispatcher.figures()).toMatchObject({ lanes: 1, lanesUnloaded: 1 });
    host.push('a');
    await host.settle();
    expect(pinned.answer).toMatchObject(GRANTED);
  });

  it('forgets the places of pinned pops that gave up', async () => {
    host.dispatcher.stop();
    host = new FakeHost({ idleLaneMs: 5_000 });
    host.register('g');
    host.push('a');
    host.pop({ wait: false, leaseSeconds: 600 });
    await host.settle();
    host.pop({ scope: 'partition', partition: 'a' }, { timeoutMs: 1000 });
    await host.pass(7_000);
    await host.pass(2_000);
    expect(host.dispatcher.figures()).toMatchObject({ lanes: 0, parked: 0 });
  });
});
