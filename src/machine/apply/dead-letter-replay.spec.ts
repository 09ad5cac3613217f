/** Dead letters removed and replayed (spec §11): rows, counts, atomicity, determinism. */
import fc from 'fast-check';
import {
  checkCommand,
  encodeDeleteCursors,
  encodeRemoveDeadLetters,
  encodeReplayDeadLetter,
  encodeSeekCursors,
  encodeUpdateSubscription,
} from '../commands/index.js';
import type {
  DeadLetterName,
  RemoveDeadLettersOutcome,
  ReplayDeadLetterOutcome,
} from '../commands/index.js';
import { micros, queueId } from '../../common/ids.js';
import { Prng } from '../../common/prng.js';
import { AppendRowView } from '../tables/append-row.js';
import { decodeLetterCount } from '../tables/dead-letter-row.js';
import type { DeadLetterRow } from '../tables/dead-letter-row.js';
import { appendKey, groupLettersKey, KEYSPACE } from '../tables/keyspaces.js';
import { deadLetters, leased } from '../../../test/support/ack-scene.js';
import { MachineHarness, OTHER_TENANT, TENANT } from '../../../test/support/machine-harness.js';

const LETTER_KEYSPACES: readonly number[] = [
  KEYSPACE.deadLetters,
  KEYSPACE.messageLetters,
  KEYSPACE.letterIds,
  KEYSPACE.groupLetters,
];

const nameOf = (row: DeadLetterRow): DeadLetterName => ({
  queueId: queueId(row.queueId),
  failedAt: micros(row.failedAt),
  deadLetterId: row.deadLetterId,
});

/** Three letters: messages 0, 1 and 2 of `orders`. */
function withLetters(): MachineHarness {
  const { harness, leaseId } = leased();
  harness.ack({
    leaseId,
    signals: [
      [0, 'dlq'],
      [1, 'dlq'],
      [2, 'dlq'],
    ],
  });
  return harness;
}

/** Rows about dead letters, by keyspace. */
function letterRows(harness: MachineHarness): number[] {
  const counts = LETTER_KEYSPACES.map(() => 0);
  for (const [key] of harness.rows.all()) {
    const at = LETTER_KEYSPACES.indexOf(key[0]!);
    if (at >= 0) counts[at] = (counts[at] ?? 0) + 1;
  }
  return counts;
}

function groupCount(harness: MachineHarness): number {
  const [letter] = deadLetters(harness);
  if (letter === undefined) return 0;
  return decodeLetterCount(harness.rows.get(groupLettersKey(letter.queueId, letter.groupId))!);
}

const remove = (harness: MachineHarness, letters: DeadLetterName[], tenant = TENANT): number =>
  harness.run<RemoveDeadLettersOutcome>(encodeRemoveDeadLetters(tenant, { letters })).removed;

function replayBytes(harness: MachineHarness, letter: DeadLetterName, id = 'dlq:x'): Uint8Array {
  return encodeReplayDeadLetter(TENANT, { letter }, harness.pushBytes([id]));
}

const replay = (harness: MachineHarness, letter: DeadLetterName, id?: string) =>
  harness.run<ReplayDeadLetterOutcome>(replayBytes(harness, letter, id));

describe('filing', () => {
  it('writes the letter, its two pointers and the count of its group', () => {
    const harness = withLetters();
    expect(letterRows(harness)).toEqual([3, 3, 3, 1]);
    expect(groupCount(harness)).toBe(3);
    const tenant = harness.tables.names.tenant(TENANT)!;
    expect(harness.tables.queues.find(tenant, 'orders')!.deadLetters).toBe(3);
  });
});

describe('removal', () => {
  it('takes exactly the named letters, once', () => {
    const harness = withLetters();
    const [first, second, third] = deadLetters(harness).map(nameOf) as [
      ...[DeadLetterName, DeadLetterName, DeadLetterName],
    ];
    expect(remove(harness, [first, third, first])).toBe(2);
    expect(deadLetters(harness).map((letter) => letter.offset)).toEqual([1]);
    expect([letterRows(harness), groupCount(harness)]).toEqual([[1, 1, 1, 1], 1]);
    expect(harness.tables.partitions.deadLetters(harness.partition())).toBe(1);
    expect(remove(harness, [second])).toBe(1);
    expect(letterRows(harness)).toEqual([0, 0, 0, 0]);
  });

  it('does nothing for another tenant', () => {
    const harness = withLetters();
    expect(remove(harness, deadLetters(harness).map(nameOf), OTHER_TENANT)).toBe(0);
    expect(letterRows(harness)).toEqual([3, 3, 3, 1]);
  });
});

describe('replay', () => {
  it('appends the copy and removes the letter in one entry; a second time it is gone', () => {
    const harness = withLetters();
    const letter = nameOf(deadLetters(harness)[1]!);
    const bytes = replayBytes(harness, letter);
    expect(checkCommand(bytes).kind).toBe(15);
    expect(harness.run(bytes)).toMatchObject({ result: 'moved', offset: 8 });
    expect(deadLetters(harness).map((row) => row.offset)).toEqual([0, 2]);
    expect(replay(harness, letter)).toMatchObject({ result: 'gone', offset: -1 });
    expect(harness.tables.partitions.lastOffset(harness.partition())).toBe(8);
  });

  it('points the append row at the record inside the entry', () => {
    const harness = withLetters();
    const bytes = replayBytes(harness, nameOf(deadLetters(harness)[0]!));
    harness.run(bytes);
    const slot = harness.partition();
    const { partitions } = harness.tables;
    const row = new AppendRowView().open(
      harness.rows.get(appendKey(partitions.queueId(slot), partitions.id(slot), 8))!,
    );
    const entry = Buffer.concat(harness.log.at(-1)!.parts);
    const record = entry.subarray(row.blockOffset + row.start(0)).subarray(0, row.length(0));
    expect(record.toString('latin1')).toContain('dlq:x');
    expect(record.length).toBe(row.length(0));
  });

  it('keeps the letter when the copy repeats a stored message', () => {
    const harness = withLetters();
    harness.push(['dlq:x']);
    const letter = nameOf(deadLetters(harness)[0]!);
    expect(replay(harness, letter)).toMatchObject({ result: 'duplicate', offset: 8 });
    expect(deadLetters(harness)).toHaveLength(3);
  });

  it('keeps the letter when encryption of the target changed', () => {
    const harness = withLetters();
    const letter = nameOf(deadLetters(harness)[0]!);
    const push = harness.pushBytes(['dlq:x'], { encrypted: true, optionsVersion: 77 });
    const outcome = harness.run(encodeReplayDeadLetter(TENANT, { letter }, push));
    expect(outcome).toMatchObject({ result: 'reprepare' });
    expect(deadLetters(harness)).toHaveLength(3);
  });

  it('passes the check before the log only with one message', () => {
    const harness = withLetters();
    const letter = nameOf(deadLetters(harness)[0]!);
    const two = encodeReplayDeadLetter(TENANT, { letter }, harness.pushBytes(['a', 'b']));
    expect(() => checkCommand(two)).toThrow('one message');
  });
});

describe('determinism of the commands on groups and dead letters', () => {
  it('gives equal digests and rows on a second machine reloaded in the middle', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 31 }), fc.integer({ min: 1, max: 60 }), check),
      { numRuns: 25 },
    );
  });
});

function check(seed: number, cut: number): void {
  const original = randomLife(seed, 70);
  let follower = new MachineHarness();
  for (const entry of original.log) {
    follower.replay(entry);
    if (entry.index === cut) follower = follower.reloaded();
  }
  expect(follower.machine.digest()).toEqual(original.machine.digest());
  original.machine.flushDirtyRows();
  follower.machine.flushDirtyRows();
  expect(follower.rows.rows).toEqual(original.rows.rows);
}

function randomLife(seed: number, entries: number): MachineHarness {
  const random = new Prng(seed);
  const harness = new MachineHarness();
  const below = (n: number): number => random.nextBelow(n);
  harness.push(['a', 'b', 'c']);
  harness.register('g');
  const place = () => harness.tables.partitions.id(harness.partition());
  const steps: (() => void)[] = [
    () => void harness.push([`m${below(1000)}`]),
    () => {
      const { leaseId, ranges } = harness.claim({ count: 1 });
      const first = ranges[0]?.firstOffset;
      if (first === undefined) return;
      const signals = [[first, 'dlq']] as const;
      harness.ack({ leaseId, signals, baseOffset: first < 3 ? 0 : first });
    },
    () => {
      const moves = [{ partitionId: place(), committed: below(20) - 1 }];
      harness.run(encodeSeekCursors(TENANT, { group: 'g', moves }));
    },
    () => {
      const partitions = [place()];
      const rest = { group: 'g', queueId: queueId(1), dropRegistration: below(2) === 0 };
      harness.run(encodeDeleteCursors(TENANT, { ...rest, partitions }));
    },
    () => {
      const update = { group: 'g', instant: micros(below(1000)), queues: [queueId(1)] };
      harness.run(encodeUpdateSubscription(TENANT, update));
    },
    () => {
      const letters = deadLetters(harness).slice(0, below(3)).map(nameOf);
      remove(harness, letters);
    },
    () => {
      const letter = deadLetters(harness)[0];
      if (letter !== undefined) replay(harness, nameOf(letter), `dlq:${below(5)}`);
    },
    () => void harness.register('g'),
  ];
  while (harness.machine.appliedIndex < entries) {
    harness.advance(1);
    steps[below(steps.length)]!();
  }
  return harness;
}
