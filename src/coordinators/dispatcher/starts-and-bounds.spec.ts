/** Where groups start, how large an answer gets, and what lookups in the rows contribute. */
import { FakeHost, rangesOf } from '../../../test/support/dispatcher-host.js';
import { TENANT } from '../../../test/support/machine-harness.js';
import { StartMode } from '../../machine/commands/catalogue.js';

const SECOND = 1_000_000;

describe('start of a group', () => {
  let host: FakeHost;

  beforeEach(() => {
    host = new FakeHost();
    host.push('a', 2);
    host.machine.advance(10);
    host.push('a', 2);
    host.machine.advance(10);
  });

  afterEach(() => host.dispatcher.stop());

  it('is the oldest message for "all"', async () => {
    host.register('g');
    const pop = host.pop();
    await host.settle();
    expect(rangesOf(host, pop)).toEqual(['a 0-3']);
  });

  it('is what comes after the registration for "new", new partitions included', async () => {
    host.register('g', { mode: StartMode.New });
    const pops = [host.pop(), host.pop()];
    await host.settle();
    expect(pops[0]!.answer).toBeNull();
    host.push('a');
    await host.settle();
    host.push('b');
    await host.settle();
    expect(pops.map((pop) => rangesOf(host, pop))).toEqual([['a 4-4'], ['b 0-0']]);
  });

  it('is the first append at or after an instant between two, as the rows tell', async () => {
    host.register('g', {
      mode: StartMode.Timestamp,
      instant: (host.machine.now - 12 * SECOND) as never,
    });
    const pop = host.pop({ wait: false });
    await host.settle();
    expect(host.views).toBe(1);
    expect(rangesOf(host, pop)).toEqual(['a 2-3']);
  });

  it('is computed anew while the instant is still to come', async () => {
    host.register('g', {
      mode: StartMode.Timestamp,
      instant: (host.machine.now + 10 * SECOND) as never,
    });
    const pop = host.pop();
    await host.settle();
    host.push('a');
    await host.settle();
    host.machine.advance(11);
    expect(pop.answer).toBeNull();
    host.push('a', 3);
    await host.settle();
    expect(rangesOf(host, pop)).toEqual(['a 5-7']);
  });

  it('is the tail of its first contact for an unregistered group that pins and wants "new"', async () => {
    host.register('other');
    host.tables.names.ensureGroup(host.tables.names.tenant(host.machine.mint().fill(1))!, 'g');
    const request = {
      ...({ scope: 'partition', partition: 'a', wait: false } as const),
      intent: { mode: 'new', instantMicros: 0 } as const,
    };
    const first = host.pop(request);
    await host.settle();
    expect(first.answer).toMatchObject({ granted: false });
    host.push('a');
    const second = host.pop(request);
    await host.settle();
    expect(rangesOf(host, second)).toEqual(['a 4-4']);
  });

  describe('kept from a first contact', () => {
    const pinned = { scope: 'partition', partition: 'a', wait: false } as const;
    const contact = (instant: number): void =>
      host.register('g', {
        ...{ createQueue: false, contact: 'a', mode: StartMode.Timestamp },
        instant: instant as never,
      });

    it('decides whatever the pop asks for, also between two appends', async () => {
      host.register('other');
      contact(host.machine.now - 12 * SECOND);
      const pop = host.pop(pinned);
      await host.settle();
      expect(host.views).toBe(1);
      expect(rangesOf(host, pop)).toEqual(['a 2-3']);
    });

    it('stays a start when all before it was trimmed meanwhile', async () => {
      host.register('other');
      contact(host.machine.now - 12 * SECOND);
      host.hold = true;
      // Its start was read from the rows, and the claim of it is on its way.
      host.pop({ ...pinned, wait: true });
      await host.settle();
      expect(host.claims).toHaveLength(1);
      host.trimAll('a');
      host.hold = false;
      host.applyClaims();
      await host.settle(20);
      const { cursors } = host.tables;
      const group = host.tables.names.group(host.tables.names.tenant(TENANT)!, 'g')!;
      const cursor = cursors.find(host.machine.partition('orders', 'a'), group);
      expect(cursors.isStart(cursor)).toBe(true);
    });

    it('gives way to a registration, which a queue-wide pop goes by', async () => {
      host.register('other');
      contact(host.machine.now + 100 * SECOND);
      const first = host.pop(pinned);
      await host.settle();
      expect(first.answer).toMatchObject({ granted: false });
      host.register('g');
      const wide = host.pop({ wait: false });
      await host.settle();
      expect(rangesOf(host, wide)).toEqual(['a 0-3']);
    });

    it('is looked for again while it is to come', async () => {
      host.register('other');
      contact(host.machine.now + 10 * SECOND);
      const pop = host.pop({ ...pinned, wait: true });
      await host.settle();
      host.push('a');
      await host.settle();
      expect(pop.answer).toBeNull();
      host.machine.advance(11);
      host.push('a', 3);
      await host.settle();
      expect(rangesOf(host, pop)).toEqual(['a 5-7']);
    });
  });

  it('refuses those that would be told "empty" when the rows can not be read', async () => {
    host.register('g', {
      mode: StartMode.Timestamp,
      instant: (host.machine.now - 12 * SECOND) as never,
    });
    host.configure({ namespace: 'n' });
    host.viewError = new Error('disk');
    const pops = [
      host.pop({ wait: false }),
      host.pop({ scope: 'discovery', queue: '', namespace: 'n', wait: false }),
    ];
    await host.settle(20);
    expect(pops.map(({ error }) => error?.message)).toEqual(['disk', 'disk']);
    // They are asked for again by the next pop, without anything happening to their partitions.
    host.viewError = null;
    const next = host.pop({ wait: false });
    await host.settle(20);
    expect(next.error).toBeNull();
    expect(rangesOf(host, next)).toEqual(['a 2-3']);
  });
});

describe('byte bound of one answer', () => {
  /** Records of the harness: payload and id are the text, so about twice its length plus a head. */
  const big = 'x'.repeat(400);

  it('cuts exactly, by the rows, and delivers at least one message', async () => {
    const host = new FakeHost({ maxPopBytes: 2_000 });
    host.register();
    for (let n = 0; n < 5; n += 1) host.apply(host.machine.pushBytes([`${n}${big}`]));
    host.apply(host.machine.pushBytes(['y'.repeat(5_000)]));
    for (let n = 0; n < 3; n += 1) host.apply(host.machine.pushBytes([`s${n}`]));
    const seen: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const pop = host.pop({ wait: false });
      await host.settle();
      seen.push(...rangesOf(host, pop));
      if (pop.grant !== null) host.ackAll(pop);
    }
    expect(seen).toEqual(['p 0-1', 'p 2-3', 'p 4-4', 'p 5-5', 'p 6-8']);
    host.dispatcher.stop();
  });

  it('gives back what a discovery pop gathered when the rest can not be measured', async () => {
    const host = new FakeHost({ maxPopBytes: 2_000 });
    host.register();
    host.configure({ namespace: 'n' });
    for (const partition of ['a', 'b', 'c']) {
      const records = partition === 'b' ? ['s'] : Array.from({ length: 5 }, (_, n) => `${n}${big}`);
      const ids = records.map((text) => `${partition}${text}`);
      host.apply(host.machine.pushBytes(ids, { partition }));
    }
    const request = { scope: 'discovery', queue: '', namespace: 'n', wait: false } as const;
    host.viewError = new Error('disk');
    const failed = host.pop({ ...request, maxPartitions: 9 });
    await host.settle(20);
    expect(failed.error?.message).toBe('disk');
    expect(host.claims).toHaveLength(0);
    host.viewError = null;
    const seen: string[] = [];
    for (let n = 0; n < 9; n += 1) {
      const pop = host.pop({ ...request, maxPartitions: 9 });
      await host.settle(20);
      seen.push(...rangesOf(host, pop));
      if (pop.grant !== null) host.ackAll(pop);
    }
    expect(seen.map((range) => range[0])).toEqual(expect.arrayContaining(['a', 'b', 'c']));
    host.dispatcher.stop();
  });

  it('leaves later partitions that do not fit ready for the next pop', async () => {
    const host = new FakeHost({ maxPopBytes: 2_000 });
    host.register();
    for (const partition of ['a', 'b', 'c']) {
      host.apply(host.machine.pushBytes([`${partition}${big}`], { partition }));
    }
    const first = host.pop({ maxPartitions: 9, wait: false });
    await host.settle();
    const second = host.pop({ maxPartitions: 9, wait: false });
    await host.settle();
    expect([rangesOf(host, first), rangesOf(host, second)]).toEqual([
      ['a 0-0', 'b 0-0'],
      ['c 0-0'],
    ]);
    host.dispatcher.stop();
  });
});
