/** What was handed out is found again by hash, in any order, bounded in bytes; and offsets as ranges. */
import fc from 'fast-check';
import { toRanges } from './ack-command.js';
import { DeliveredIds, indexInRange } from './delivered-ids.js';
import { isRegistrationNew, parseStartInstant } from './start-policy.js';

function hashesOf(numbers: readonly number[]): Uint8Array {
  const hashes = new Uint8Array(numbers.length * 16);
  const view = new DataView(hashes.buffer);
  // The low word repeats on purpose: fragments of an index may collide.
  numbers.forEach((number, i) => {
    view.setUint32(i * 16, number % 7, true);
    view.setUint32(i * 16 + 12, number, true);
  });
  return hashes;
}

function rangeOf(count: number, first = 100) {
  const numbers = Array.from({ length: count }, (_, i) => i + 1);
  return { first, hashes: hashesOf(numbers), bases: new Float64Array(count).fill(first) };
}

describe('DeliveredIds', () => {
  it.each([1, 31, 32, 33, 500])('finds each of %i ids in any order', (count) => {
    const ids = new DeliveredIds(1e6);
    ids.remember('lease', 1, rangeOf(count));
    const range = ids.find('lease', 1);
    if (range === undefined) throw new Error('not remembered');
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: count - 1 }), { maxLength: 40 }), (asked) => {
        const hashes = hashesOf(asked.map((i) => i + 1));
        asked.forEach((i, at) => expect(indexInRange(range, hashes, at * 16)).toBe(i));
      }),
    );
    expect(indexInRange(range, hashesOf([count + 1]), 0)).toBe(-1);
    expect(indexInRange(range, hashesOf([0]), 0)).toBe(-1);
  });

  it('keeps leases and partitions apart, and forgets on drop', () => {
    const ids = new DeliveredIds(1e6);
    ids.remember('a', 1, rangeOf(1, 5));
    ids.remember('a', 2, rangeOf(1, 6));
    ids.remember('b', 1, rangeOf(1, 7));
    ids.drop('a', 1);
    expect(ids.find('a', 1)).toBeUndefined();
    expect([ids.find('a', 2)?.first, ids.find('b', 1)?.first]).toEqual([6, 7]);
  });

  it('replaces what the same lease and partition had', () => {
    const ids = new DeliveredIds(1e6);
    ids.remember('a', 1, rangeOf(3, 5));
    ids.remember('a', 1, rangeOf(1, 9));
    expect(ids.find('a', 1)?.first).toBe(9);
  });

  it('lets the oldest go when it is full', () => {
    const ids = new DeliveredIds(5_000);
    for (let i = 0; i < 50; i += 1) ids.remember(`l${i}`, 1, rangeOf(10));
    expect(ids.find('l0', 1)).toBeUndefined();
    expect(ids.find('l49', 1)).toBeDefined();
    ids.remember('huge', 1, rangeOf(10_000));
    expect(ids.find('huge', 1)).toBeUndefined();
    ids.remember('next', 1, rangeOf(1));
    expect(ids.find('next', 1)).toBeDefined();
  });
});

describe('toRanges', () => {
  it.each([
    [[], []],
    [[5], [5, 5]],
    [
      [1, 2, 3],
      [1, 3],
    ],
    [
      [3, 1, 2],
      [1, 3],
    ],
    [
      [1, 3, 5, 4],
      [1, 1, 3, 5],
    ],
    [
      [2, 2, 2],
      [2, 2],
    ],
  ])('%j → %j', (offsets, ranges) => {
    expect(toRanges(offsets)).toEqual(ranges);
  });

  it('covers exactly the offsets, ascending and disjoint', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(60), { maxLength: 40 }), (offsets) => {
        const ranges = toRanges(offsets);
        const covered: number[] = [];
        for (let i = 0; i < ranges.length; i += 2) {
          for (let at = ranges[i] ?? 0; at <= (ranges[i + 1] ?? -1); at += 1) covered.push(at);
        }
        expect(covered).toEqual([...new Set(offsets)].sort((a, b) => a - b));
        for (let i = 2; i < ranges.length; i += 2) {
          expect(ranges[i]).toBeGreaterThan((ranges[i - 1] ?? 0) + 1);
        }
      }),
    );
  });
});

describe('start policy', () => {
  it.each([
    ['new', true],
    [' NEW-Only ', true],
    ['new_only', true],
    ['newonly', true],
    ['new only', false],
    ['all', false],
    ['', false],
  ])('%j: new is %s', (mode, expected) => {
    expect(isRegistrationNew(mode)).toBe(expected);
  });

  it.each([
    [undefined, null],
    ['', null],
    ['now', 'now'],
    [' NOW ', 'now'],
    ['1970-01-01T00:00:01Z', 1_000_000],
    ['1970-01-01', 0],
    ['yesterday', null],
  ])('%j starts at %s', (text, expected) => {
    expect(parseStartInstant(text)).toBe(expected);
  });
});
