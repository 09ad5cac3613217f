/** Searches over append rows, also where the columns that gave the span are older or newer than the view. */
import { micros, partitionId, queueId } from '../common/ids.js';
import { encodeAppendRow } from '../machine/tables/append-row.js';
import { appendKey } from '../machine/tables/keyspaces.js';
import { appendHolding, firstOffsetAtOrAfter, type RowView } from './append-rows.js';

const QUEUE = queueId(7);
const PARTITION = partitionId(3);
const MANY_READS = 200;

type Append = readonly [base: number, count: number, createdAt: number];

/** A view that gives up when it is asked without end. */
function viewOf(appends: readonly Append[]): RowView {
  const rows = appends.map(([base, count, createdAt]) => {
    const ids = { bytes: new Uint8Array(count * 45), at: 0, count };
    const fields = { createdAt, entryIndex: 1, blockOffset: 0, blockLength: 0 };
    return [appendKey(QUEUE, PARTITION, base), encodeAppendRow(fields, ids, null).slice()] as const;
  });
  let reads = 0;
  return {
    async *iterate(range) {
      if ((reads += 1) > MANY_READS) throw new Error('the search does not end');
      const inside = rows.filter(
        ([key]) => Buffer.compare(key, range.gte) >= 0 && Buffer.compare(key, range.lt) < 0,
      );
      yield* await Promise.resolve(range.reverse === true ? inside.reverse() : inside);
    },
  };
}

const span = (first: number, last: number) => ({
  ...{ queueId: QUEUE, partitionId: PARTITION, first, last },
});

/** Ten appends of two messages, stamped 100, 200, … */
const APPENDS = Array.from({ length: 10 }, (_, i): Append => [i * 2, 2, (i + 1) * 100]);

describe('the first offset at or after an instant', () => {
  it.each([
    ['before all', 50, 0],
    ['at the first', 100, 0],
    ['between two', 301, 6],
    ['at the last', 1000, 18],
    ['after all', 1001, 20],
  ])('%s', async (_name, instant, expected) => {
    const view = viewOf(APPENDS);
    expect(await firstOffsetAtOrAfter(view, span(0, 19), micros(instant))).toBe(expected);
  });

  it('for every view that ends before the span does it is at most the first row not seen', async () => {
    for (let seen = 0; seen <= 10; seen += 1) {
      for (let instant = 50; instant <= 1150; instant += 50) {
        const wanted = Math.min(Math.ceil(instant / 100) - 1, seen) * 2;
        const found = await firstOffsetAtOrAfter(
          viewOf(APPENDS.slice(0, seen)),
          span(0, 19),
          micros(instant),
        );
        expect({ seen, instant, found }).toEqual({ seen, instant, found: Math.max(wanted, 0) });
      }
    }
  });

  it('rows that are trimmed already are older than all others', async () => {
    for (let trimmed = 0; trimmed < 10; trimmed += 1) {
      const view = viewOf(APPENDS.slice(trimmed));
      for (let first = 0; first < 20; first += 1) {
        const found = await firstOffsetAtOrAfter(view, span(first, 19), micros(50));
        expect({ trimmed, first, found }).toEqual({
          trimmed,
          first,
          found: Math.max(first, trimmed * 2),
        });
      }
    }
  });
});

describe('the append holding an offset', () => {
  it('is the one that reaches it', async () => {
    expect((await appendHolding(viewOf(APPENDS), span(0, 19), 7))?.baseOffset).toBe(6);
  });

  it.each([
    ['not in the view yet', APPENDS.slice(0, 4), 8],
    ['trimmed', APPENDS.slice(4), 7],
  ])('is none when its row is %s', async (_name, appends, offset) => {
    expect(await appendHolding(viewOf(appends), span(0, 19), offset)).toBeNull();
  });
});
