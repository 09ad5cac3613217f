/** Parts of a push: repeats inside a request against a plain map, and cutting into commands. */
import fc from 'fast-check';
import { PushBatch } from '../machine/commands/push-batch.js';
import { measurePushBatch } from '../machine/commands/push-batch-encoder.js';
import { planChunks } from './push-chunks.js';
import { RepeatFinder } from '../preparation/repeat-finder.js';

describe('RepeatFinder', () => {
  it('finds the first of equals per target, like a map', () => {
    const items = fc.array(fc.record({ id: fc.nat(5), target: fc.nat(3) }), { maxLength: 60 });
    const finder = new RepeatFinder();
    fc.assert(
      fc.property(items, (list) => {
        const hashes = new Uint8Array(list.length * 16);
        // Equal low words: every id falls on the same place of the table.
        list.forEach(({ id }, i) => (hashes[i * 16 + 9] = id));
        finder.begin(list.length, hashes);
        const firsts = new Map<string, number>();
        list.forEach(({ id, target }, i) => {
          const key = `${id}/${target}`;
          expect(finder.firstWith(i, target)).toBe(firsts.get(key) ?? -1);
          if (!firsts.has(key)) firsts.set(key, i);
        });
      }),
    );
  });
});

describe('planChunks', () => {
  /** A batch with one message per group, of these payload sizes. */
  const plan = (sizes: readonly number[], maxBytes: number): number[][] => {
    const batch = new PushBatch(sizes.length, new Uint8Array(0), new Uint8Array(0));
    sizes.forEach((size, i) => {
      batch.groups[i] = i;
      batch.payloadEnds[i] = size;
    });
    const group = { queue: 'q', partition: 'p', optionsVersion: 0, encrypted: false };
    const groups = sizes.map(() => group);
    return planChunks(measurePushBatch(batch, groups), maxBytes).map((chunk) => [...chunk]);
  };

  it.each([
    ['everything in one', [10, 10, 10], 10_000, [[0, 1, 2]]],
    [
      'one each',
      [500, 500],
      700,
      [
        [0, -1],
        [-1, 0],
      ],
    ],
    [
      'as many as fit',
      [300, 300, 300],
      800,
      [
        [0, 1, -1],
        [-1, -1, 0],
      ],
    ],
    ['the one that is too large is in none', [10, 5_000, 10], 700, [[0, -1, 1]]],
    ['nothing fits', [5_000], 700, []],
  ])('%s', (_name, sizes, maxBytes, expected) => {
    expect(plan(sizes, maxBytes)).toEqual(expected);
  });

  it('leaves groups without a message out', () => {
    const batch = new PushBatch(1, new Uint8Array(0), new Uint8Array(0));
    batch.groups[0] = 1;
    const group = { queue: 'q', partition: 'p', optionsVersion: 0, encrypted: false };
    expect(
      planChunks(measurePushBatch(batch, [group, group]), 1_000).map((chunk) => [...chunk]),
    ).toEqual([[-1, 0]]);
  });
});
