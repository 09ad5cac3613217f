/** Push at apply: spec §2.2, §2.10, §4.2, table by table. */
import {
  MachineHarness,
  OTHER_TENANT,
  SECOND,
  TENANT,
} from '../../../test/support/machine-harness.js';
import { encodeConfigure, encodeDeleteQueue, PushCommandBuilder } from '../commands/index.js';
import type { PushOutcome, QueueOptions } from '../commands/index.js';
import { AppendRowView } from '../tables/append-row.js';
import { appendKey } from '../tables/keyspaces.js';
import { implicitOptions } from './queues.js';

const DEFAULTS = implicitOptions('', { leaseTime: 300, retryLimit: 3, dedupWindowSeconds: 3600 });

function configure(harness: MachineHarness, options: Partial<QueueOptions>): void {
  harness.run(
    encodeConfigure(TENANT, { queue: 'orders', replace: false, defaults: DEFAULTS, options }),
  );
}

const queueOf = (harness: MachineHarness, name = 'orders') => {
  const tenant = harness.tables.names.tenant(TENANT);
  return tenant === undefined ? undefined : harness.tables.queues.find(tenant, name);
};

function storedIds(harness: MachineHarness, base: number): AppendRowView {
  const slot = harness.partition();
  const { partitions } = harness.tables;
  const key = appendKey(partitions.queueId(slot), partitions.id(slot), base);
  return new AppendRowView().open(harness.rows.get(key)!);
}

describe('first push', () => {
  it('creates queue and partition with it and stamps them with one time', () => {
    const harness = new MachineHarness();
    const applied = harness.entry(harness.pushBytes(['a', 'b'], { queue: 'shop.bill.x' }));
    const slot = harness.partition('shop.bill.x');
    const queue = queueOf(harness, 'shop.bill.x')!;
    expect(queue.options).toMatchObject({ leaseTime: 60, namespace: 'shop', task: 'bill' });
    expect(queue.configured).toBe(false);
    const { partitions } = harness.tables;
    expect(partitions.createdAt(slot)).toBe(harness.now);
    expect(partitions.lastAppendAt(slot)).toBe(harness.now);
    expect(partitions.lastOffset(slot)).toBe(1);
    expect(applied.events).toEqual([
      ['queueCreated', queue.id],
      ['appended', slot],
    ]);
  });

  it.each([
    ['orders', 'orders', ''],
    ['shop.orders', 'shop', 'orders'],
    ['a.b.c', 'a', 'b'],
    ['.b', '', 'b'],
  ])('labels %s as namespace "%s", task "%s"', (name, namespace, task) => {
    expect(implicitOptions(name, DEFAULTS)).toMatchObject({ namespace, task });
  });
});

describe('offsets and times', () => {
  it('are gapless, and strictly increasing per append even when the clock stands still', () => {
    const harness = new MachineHarness();
    const first = harness.now;
    const applied = harness.entry(harness.pushBytes(['a', 'b']), harness.pushBytes(['c']));
    const groups = applied.outcomes.map(({ outcome }) => (outcome as PushOutcome).groups[0]!);
    expect(groups.map((group) => [...group.offsets])).toEqual([[0, 1], [2]]);
    expect([storedIds(harness, 0).createdAt, storedIds(harness, 2).createdAt]).toEqual([
      first,
      first + 1,
    ]);
    harness.push(['d']);
    expect(storedIds(harness, 3).createdAt).toBe(first + 2);
    expect(harness.machine.lastStamp()).toBe(first + 2);
  });

  it('keeps the append row pointing into the entry', () => {
    const harness = new MachineHarness();
    const other = harness.pushBytes(['x'], { partition: 'other' });
    const command = harness.pushBytes(['first', 'second']);
    harness.entry(other, command);
    const row = storedIds(harness, 0);
    const payload = Buffer.concat(harness.log.at(-1)!.parts);
    const start = row.blockOffset + row.start(1);
    const record = payload.subarray(start, start + row.length(1)).toString('latin1');
    expect(record).toContain('second');
    expect(row.entryIndex).toBe(harness.machine.appliedIndex);
    // Read back from disk the entry is one part: the same place must come out.
    const again = new MachineHarness();
    again.replay({ index: 1, term: 3, parts: [Uint8Array.from(payload)] });
    expect(storedIds(again, 0).blockOffset).toBe(row.blockOffset);
    expect(again.machine.digest()).toEqual(harness.machine.digest());
  });
});

describe('duplicates', () => {
  it('answer the original id and offset and append nothing', () => {
    const harness = new MachineHarness();
    harness.push(['x', 'a']);
    const before = harness.machine.lastStamp();
    const again = harness.push(['a']);
    expect([...again.statuses]).toEqual([1]);
    expect([...again.offsets]).toEqual([1]);
    const row = storedIds(harness, 0);
    expect(again.duplicateIds).toEqual(row.copyId(1));
    expect(again.partitionId).toBe(harness.tables.partitions.id(harness.partition()));
    expect(harness.tables.partitions.lastOffset(harness.partition())).toBe(1);
    expect(harness.machine.lastStamp()).toBe(before + 1);
  });

  it('leave only the new ones of a mixed group, contiguous, in input order', () => {
    const harness = new MachineHarness();
    harness.push(['a', 'b']);
    const mixed = harness.push(['c', 'a', 'd', 'b', 'e']);
    expect([...mixed.statuses]).toEqual([0, 1, 0, 1, 0]);
    expect([...mixed.offsets]).toEqual([2, 0, 3, 1, 4]);
    const row = storedIds(harness, 2);
    expect(row.count).toBe(3);
    const again = harness.push(['d']);
    expect([...again.offsets]).toEqual([3]);
    expect(again.duplicateIds).toEqual(row.copyId(1));
  });

  it('are found within one entry', () => {
    const harness = new MachineHarness();
    const { outcomes } = harness.entry(harness.pushBytes(['a']), harness.pushBytes(['a']));
    const second = (outcomes[1]!.outcome as PushOutcome).groups[0]!;
    expect([[...second.statuses], [...second.offsets]]).toEqual([[1], [0]]);
  });

  it('of one group take the first one’s place whatever the window', () => {
    const harness = new MachineHarness();
    const defaults = { leaseTime: 60, retryLimit: 3, dedupWindowSeconds: 0 };
    const group = harness.push(['a', 'b', 'a', 'b', 'a'], { defaults });
    expect([...group.statuses]).toEqual([0, 0, 1, 1, 1]);
    expect([...group.offsets]).toEqual([0, 1, 0, 1, 0]);
    const row = storedIds(harness, 0);
    expect(group.duplicateIds!.slice(32, 48)).toEqual(row.copyId(0));
    expect(row.count).toBe(2);
  });

  it('of one group repeat a stored original too', () => {
    const harness = new MachineHarness();
    harness.push(['z', 'a']);
    const group = harness.push(['a', 'n', 'a']);
    expect([...group.offsets]).toEqual([1, 2, 1]);
    expect(group.duplicateIds!.slice(32, 48)).toEqual(storedIds(harness, 0).copyId(1));
  });

  it.each([
    ['inside the window', 10, 9.9, 'duplicate'],
    ['at its edge', 10, 10, 'duplicate'],
    ['after it', 10, 10.1, 'queued'],
    ['with the window off', 0, 1, 'queued'],
  ])('%s (%d s, %d s later): %s', (_, dedupWindowSeconds, seconds, expected) => {
    const harness = new MachineHarness();
    configure(harness, { dedupWindowSeconds });
    harness.advance(1);
    harness.push(['a']);
    harness.advance(seconds);
    expect(harness.push(['a']).statuses[0]).toBe(expected === 'duplicate' ? 1 : 0);
  });

  it('never happen to minted ids, other partitions, other tenants', () => {
    const harness = new MachineHarness();
    harness.push(['a', null]);
    expect(harness.push([null]).statuses[0]).toBe(0);
    expect(harness.push(['a'], { partition: 'q' }).statuses[0]).toBe(0);
    expect(harness.push(['a'], { tenant: OTHER_TENANT }).statuses[0]).toBe(0);
  });

  it('create nothing: neither a deleted queue nor its partition come back', () => {
    const harness = new MachineHarness();
    harness.push(['a']);
    harness.run(encodeDeleteQueue(TENANT, { queue: 'orders' }));
    const empty = new PushCommandBuilder({ defaults: DEFAULTS, windowMinSeconds: 900 }, () => 0);
    empty.group({ queue: 'orders', partition: 'p', optionsVersion: 0, encrypted: false });
    const applied = harness.entry(empty.build(TENANT));
    expect(queueOf(harness)).toBeUndefined();
    expect(applied.events).toEqual([]);
    expect(harness.push(['a']).offsets[0]).toBe(0);
  });

  it('are not invented by the index: other hash, missing row, foreign offset', () => {
    const harness = new MachineHarness();
    harness.push(['a']);
    const slot = harness.partition();
    const id = harness.tables.partitions.id(slot);
    const hash = storedIds(harness, 0);
    for (const [offset, baseOffset] of [
      [0, 7],
      [5, 0],
      [0, 1],
    ] as const) {
      harness.ids.add(
        id,
        { bytes: hash.bytes, at: hash.hashAt(0) },
        { offset: offset as never, baseOffset: baseOffset as never, createdAt: 0 as never },
      );
    }
    expect(harness.push(['a']).offsets[0]).toBe(0);
  });
});

describe('options changed since the command was prepared', () => {
  it.each([
    [{ optionsVersion: 1, encrypted: false }, true, 'reprepare'],
    [{ optionsVersion: 2, encrypted: false }, true, 'applied'],
    [{ optionsVersion: 2, encrypted: true }, true, 'applied'],
    [{ optionsVersion: 1, encrypted: true }, true, 'applied'],
    [{ optionsVersion: 1, encrypted: false }, false, 'applied'],
    [{ optionsVersion: 1, encrypted: true }, false, 'reprepare'],
  ])('%j with encryption now %s: %s', (prepared, encryptionEnabled, verdict) => {
    const harness = new MachineHarness();
    harness.push(['x']);
    configure(harness, { encryptionEnabled });
    const outcome = harness.push(['a'], prepared);
    expect(outcome.verdict).toBe(verdict);
    expect(harness.tables.partitions.lastOffset(harness.partition())).toBe(
      verdict === 'applied' ? 1 : 0,
    );
  });
});

describe('client ids', () => {
  it('are indexed also with window 0, minted ones never', () => {
    const harness = new MachineHarness();
    configure(harness, { dedupWindowSeconds: 0 });
    harness.push(['a', null, 'b']);
    expect(harness.ids.places.size).toBe(2);
    expect([...harness.ids.places.values()].flat()).toEqual([
      { offset: 0, baseOffset: 0 },
      { offset: 2, baseOffset: 0 },
    ]);
  });
});

describe('prefetch', () => {
  it('names the ids that may be duplicates of something stored', () => {
    const harness = new MachineHarness();
    const named: unknown[] = [];
    const sink = {
      row: () => undefined,
      id: (partition: number, bytes: Uint8Array, at: number) => named.push([partition, bytes[at]]),
    };
    const entry = (bytes: Uint8Array) => ({
      ...harness.log.at(-1)!,
      parts: [harness.log.at(-1)!.parts[0]!, bytes],
    });
    harness.push(['warm']);
    const prefetch = (bytes: Uint8Array) => harness.machine.prefetch(entry(bytes) as never, sink);
    prefetch(harness.pushBytes(['a', null, 'b']));
    expect(named).toHaveLength(2);
    prefetch(harness.pushBytes(['a'], { partition: 'unborn' }));
    expect(named).toHaveLength(2);
    expect(harness.now).toBeGreaterThan(SECOND);
  });
});
