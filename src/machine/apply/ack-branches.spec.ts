/**
 * The algorithm of spec §6.3, a line per case. Batch 0 … 7 is leased. Columns:
 *
 *   setup     failures charged before; `limitN` retryLimit; `off`, `after`, `queue`: which DLQ flags
 *   items     offset + c completed, f failed, r retry, d dlq
 *   expected  committed / released or held / batchRetryCount / attempt marker offset,count or -
 *   filed     offsets of the dead letters
 */
import { cursorOf, deadLetters, leased } from '../../../test/support/ack-scene.js';
import type { QueueOptions } from '../commands/index.js';

const BRANCHES = `
  2            | 0c 1c 2c 3c 4c 5c 6c 7c | 7 released 0 -1,0  |       | all completed: everything reset
  0            | 7c                      | 7 released 0 -1,0  |       | the last one settles all below it
  1            | 0c 2c                   | 2 held 1 3,2       |       | a part: the lease stays, the marker follows
  0            | 8c 9c                   | -1 held 0 0,1      |       | nothing resolvable
  0            |                         | -1 held 0 0,1      |       | an empty call
  0            | 1c 8f                   | 1 held 0 2,1       |       | a signal beyond the batch does not resolve

  1            | 0c 1c 5c 3r             | 1 released 1 2,2   |       | retry: prefix settled, nothing charged
  0            | 0r                      | -1 released 0 0,1  |       | retry of the first message

  1            | 0c 1c 6c 3f 5f          | 1 released 2 2,2   |       | failed with budget: charged once per call
  2            | 0f                      | -1 released 3 0,3  |       | failed with the last of the budget

  3            | 0f                      | 0 released 0 -1,0  | 0     | failed, budget spent: filed
  3            | 1c 3f                   | 3 released 0 -1,0  | 3     | the prefix goes with the head
  limit0       | 2f                      | 2 released 0 -1,0  | 2     | retryLimit 0: filed at once
  limit-5      | 2f                      | 2 released 0 -1,0  | 2     | a negative limit counts as 0
  limit0 after | 0f                      | 0 released 0 -1,0  | 0     | only dlqAfterMaxRetries is on
  limit0 queue | 0f                      | 0 released 0 -1,0  | 0     | only deadLetterQueue is on
  3 off        | 0f                      | 0 released 0 -     |       | budget spent, both off: dropped

  1            | 0c 2d                   | 2 released 0 -1,0  | 2     | dlq: filed whatever the budget
  off          | 0d                      | 0 released 0 -1,0  | 0     | dlq with both off: filed all the same
  0            | 7d                      | 7 released 0 -1,0  | 7     | dlq of the last message settles the batch
`;

const HEAD_AND_ABOVE = `
  0            | 1f 1d                   | 1 released 0 -1,0  | 1     | equal offset: dlq beats failed
  0            | 1r 1f                   | -1 released 1 0,1  |       | equal offset: failed beats retry
  0            | 0c 1c 1r                | 0 released 0 1,1   |       | equal offset: a signal beats completed
  0            | 5d 1r                   | -1 released 0 0,1  |       | the lowest signal is the head
  0            | 1c 2c 0d                | 2 released 0 -1,0  | 0     | completed settle contiguously
  0            | 4c 0d                   | 4 released 0 -1,0  | 0     | not named below a completed one settles
  0            | 0c 1c 2d 5d             | 2 released 0 -1,0  | 2     | not named, nothing completed above: stop
  0            | 0d 1d 3d                | 1 released 0 -1,0  | 0 1   | a neighbouring dlq is filed too
  0            | 0d 3d 5c                | 5 released 0 -1,0  | 0 3   | a dlq between completed ones is filed
  0            | 5c 0d 3r                | 2 released 0 -1,0  | 0     | retry stops
  2            | 1c 5c 0d 3f             | 2 released 2 -1,0  | 0     | failed with budget stops, keeps the count
  3            | 7c 0d 3f                | 7 released 0 -1,0  | 0 3   | failed without budget is filed
  limit0 off   | 7c 0d 3f                | 7 released 0 -1,0  | 0     | failed without budget and DLQ is dropped
  3            | 0f 1f 2f 4f             | 2 released 0 -1,0  | 0 1 2 | a spent head takes its neighbours with it
  3            | 0f 1d 2r                | 1 released 0 -1,0  | 0 1   | below a retry
`;

const STATUS = { f: 'failed', r: 'retry', d: 'dlq' } as const;

interface Row {
  readonly name: string;
  readonly failures: number;
  readonly options: Partial<QueueOptions>;
  readonly completed: number[];
  readonly signals: (readonly [number, 'failed' | 'retry' | 'dlq'])[];
  readonly committed: number;
  readonly released: boolean;
  readonly retries: number;
  readonly attempts: readonly number[] | undefined;
  readonly filed: number[];
}

function parseSetup(setup: string): Pick<Row, 'failures' | 'options'> {
  const limit = /limit(-?\d+)/.exec(setup)?.[1];
  const options: Partial<QueueOptions> = {
    ...(limit === undefined ? {} : { retryLimit: Number(limit) }),
    ...(/off|after/.test(setup) ? { deadLetterQueue: false } : {}),
    ...(/off|queue/.test(setup) ? { dlqAfterMaxRetries: false } : {}),
  };
  return { failures: Number(/^\d+/.exec(setup)?.[0] ?? 0), options };
}

function parse(line: string): Row {
  const [setup, items, expected, filed, name] = line.split('|').map((column) => column.trim());
  const named = words(items!).map((item) => [parseInt(item, 10), item.at(-1)!] as const);
  const [committed, released, retries, attempts] = words(expected!);
  return {
    name: name!,
    ...parseSetup(setup!),
    completed: named.filter(([, kind]) => kind === 'c').map(([offset]) => offset),
    signals: named
      .filter(([, kind]) => kind !== 'c')
      .map(([offset, kind]) => [offset, STATUS[kind as 'f' | 'r' | 'd']]),
    committed: Number(committed),
    released: released === 'released',
    retries: Number(retries),
    attempts: attempts === '-' ? undefined : attempts!.split(',').map(Number),
    filed: words(filed!).map(Number),
  };
}

const words = (text: string) => text.split(/\s+/).filter((word) => word !== '');
const rowsOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.includes('|'))
    .map(parse);

describe.each([
  ['branches', BRANCHES],
  ['head and settling above', HEAD_AND_ABOVE],
])('ack, %s', (_, table) => {
  it.each(rowsOf(table).map((row) => [row.name, row] as const))('%s', (__, row) => {
    const { harness, leaseId } = leased(row.options, row.failures);
    const { completed, signals, committed, released, retries, filed } = row;
    const outcome = harness.ack({ leaseId, completed, signals });
    expect(outcome).toMatchObject({
      verdict: 'applied',
      committedBefore: -1,
      spanEnd: 7,
      committedAfter: committed,
      leaseReleased: released,
      filed: filed.length,
    });
    expect(cursorOf(harness)).toMatchObject({
      committed,
      leased: !released,
      retries,
      consumed: committed + 1,
    });
    if (row.attempts !== undefined) expect(cursorOf(harness).attempts).toEqual(row.attempts);
    expect(deadLetters(harness).map((letter) => letter.offset)).toEqual(filed);
    expect(harness.tables.partitions.deadLetters(harness.partition())).toBe(filed.length);
  });
});
