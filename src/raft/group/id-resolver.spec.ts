/** Where an id is found: which place of one that stands twice, and which old ones (messages.md §6.4). */
import { IdResolver } from './id-resolver.js';
import type { AppendFinder } from './append-finder.js';
import type { AppendPlace, AppendRow } from './ports.js';

const APPEND = 64;
const CONSUMED = 100_000;

const hashOf = (offset: number): Buffer => {
  const hash = Buffer.alloc(16);
  hash.writeUInt32LE(offset + 1, 0);
  return hash;
};

/** Appends of 64 messages; the hash of a message is made of its offset, and stands again every `period`. */
function rowAt(baseOffset: number, period = Infinity): AppendRow {
  const hashAt = (item: number): Buffer => hashOf((baseOffset + item) % period);
  const equals = (item: number, bytes: Uint8Array, at: number): boolean =>
    hashAt(item).equals(bytes.subarray(at, at + 16));
  const row = {
    ...{ baseOffset, count: APPEND },
    hashWord: (item: number) => hashAt(item).readUInt32LE(0),
    hashEquals: equals,
    findHash: (bytes: Uint8Array, at: number) =>
      Array.from({ length: APPEND }, (_, item) => item).find((item) => equals(item, bytes, at)) ??
      -1,
  };
  return row as unknown as AppendRow;
}

const finderOf = (period?: number): AppendFinder =>
  ({
    find: (_place: AppendPlace, first: number, last: number) => {
      const rows: AppendRow[] = [];
      for (let base = first - (first % APPEND); base <= last; base += APPEND) {
        rows.push(rowAt(base, period));
      }
      return Promise.resolve(rows);
    },
    byBase: (_place: AppendPlace, base: number) => Promise.resolve(rowAt(base, period)),
  }) as unknown as AppendFinder;

function resolverWith(indexed: readonly number[], period?: number): IdResolver {
  const lookup = (_partition: number, hashes: Uint8Array, at: number) =>
    Promise.resolve(
      indexed
        .filter((offset) => hashOf(offset).equals(hashes.subarray(at, at + 16)))
        .map((offset) => ({ offset, base: offset - (offset % APPEND) })),
    );
  return new IdResolver(finderOf(period), { lookup });
}

const place = { partitionId: 1 } as unknown as AppendPlace;

describe('acknowledgements of what was consumed long ago', () => {
  const span = { first: CONSUMED, last: CONSUMED + 10 };
  const oldest = CONSUMED - 65_536;
  const find = async (resolver: IdResolver, ...offsets: number[]): Promise<number[]> => [
    ...(await resolver.find(place, Buffer.concat(offsets.map(hashOf)), span)).offsets,
  ];

  it.each([[[oldest, oldest - 1]], [[CONSUMED, oldest, oldest - 1, CONSUMED - 1, 5, 6]]])(
    'the last 65,536 are recognised without the index, older ones are not: %p',
    async (offsets) => {
      const expected = offsets.map((offset) => (offset < oldest ? -1 : offset));
      expect(await find(resolverWith([]), ...offsets)).toEqual(expected);
    },
  );

  it('what the index knows is recognised however old', async () => {
    expect(await find(resolverWith([7]), 7, 8)).toEqual([7, -1]);
  });
});

describe('an id that stands more than once in the span', () => {
  // Again in the same append, in another one, and behind more than one step of the search.
  const periods = [40, 1_000, 5_000];
  const span = { first: 70, last: 11_990 };
  const few = [0, 7, 39];
  const many = [0, 7, 8, 9, 20, 39];

  it.each(periods.flatMap((period) => [few, many].map((ids) => ({ period, ids }))))(
    'counts where the caller says: $ids every $period',
    async ({ period, ids }) => {
      const hashes = Buffer.concat(ids.map(hashOf));
      const find = async (oldestFirst: boolean): Promise<number[]> => [
        ...(await resolverWith([], period).find(place, hashes, { ...span, oldestFirst })).offsets,
      ];
      const { first, last } = span;
      const oldest = ids.map((id) => id + period * Math.ceil((first - id) / period));
      const newest = ids.map((id) => id + period * Math.floor((last - id) / period));
      expect(await find(true)).toEqual(oldest);
      expect(await find(false)).toEqual(newest);
    },
  );
});
