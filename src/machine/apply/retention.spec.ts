/** Retention and cleanup at apply (spec §2.9): each precondition of a trim, a drop and a seal. */
import { DEFAULTS, MachineHarness, SECOND, TENANT } from '../../../test/support/machine-harness.js';
import {
  encodeConfigure,
  encodeDropPartitions,
  encodeSealCursors,
  encodeTrimPartitions,
  TrimRule,
} from '../commands/index.js';
import type {
  DropPartitionsOutcome,
  PartitionTrim,
  QueueOptions,
  SealCursorsOutcome,
  TrimPartitionsOutcome,
} from '../commands/index.js';
import { StartMode } from '../commands/catalogue.js';
import { KEYSPACE } from '../tables/keyspaces.js';
import { implicitOptions } from './queues.js';

const NOTHING = Number.MAX_SAFE_INTEGER;

function configure(harness: MachineHarness, options: Partial<QueueOptions>): void {
  const defaults = { ...implicitOptions('orders', DEFAULTS), retentionSinkHoldMaxSeconds: 604_800 };
  harness.run(encodeConfigure(TENANT, { queue: 'orders', replace: false, defaults, options }));
}

/** Four appends of two messages each: offsets 0 … 7. */
function filled(options: Partial<QueueOptions> = {}): MachineHarness {
  const harness = new MachineHarness();
  for (const at of [0, 2, 4, 6]) {
    harness.push([`m${at}`, `m${at + 1}`]);
    harness.advance(10);
  }
  configure(harness, options);
  return harness;
}

function trimOf(
  harness: MachineHarness,
  change: Partial<PartitionTrim> = {},
  partition = 'p',
): PartitionTrim {
  const { partitions, queues } = harness.tables;
  const slot = harness.partition('orders', partition);
  return {
    queueId: partitions.queueId(slot),
    partitionId: partitions.id(slot),
    optionsVersion: queues.byId(partitions.queueId(slot))!.optionsVersion,
    rule: TrimRule.Age,
    logStart: partitions.logStart(slot),
    next: 4,
    removedBytes: 10,
    unheldBelow: 0,
    ...change,
  };
}

function trim(harness: MachineHarness, change: Partial<PartitionTrim> = {}): TrimPartitionsOutcome {
  return harness.run(encodeTrimPartitions({ trims: [trimOf(harness, change)] }));
}

/** A cursor of the group that has settled up to the offset. */
function settled(harness: MachineHarness, group: string, offset: number): void {
  harness.register(group);
  const { leaseId } = harness.claim({ group });
  const completed = Array.from({ length: offset + 1 }, (_, i) => i);
  harness.ack({ group, leaseId, completed });
}

describe('a trim', () => {
  it('moves the start, keeps the index rows and tells what went', () => {
    const harness = filled();
    const slot = harness.partition();
    const bytes = harness.tables.partitions.retainedBytes(slot);
    const rows = [...harness.rows.all()].filter(([key]) => key[0] === KEYSPACE.appends).length;
    const command = encodeTrimPartitions({ trims: [trimOf(harness)] });
    const { outcomes, events } = harness.entry(command);
    expect(outcomes[0]!.outcome).toMatchObject({ trimmed: 1, messages: 4 });
    expect(events).toEqual([['trimmed', slot, { messages: 4, rule: TrimRule.Age }]]);
    expect(harness.tables.partitions.logStart(slot)).toBe(4);
    expect(harness.tables.partitions.retainedBytes(slot)).toBe(bytes - 10);
    expect(harness.tables.totals.messagesRetained).toBe(4);
    expect([...harness.rows.all()].filter(([key]) => key[0] === KEYSPACE.appends)).toHaveLength(
      rows,
    );
    const reloaded = harness.reloaded();
    expect(reloaded.tables.partitions.logStart(reloaded.partition())).toBe(4);
    // The same command again finds another start.
    expect(harness.run(command)).toMatchObject({ trimmed: 0, messages: 0 });
  });

  it('of everything leaves nothing behind', () => {
    const harness = filled();
    expect(trim(harness, { next: 8, removedBytes: 0 }).messages).toBe(8);
    expect(harness.tables.totals).toMatchObject({ messagesRetained: 0, bytesRetained: 0 });
    expect(harness.push(['later']).offsets[0]).toBe(8);
  });

  it.each<[string, Partial<PartitionTrim>]>([
    ['another start was seen', { logStart: 2 }],
    ['other options were seen', { optionsVersion: 99 }],
    ['another queue was seen', { queueId: 77 as never }],
    ['the partition is gone', { partitionId: 77 as never }],
    ['it would go beyond the end', { next: 9 }],
    ['it would cut nothing', { next: 0 }],
  ])('does nothing when %s', (_, change) => {
    const harness = filled();
    const before = harness.machine.digest();
    expect(trim(harness, change)).toMatchObject({ trimmed: 0, messages: 0 });
    expect(harness.tables.partitions.logStart(harness.partition())).toBe(0);
    expect(harness.machine.digest()).not.toBe(before);
  });

  it.each([
    ['no cursor', [], 0],
    ['the slowest cursor is behind', [7, 2], 0],
    ['every cursor has passed', [7, 3], 1],
  ])('of completed appends with %s', (_, offsets, trimmed) => {
    const harness = filled();
    offsets.forEach((offset, i) => settled(harness, `g${i}`, offset));
    expect(trim(harness, { rule: TrimRule.Completed }).trimmed).toBe(trimmed);
  });

  it('of completed appends and for a sink: a mere start has settled nothing', () => {
    const harness = filled({ retentionSinkHold: 'archive' });
    harness.register('archive', { createQueue: false, contact: 'p', mode: StartMode.New });
    expect(trim(harness, { rule: TrimRule.Completed, unheldBelow: 4 }).trimmed).toBe(0);
    expect(trim(harness, { rule: TrimRule.Age }).trimmed).toBe(0);
    harness.push(['new']);
    harness.ack({ group: 'archive', completed: [8] });
    expect(trim(harness, { rule: TrimRule.Completed }).trimmed).toBe(1);
  });

  it.each<[string, TrimRule, number, number | null, number]>([
    ['age, sink without a cursor', TrimRule.Age, 0, null, 0],
    ['age, sink behind', TrimRule.Age, 0, 1, 0],
    ['age, sink passed', TrimRule.Age, 0, 3, 1],
    ['age, held too long', TrimRule.Age, 4, null, 1],
    ['age, one append not held too long', TrimRule.Age, 2, 1, 0],
    ['completed, sink behind', TrimRule.Completed, 0, 1, 0],
    ['completed, sink passed', TrimRule.Completed, 0, 5, 1],
    ['max wait knows no sink', TrimRule.MaxWait, 0, null, 1],
  ])('and the sink hold: %s', (_, rule, unheldBelow, committed, trimmed) => {
    const harness = filled({ retentionSinkHold: 'archive' });
    if (committed !== null) settled(harness, 'archive', committed);
    expect(trim(harness, { rule, unheldBelow }).trimmed).toBe(trimmed);
  });

  it('leaves the lease its acks: nothing below the start is filed, the cursor passes it', () => {
    const harness = filled({ retryLimit: 0 });
    harness.register('g');
    const { leaseId } = harness.claim({ count: 6 });
    trim(harness, { next: 4 });
    const outcome = harness.ack({
      leaseId,
      signals: [
        [1, 'dlq'],
        [4, 'dlq'],
      ],
      baseOffset: 4,
      completed: [0, 2, 3, 5],
    });
    expect(outcome).toMatchObject({ verdict: 'applied', filed: 1, committedAfter: 5 });
    const letters = [...harness.rows.all()].filter(([key]) => key[0] === KEYSPACE.deadLetters);
    expect(letters).toHaveLength(1);
  });

  it('lets duplicates of what it cut be recognised for the window', () => {
    const harness = filled();
    trim(harness, { next: 8 });
    expect(harness.push(['m1'])).toMatchObject({ offsets: Float64Array.of(1) });
    harness.advance(3600);
    expect(harness.push(['m1'])).toMatchObject({ offsets: Float64Array.of(8) });
  });
});

describe('a window raised later', () => {
  it.each([
    ['reaches no further back than the old one did', 60, 0, 50, 'queued'],
    ['recognises what the old one still did', 60, 0, 20, 'duplicate'],
    ['counts completed retention too', 0, 3600, 50, 'duplicate'],
  ])('%s', (_, dedupWindowSeconds, completedRetentionSeconds, idleSeconds, expected) => {
    const harness = new MachineHarness();
    harness.push(['a']);
    configure(harness, { dedupWindowSeconds, completedRetentionSeconds });
    harness.advance(idleSeconds + 30);
    configure(harness, { dedupWindowSeconds: 7200 });
    const [status] = harness.push(['a']).statuses;
    expect(status === 0 ? 'queued' : 'duplicate').toBe(expected);
    const reloaded = harness.reloaded();
    const queue = reloaded.tables.queues.byId(1 as never)!;
    expect(queue.recognisedSince).toBe(harness.tables.queues.byId(1 as never)!.recognisedSince);
  });

  it('judges alike whether or not the rows of the old window are gone', () => {
    const results = [false, true].map((forget) => {
      const harness = new MachineHarness();
      harness.push(['a']);
      configure(harness, { dedupWindowSeconds: 10 });
      trim(harness, { next: 1 });
      harness.advance(60);
      if (forget) {
        for (const [key] of [...harness.rows.all()]) {
          if (key[0] === KEYSPACE.appends) harness.rows.delete(key);
        }
      }
      configure(harness, { dedupWindowSeconds: 3600 });
      harness.push(['a']);
      return Buffer.from(harness.machine.digest()).toString('hex');
    });
    expect(results[0]).toBe(results[1]);
  });
});

describe('a drop', () => {
  const drop = (harness: MachineHarness, idleSince: number, lastOffset = 7): number => {
    const { queueId, partitionId } = trimOf(harness);
    const drops = [{ queueId, partitionId, lastOffset }];
    const bytes = encodeDropPartitions({ idleSince: idleSince as never, drops });
    return harness.run<DropPartitionsOutcome>(bytes).dropped;
  };

  it('takes the partition with its cursors; the next of that name is another one', () => {
    const harness = filled();
    settled(harness, 'g', 7);
    trim(harness, { next: 8 });
    harness.push(['other'], { partition: 'q' });
    const before = harness.tables.partitions.id(harness.partition());
    expect(drop(harness, NOTHING)).toBe(1);
    expect(harness.partition()).toBe(-1);
    expect(harness.tables.cursors.count).toBe(0);
    expect(harness.tables.partitions.count).toBe(1);
    expect(harness.tables.queues.byId(1 as never)!.partitionCount).toBe(1);
    const reloaded = harness.reloaded();
    expect(reloaded.tables.partitions.count).toBe(1);
    for (const one of [harness, reloaded]) {
      expect(one.push(['again']).offsets[0]).toBe(0);
      expect(one.tables.partitions.id(one.partition())).toBeGreaterThan(before);
    }
    expect(reloaded.machine.digest()).toEqual(harness.machine.digest());
  });

  it.each<[string, (harness: MachineHarness) => number]>([
    ['it retains a message', (h) => (trim(h, { next: 6 }), drop(h, NOTHING))],
    ['it was written to', (h) => (trim(h, { next: 8 }), drop(h, NOTHING, 5))],
    [
      'the last write is recent',
      (h) => (trim(h, { next: 8 }), drop(h, h.tables.partitions.lastAppendAt(h.partition()))),
    ],
    [
      'a cursor is recent',
      (h) => {
        settled(h, 'g', 7);
        trim(h, { next: 8 });
        return drop(h, h.now - 5 * SECOND);
      },
    ],
    [
      'a lease is recent',
      (h) => {
        h.register('g');
        h.claim();
        const since = h.now + SECOND;
        trim(h, { next: 8 });
        return drop(h, since);
      },
    ],
    [
      'it has a dead letter',
      (h) => {
        h.register('g');
        const { leaseId } = h.claim();
        h.ack({ leaseId, signals: [[0, 'dlq']], completed: [1, 2, 3, 4, 5, 6, 7] });
        trim(h, { next: 8 });
        return drop(h, NOTHING);
      },
    ],
  ])('does nothing when %s', (_, run) => {
    const harness = filled();
    expect(run(harness)).toBe(0);
    expect(harness.partition()).toBeGreaterThanOrEqual(0);
  });

  it('unlinks first, middle and last of the chain', () => {
    for (const gone of ['a', 'b', 'c']) {
      const harness = new MachineHarness();
      for (const partition of ['a', 'b', 'c']) harness.push([partition], { partition });
      const { partitions, queues } = harness.tables;
      const slot = harness.partition('orders', gone);
      const target = { queueId: partitions.queueId(slot), partitionId: partitions.id(slot) };
      harness.run(encodeTrimPartitions({ trims: [trimOf(harness, { next: 1 }, gone)] }));
      const drops = [{ ...target, lastOffset: 0 }];
      harness.run(encodeDropPartitions({ idleSince: NOTHING as never, drops }));
      harness.push(['d'], { partition: 'd' });
      const names: string[] = [];
      let at = queues.byId(target.queueId)!.firstPartition;
      for (; at >= 0; at = partitions.nextInQueue(at)) names.push(partitions.name(at));
      expect(names).toEqual(['a', 'b', 'c', 'd'].filter((name) => name !== gone));
    }
  });
});

describe('a seal', () => {
  const seal = (harness: MachineHarness, change: { cursorVersion?: number } = {}): number => {
    const cursor = harness.cursor();
    const { partitionId } = trimOf(harness);
    const groupId = harness.tables.cursors.groupId(cursor);
    const cursorVersion = harness.tables.cursors.version(cursor);
    const seals = [{ partitionId, groupId, cursorVersion, ...change }];
    return harness.run<SealCursorsOutcome>(encodeSealCursors({ seals })).sealed;
  };

  it('moves a cursor behind an emptied log to the tail, once', () => {
    const harness = filled();
    settled(harness, 'g', 1);
    trim(harness, { next: 8 });
    expect(seal(harness)).toBe(1);
    expect(harness.tables.cursors.committed(harness.cursor())).toBe(7);
    expect(seal(harness)).toBe(0);
  });

  it('does nothing while a message is retained, or when the cursor changed', () => {
    const harness = filled();
    settled(harness, 'g', 1);
    trim(harness, { next: 6 });
    expect(seal(harness)).toBe(0);
    trim(harness, { next: 8 });
    expect(seal(harness, { cursorVersion: 99 })).toBe(0);
    expect(harness.tables.cursors.committed(harness.cursor())).toBe(1);
  });
});
