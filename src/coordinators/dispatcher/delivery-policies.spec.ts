/** Conflation, delays, windows and the autopilot as the dispatcher serves them (spec §2.7, §2.8, §5.6). */
import { FakeHost, rangesOf } from '../../../test/support/dispatcher-host.js';

describe('last-value delivery', () => {
  let host: FakeHost;

  beforeEach(() => {
    host = new FakeHost();
    host.register('g', { conflation: true });
  });

  afterEach(() => host.dispatcher.stop());

  it('leases the whole span, counts one message per partition and says so', async () => {
    for (const partition of ['a', 'b', 'c']) host.push(partition, 50);
    const pop = host.pop({ maxMessages: 2, maxPartitions: 64, conflation: true });
    await host.settle();
    expect(rangesOf(host, pop)).toEqual(['a 0-49', 'b 0-49']);
    expect(pop.grant!.ranges.every(({ conflated }) => conflated)).toBe(true);
    expect(pop.answer).toMatchObject({ conflation: true, conflationConflict: false });
    host.push('a', 2);
    host.ackAll(pop);
    const next = host.pop({ maxMessages: 9, maxPartitions: 64 });
    await host.settle();
    expect(rangesOf(host, next).sort()).toEqual(['a 50-51', 'c 0-49']);
  });

  it('tells an empty pop of a conflating group so', async () => {
    const pop = host.pop({ wait: false });
    await host.settle();
    expect(pop.answer).toMatchObject({ granted: false, conflation: true });
  });

  it('applies the stored policy and reports a request that differs', async () => {
    host.register('plain');
    host.push('a', 3);
    const off = host.pop({ conflation: false });
    const on = host.pop({ group: 'plain', conflation: true });
    await host.settle();
    expect(off.answer).toMatchObject({ conflation: true, conflationConflict: true });
    expect(off.grant!.ranges[0]!.conflated).toBe(true);
    expect(on.answer).toMatchObject({ conflation: false, conflationConflict: true });
    expect(on.grant!.ranges[0]!.conflated).toBe(false);
    expect(host.conflicts).toEqual(['orders/g', 'orders/plain']);
  });
});

describe('delayed processing', () => {
  let host: FakeHost;

  beforeEach(() => {
    host = new FakeHost();
    host.register();
    host.configure({ delayedProcessing: 10 });
  });

  afterEach(() => host.dispatcher.stop());

  it('answers a parked pop when its message is due, not earlier', async () => {
    const pop = host.pop();
    const pinned = host.pop({ scope: 'partition', partition: 'b' });
    host.push('a');
    host.push('b');
    await host.pass(9_990);
    expect([pop.answer, pinned.answer]).toEqual([null, null]);
    await host.pass(20);
    expect(rangesOf(host, pop)).toEqual(['a 0-0']);
    expect(rangesOf(host, pinned)).toEqual(['b 0-0']);
    expect(host.views).toBe(0);
  });

  it('delivers what is due and arms for the next append', async () => {
    for (let n = 0; n < 4; n += 1) {
      host.push('a', 2);
      await host.pass(4_000);
    }
    // 16 s: the appends of 0 s and 4 s are due, those of 8 s and 12 s are not.
    const seen: string[][] = [];
    const pop = host.pop({ wait: false, commitOnDelivery: true });
    await host.settle();
    seen.push(rangesOf(host, pop));
    for (let n = 0; n < 2; n += 1) {
      const next = host.pop({ commitOnDelivery: true });
      await host.pass(1_900);
      expect(next.answer).toBeNull();
      await host.pass(200);
      seen.push(rangesOf(host, next));
      await host.pass(1_900);
    }
    expect(seen).toEqual([['a 0-3'], ['a 4-5'], ['a 6-7']]);
  });

  it('frees what is held when it is turned off', async () => {
    const pop = host.pop();
    host.push('a', 3);
    await host.settle();
    expect(pop.answer).toBeNull();
    host.configure({ delayedProcessing: 0 });
    await host.settle();
    expect(rangesOf(host, pop)).toEqual(['a 0-2']);
  });

  it('conflates over what is due only', async () => {
    host.register('last', { conflation: true });
    host.push('a', 2);
    await host.pass(6_000);
    host.push('a', 2);
    await host.pass(6_000);
    const pop = host.pop({ group: 'last' });
    await host.settle();
    expect(rangesOf(host, pop)).toEqual(['a 0-1']);
  });
});

describe('window buffer', () => {
  it('holds the whole partition until its newest append is old enough', async () => {
    const host = new FakeHost();
    host.register();
    host.configure({ windowBuffer: 10 });
    const pop = host.pop();
    host.push('a');
    await host.pass(6_000);
    host.push('a');
    await host.pass(6_000);
    expect(pop.answer).toBeNull();
    await host.pass(4_010);
    expect(rangesOf(host, pop)).toEqual(['a 0-1']);
    host.dispatcher.stop();
  });
});

describe('autopilot', () => {
  const AUTO = { autopilot: { partitions: true, batch: true }, maxMessages: 200 };

  it('takes its share of the ready partitions and the minimum of messages at first', async () => {
    const host = new FakeHost();
    host.register();
    for (let n = 0; n < 10; n += 1) host.push(`p${n}`, 30);
    const first = host.pop({ wait: false, maxMessages: 1 });
    await host.settle();
    host.ackAll(first);
    const pops = [host.pop(AUTO), host.pop(AUTO)];
    await host.settle();
    expect(pops[0]!.answer!.autopilot).toEqual({ partitions: 5, batch: 100 });
    expect(rangesOf(host, pops[0]!)).toHaveLength(4);
    host.dispatcher.stop();
  });

  it('never touches what the client sent', async () => {
    const host = new FakeHost();
    host.register();
    for (let n = 0; n < 10; n += 1) host.push(`p${n}`, 30);
    const some = host.pop({ ...AUTO, autopilot: { partitions: false, batch: true } });
    const none = host.pop({ ...AUTO, autopilot: { partitions: false, batch: false } });
    await host.settle();
    expect(some.answer!.autopilot).toEqual({ partitions: 1, batch: 100 });
    expect(none.answer!.autopilot).toBeNull();
    host.dispatcher.stop();
  });

  it('aims at what the group acks in one drain time', async () => {
    const host = new FakeHost();
    host.register();
    host.push('a', 5_000);
    const batches: number[] = [];
    for (let n = 0; n < 3; n += 1) {
      const pop = host.pop({ ...AUTO, wait: false });
      await host.settle();
      batches.push(pop.answer!.autopilot!.batch);
      await host.pass(50);
      host.ackAll(pop);
    }
    // 100 messages in 50 ms = 2000/s: 400 per 200 ms; then 400 in 50 ms raises the average.
    expect(batches[0]).toBe(100);
    expect(batches[1]).toBeGreaterThan(380);
    expect(batches[1]).toBeLessThanOrEqual(400);
    expect(batches[2]).toBeGreaterThan(650);
    host.dispatcher.stop();
  });
});
