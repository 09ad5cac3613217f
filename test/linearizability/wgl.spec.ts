/**
 * The checker itself: it accepts what can be put in order and rejects what cannot, above all a stale
 * read planted into histories that were linearizable before.
 */
import fc from 'fast-check';
import { KV_MODEL } from '../support/kv-model.js';
import type { KvInput, KvOutput, KvState } from '../support/kv-model.js';
import { checkHistory, type Operation } from '../support/wgl.js';

type Row = Operation<KvInput, KvOutput>;

const read = (start: number, end: number, value: number | null, key = 'k'): Row => ({
  ...{ start, end, input: { kind: 'read', keys: [key] }, output: [value] },
});
const write = (start: number, end: number, value: number, keys = ['k']): Row => ({
  ...{
    start,
    end,
    input: { kind: 'write', keys, value },
    output: end === Infinity ? undefined : true,
  },
});
const add = (start: number, end: number, sum: number | undefined): Row => ({
  ...{ start, end, input: { kind: 'add', key: 'k', delta: 1 }, output: sum },
});
const create = (start: number, end: number, won: boolean): Row => ({
  ...{ start, end, input: { kind: 'create', key: 'k', value: 1 }, output: won },
});

const swap = (start: number, end: number, from: number, won: boolean): Row => ({
  ...{ start, end, input: { kind: 'swap', key: 'k', from, value: 9 }, output: won },
});
const transfer = (start: number, end: number, sums: number[]): Row => ({
  ...{ start, end, input: { kind: 'transfer', from: 'a', to: 'b', by: 1 }, output: sums },
});
const exchange = (start: number, end: number, key: string, seen: (number | null)[]): Row => ({
  ...{ start, end, input: { kind: 'exchange', key, value: 1, keys: ['a', 'b'] }, output: seen },
});

const isFine = (...rows: Row[]): boolean => checkHistory(KV_MODEL, rows).linearizable;

describe('accepts', () => {
  it.each<[string, Row[]]>([
    ['nothing', []],
    ['one after another', [write(0, 1, 1), read(2, 3, 1)]],
    [
      'a read of either side of a concurrent write',
      [write(0, 5, 1), read(1, 2, null), read(3, 4, 1)],
    ],
    ['an unknown write that happened', [write(0, Infinity, 1), read(2, 3, 1)]],
    ['an unknown write that did not', [write(0, Infinity, 1), read(2, 3, null)]],
    [
      'an unknown write that happens late',
      [write(0, Infinity, 1), read(2, 3, null), read(4, 5, 1)],
    ],
    ['counts in any order of concurrent ones', [add(0, 5, 2), add(1, 4, 1)]],
    ['one winner', [create(0, 4, false), create(1, 3, true)]],
    ['a swap of what is there', [write(0, 1, 1), swap(2, 3, 1, true), read(4, 5, 9)]],
    ['a swap of what was there', [write(0, 1, 1), write(2, 3, 2), swap(4, 5, 1, false)]],
    ['transfers in either order', [transfer(0, 5, [-2, 2]), transfer(1, 4, [-1, 1])]],
    [
      'two exchanges of which one sees the other',
      [exchange(0, 5, 'a', [1, null]), exchange(0, 5, 'b', [1, 1])],
    ],
    [
      'a write of two keys at once',
      [write(0, 9, 1, ['a', 'b']), read(1, 2, null, 'a'), read(3, 4, 1, 'b'), read(5, 6, 1, 'a')],
    ],
  ])('%s', (_, rows) => {
    expect(isFine(...rows)).toBe(true);
  });
});

describe('rejects', () => {
  it.each<[string, Row[]]>([
    ['a stale read', [write(0, 1, 1), write(2, 3, 2), read(4, 5, 1)]],
    ['a value from nowhere', [read(0, 1, 7)]],
    ['going back', [write(0, 9, 1), read(1, 2, 1), read(3, 4, null)]],
    ['a lost increment', [add(0, 1, 1), add(2, 3, 1)]],
    ['a doubled one', [add(0, 1, 1), add(2, 3, 3)]],
    ['an unknown one counted twice', [add(0, Infinity, undefined), add(2, 3, 3)]],
    ['two winners', [create(0, 4, true), create(1, 3, true)]],
    ['no winner', [create(0, 4, false)]],
    ['a swap under an old version', [write(0, 1, 1), write(2, 3, 2), swap(4, 5, 1, true)]],
    ['half a transfer', [transfer(0, 9, [-1, 1]), read(1, 2, -1, 'a'), read(3, 4, null, 'b')]],
    [
      'two exchanges that see each other',
      [exchange(0, 5, 'a', [1, 1]), exchange(0, 5, 'b', [1, 1])],
    ],
    [
      'two exchanges that miss each other',
      [exchange(0, 5, 'a', [1, null]), exchange(0, 5, 'b', [null, 1])],
    ],
    [
      'half of a write of two keys',
      [write(0, 9, 1, ['a', 'b']), read(1, 2, 1, 'a'), read(3, 4, null, 'b')],
    ],
    ['an order against real time', [write(0, 1, 1), read(2, 3, null), write(4, 5, 2)]],
  ])('%s', (_, rows) => {
    expect(isFine(...rows)).toBe(false);
  });
});

const input: fc.Arbitrary<KvInput> = fc.oneof(
  fc.record({ kind: fc.constant('read' as const), keys: fc.constant(['a', 'b']) }),
  fc.record({
    kind: fc.constant('write' as const),
    keys: fc.constantFrom(['a'], ['b'], ['a', 'b']),
    value: fc.integer({ min: 100, max: 999 }),
  }),
  fc.record({ kind: fc.constant('add' as const), key: fc.constant('a'), delta: fc.constant(1) }),
  fc.record({ kind: fc.constant('remove' as const), key: fc.constantFrom('a', 'b') }),
  fc.record({
    kind: fc.constant('swap' as const),
    ...{ key: fc.constantFrom('a', 'b'), from: fc.integer({ min: 100, max: 110 }) },
    value: fc.integer({ min: 100, max: 110 }),
  }),
  fc.record({
    ...{ kind: fc.constant('transfer' as const), from: fc.constant('a'), to: fc.constant('b') },
    by: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({
    kind: fc.constant('exchange' as const),
    ...{ key: fc.constantFrom('a', 'b'), value: fc.integer({ min: 100, max: 999 }) },
    keys: fc.constant(['a', 'b']),
  }),
);

/** Operations that took effect one after the other, with intervals that overlap around that. */
function executed(inputs: readonly KvInput[], slack: readonly number[]): Row[] {
  let state: KvState = {};
  return inputs.map((one, i) => {
    const output = answer(state, one);
    state = KV_MODEL.step(state, one, output) ?? state;
    const around = slack[i % slack.length] ?? 0;
    return { start: i - around, end: i + around + 0.5, input: one, output };
  });
}

function answer(state: KvState, one: KvInput): KvOutput {
  switch (one.kind) {
    case 'read':
      return one.keys.map((key) => state[key] ?? null);
    case 'write':
      return true;
    case 'add':
      return (state[one.key] ?? 0) + one.delta;
    case 'create':
      return state[one.key] === undefined;
    case 'remove':
      return state[one.key] !== undefined;
    case 'swap':
      return state[one.key] === one.from;
    case 'transfer':
      return [(state[one.from] ?? 0) - one.by, (state[one.to] ?? 0) + one.by];
    case 'exchange':
      return one.keys.map((key) => (key === one.key ? one.value : (state[key] ?? null)));
  }
}

const slacks = fc.array(fc.double({ min: 0, max: 4, noNaN: true }), { minLength: 1, maxLength: 6 });

it('accepts every history that was executed in some order', () => {
  fc.assert(
    fc.property(fc.array(input, { maxLength: 30 }), slacks, (inputs, slack) => {
      expect(isFine(...executed(inputs, slack))).toBe(true);
    }),
  );
});

it('rejects every one of them with a stale read planted at its end', () => {
  fc.assert(
    fc.property(fc.array(input, { minLength: 1, maxLength: 25 }), slacks, (inputs, slack) => {
      const rows = executed(inputs, slack);
      const end = Math.max(...rows.map((row) => row.end));
      const fresh = [write(end + 1, end + 2, 1, ['a']), write(end + 3, end + 4, 2, ['a'])];
      expect(isFine(...rows, ...fresh, read(end + 5, end + 6, 2, 'a'))).toBe(true);
      expect(isFine(...rows, ...fresh, read(end + 5, end + 6, 1, 'a'))).toBe(false);
    }),
  );
});
