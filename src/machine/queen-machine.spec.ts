/** The machine around its commands: time, order of delivery, digest, restart, poisonous entries. */
import fc from 'fast-check';
import { MachineHarness, SECOND, TENANT } from '../../test/support/machine-harness.js';
import { Prng } from '../common/prng.js';
import { logIndex, term } from '../common/ids.js';
import { implicitOptions } from './apply/queues.js';
import {
  encodeConfigure,
  encodeDeleteQueue,
  encodeEntryHeader,
  encodeExtend,
  encodeRaiseVersion,
} from './commands/index.js';
import type { GrantOutcome } from './commands/index.js';
import { MachinePoisoned } from './queen-machine.js';

describe('effective time of an entry', () => {
  it('is its stamp, unless an earlier entry gave out a later one', () => {
    const harness = new MachineHarness();
    const start = harness.now;
    harness.push(['a']);
    expect(harness.machine.lastStamp()).toBe(start);
    harness.push(['b']);
    expect(harness.machine.lastStamp()).toBe(start + 1);
    harness.now = start - 5 * SECOND;
    harness.push(['c']);
    expect(harness.machine.lastStamp()).toBe(start + 2);
    harness.now = start + SECOND;
    harness.push(['d']);
    expect(harness.machine.lastStamp()).toBe(start + SECOND);
  });
});

describe('execute', () => {
  it('delivers outcomes and events in log order, only after the whole entry', () => {
    const harness = new MachineHarness();
    const seen: unknown[] = [];
    const { machine, tables } = harness;
    const parts = [
      encodeEntryHeader(harness.now, 2),
      harness.pushBytes(['a']),
      harness.pushBytes(['b'], { partition: 'q' }),
    ];
    const note = (name: string) => () => seen.push([name, tables.partitions.count]);
    machine.execute(
      { index: logIndex(1), term: term(1), parts },
      { outcome: note('outcome') },
      {
        ...{ queueCreated: note('queueCreated'), queueConfigured: note('-') },
        ...{ queueDeleted: note('-'), registered: note('-'), appended: note('appended') },
        ...{ cursorChanged: note('-'), granted: note('-'), timerDue: note('-') },
        ...{ trimmed: note('-'), partitionDropped: note('-') },
        ...{ switched: note('-'), quotaSet: note('-'), tenantPurged: note('-') },
      },
    );
    expect(seen).toEqual([
      ...[
        ['outcome', 2],
        ['outcome', 2],
      ],
      ...[
        ['queueCreated', 2],
        ['appended', 2],
        ['appended', 2],
      ],
    ]);
    expect([machine.appliedIndex, machine.appliedTerm]).toEqual([1, 1]);
  });

  it('takes an empty entry as a step in the log', () => {
    const harness = new MachineHarness();
    harness.push(['a']);
    const digest = harness.machine.digest();
    harness.replay({ index: 2, term: 9, parts: [] });
    expect([harness.machine.appliedIndex, harness.machine.appliedTerm]).toEqual([2, 9]);
    expect(harness.machine.digest()).toEqual(digest);
  });

  it('refuses an entry at or below the applied index', () => {
    const harness = new MachineHarness();
    harness.push(['a']);
    expect(() => harness.replay({ index: 1, term: 1, parts: [] })).toThrow(/in order/);
  });
});

describe('a poisonous entry', () => {
  const bad = encodeRaiseVersion({ version: 7 }).slice(0, 40);
  bad[0] = 36;

  it.each([
    ['a body that does not decode', [encodeEntryHeader(1, 1), bad]],
    ['fewer commands than counted', [encodeEntryHeader(1, 2), encodeRaiseVersion({ version: 7 })]],
    ['a newer machine version', [encodeEntryHeader(1, 0, 7)]],
    ['a header that is none', [Uint8Array.of(1, 2, 3)]],
  ])('with %s stops the machine, naming the index', (_, parts) => {
    const harness = new MachineHarness();
    harness.push(['a']);
    expect(() => harness.replay({ index: 2, term: 1, parts })).toThrow(MachinePoisoned);
    expect(() => harness.replay({ index: 2, term: 1, parts })).toThrow(/entry 2/);
    expect(harness.machine.appliedIndex).toBe(1);
  });

  it('lets no other entry follow', () => {
    const harness = new MachineHarness();
    expect(() => harness.entry(bad)).toThrow(MachinePoisoned);
    expect(() => harness.push(['a'])).toThrow(MachinePoisoned);
  });
});

/** A few hundred entries of everything, on a machine that proposes sensibly against its own state. */
function randomLife(seed: number, entries: number): MachineHarness {
  const random = new Prng(seed);
  const harness = new MachineHarness();
  const grants: GrantOutcome[] = [];
  const partitions = ['p', 'q', 'r'];
  const pick = <T>(from: readonly T[]) => from[random.nextBelow(from.length)]!;
  const step: readonly (() => unknown)[] = [
    () =>
      harness.push(
        Array.from({ length: 1 + random.nextBelow(4) }, () => `m${random.nextBelow(60)}`),
        { partition: pick(partitions) },
      ),
    () => harness.push([null, `k${random.nextBelow(9)}`], { partition: pick(partitions) }),
    () =>
      grants.push(
        harness.claim({
          partition: pick(partitions),
          count: 1 + random.nextBelow(5),
          leaseSeconds: 5,
          commitOnDelivery: random.nextBelow(4) === 0,
        }),
      ),
    () => grants.push(harness.claim({ partition: pick(partitions), group: 'h', leaseSeconds: 5 })),
    () => acked(),
    () => acked(),
    () => grants.length > 0 && harness.unclaim(pick(grants)),
    () =>
      grants.length > 0 &&
      harness.run(encodeExtend(TENANT, { leaseId: pick(grants).leaseId, seconds: 7 })),
    () => harness.register(pick(['g', 'h']), { mode: random.nextBelow(3) }),
    () =>
      harness.run(
        encodeConfigure(TENANT, {
          queue: 'orders',
          replace: false,
          defaults: implicitOptions('', { leaseTime: 300, retryLimit: 3, dedupWindowSeconds: 60 }),
          options: { retryLimit: random.nextBelow(3) },
        }),
      ),
    () => harness.advance(random.nextBelow(4)),
    () => random.nextBelow(12) === 0 && harness.run(encodeDeleteQueue(TENANT, { queue: 'orders' })),
  ];
  const acked = () => {
    const grant = grants.at(-1);
    const range = grant?.ranges[0];
    if (grant === undefined || range === undefined) return;
    const slot = harness.tables.partitions.byId(range.partitionId);
    if (slot < 0) return;
    const at = range.firstOffset + random.nextBelow(range.lastOffset - range.firstOffset + 1);
    const signals =
      random.nextBelow(2) === 0
        ? []
        : [[at + 1, pick(['failed', 'dlq', 'retry'] as const)] as const];
    const partition = harness.tables.partitions.name(slot);
    const group = harness.tables.names.groupName(range.groupId);
    const leaseId = random.nextBelow(3) === 0 ? new Uint8Array(0) : grant.leaseId;
    harness.ack({ partition, group, leaseId, completed: [at], signals, baseOffset: at + 1 });
  };
  // Group numbers are replicated state: the log must hand them out before a claim names them.
  harness.register('g');
  harness.register('h');
  while (harness.machine.appliedIndex < entries) {
    const queue = harness.tables.queues.find(harness.tables.names.tenant(TENANT)!, 'orders');
    if (queue === undefined || queue.partitionCount < 3)
      partitions.forEach((partition) => harness.push(['again'], { partition }));
    pick(step)();
  }
  return harness;
}

describe('determinism', () => {
  it('gives equal digests on two machines and on one restarted in the middle', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 2 ** 31 }),
        fc.integer({ min: 1, max: 150 }),
        (seed, cut) => {
          const original = randomLife(seed, 160);
          let follower = new MachineHarness();
          for (const entry of original.log) {
            follower.replay(entry);
            if (entry.index === cut) follower = follower.reloaded();
            if (entry.index % 40 === 0) follower.machine.purgeStep(2);
          }
          expect(follower.machine.digest()).toEqual(original.machine.digest());
          expect(follower.machine.appliedIndex).toBe(original.machine.appliedIndex);
          expect(follower.machine.lastStamp()).toBe(original.machine.lastStamp());
          expect(follower.machine.encodeHeader()).toEqual(original.machine.encodeHeader());
          expect(rowsOf(follower)).toEqual(rowsOf(original));
        },
      ),
      { numRuns: 40 },
    );
  });

  it('notices a single difference', () => {
    const one = new MachineHarness();
    const other = new MachineHarness();
    one.push(['a']);
    other.push(['b']);
    expect(one.machine.digest()).not.toEqual(other.machine.digest());
  });
});

/** All rows after a flush and a full purge. */
function rowsOf(harness: MachineHarness): Map<string, Uint8Array> {
  while (harness.machine.purgeStep(100));
  harness.machine.flushDirtyRows();
  return new Map([...harness.rows.rows].sort(([a], [b]) => (a < b ? -1 : 1)));
}
