/** The time of the oldest retained message: from the columns while offset 0 is there, else from rows. */
import { micros, partitionId, queueId } from '../common/ids.js';
import { encodeAppendRow } from '../machine/tables/append-row.js';
import { appendKey } from '../machine/tables/keyspaces.js';
import type { Tables } from '../machine/tables/tables.js';
import type { GroupView, ViewRange } from '../raft/index.js';
import { oldestFromColumns, oldestFromRows } from './oldest-messages.js';

const QUEUE = queueId(7);

function columns(logStart: number, lastOffset: number): Tables {
  const partitions = {
    logStart: () => logStart,
    lastOffset: () => lastOffset,
    createdAt: () => micros(1_000),
  };
  return { partitions } as unknown as Tables;
}

/** A view of append rows: base offset, messages, time. */
function viewOf(partition: number, appends: readonly (readonly [number, number, number])[]) {
  const rows = appends.map(([base, count, createdAt]) => {
    const ids = { bytes: new Uint8Array(count * 45), at: 0, count };
    const fields = { createdAt, entryIndex: 1, blockOffset: 0, blockLength: 0 };
    const key = appendKey(QUEUE, partitionId(partition), base);
    return [key, encodeAppendRow(fields, ids, null).slice()] as const;
  });
  let closed = 0;
  const view = {
    async *iterate(range: ViewRange) {
      const inside = rows.filter(
        ([key]) => Buffer.compare(key, range.gte) >= 0 && Buffer.compare(key, range.lt) < 0,
      );
      yield* range.reverse === true ? inside.reverse() : inside;
    },
    close: () => {
      closed += 1;
      return Promise.resolve();
    },
  };
  const group = { view: () => Promise.resolve(view as unknown as GroupView) };
  return { group, closed: () => closed };
}

describe('the oldest message', () => {
  it.each([
    ['nothing was written', 0, -1, 0],
    ['everything is there', 0, 4, 1_000],
    ['everything was removed', 5, 4, 0],
    ['the start moved up', 3, 4, null],
  ])('%s', (_name, logStart, lastOffset, expected) => {
    expect(oldestFromColumns(columns(logStart, lastOffset), 0)).toBe(expected);
  });

  it('is the append that holds the first retained offset', async () => {
    const appends = [
      [0, 3, 1_000],
      [3, 2, 2_000],
      [5, 4, 3_000],
    ] as const;
    const at = async (logStart: number): Promise<number | undefined> => {
      const { group, closed } = viewOf(9, appends);
      const asked = [{ partitionId: partitionId(9), logStart, lastOffset: 8 }];
      const found = await oldestFromRows(group, QUEUE, asked);
      expect(closed()).toBe(1);
      return found.get(partitionId(9));
    };
    expect([await at(1), await at(3), await at(4), await at(5), await at(8)]).toEqual([
      1_000, 2_000, 2_000, 3_000, 3_000,
    ]);
  });

  it('is left out where no row tells, and opens no view for nothing', async () => {
    const { group, closed } = viewOf(9, []);
    const asked = [{ partitionId: partitionId(1), logStart: 2, lastOffset: 5 }];
    expect((await oldestFromRows(group, QUEUE, asked)).size).toBe(0);
    await oldestFromRows(group, QUEUE, []);
    expect(closed()).toBe(1);
  });
});
