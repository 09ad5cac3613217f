/** Work in slices: sorting and rendering give the loop back and change nothing about the result. */
import fc from 'fast-check';
import { jsonArray, jsonWith, Slices, sortByName, sortInSlices } from './slices.js';

describe('slices', () => {
  it('sorts like Array.sort, by code units', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ maxLength: 3 }), { maxLength: 50 }), async (names) => {
        const rows = names.map((name, number) => ({ name, number }));
        const sorted = await sortByName(rows, new Slices());
        const expected = [...rows].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
        expect(sorted).toEqual(expected);
      }),
    );
  });

  it('keeps the order of rows that compare equal', async () => {
    const rows = Array.from({ length: 5_500 }, (_, number) => ({ tens: number % 10, number }));
    const sorted = await sortInSlices(rows, (a, b) => a.tens - b.tens, new Slices());
    expect(sorted).toEqual(rows.toSorted((a, b) => a.tens - b.tens));
  });

  it('sorts many, and lets others run in between', async () => {
    const rows = Array.from({ length: 25_000 }, (_, i) => ({ name: `${(i * 7_919) % 25_000}` }));
    let turns = 0;
    const count = (): void => {
      turns += 1;
      pending = setImmediate(count);
    };
    let pending = setImmediate(count);
    const sorted = await sortByName(rows, new Slices());
    clearImmediate(pending);
    expect(turns).toBeGreaterThan(20);
    expect(sorted.map(({ name }) => name)).toEqual(rows.map(({ name }) => name).sort());
  });

  it.each([0, 1, 999, 1_000, 1_001, 2_500])('renders %i rows as JSON', async (count) => {
    const rows = Array.from({ length: count }, (_, i) => i);
    const bytes = await jsonWith(
      { a: 'é' },
      { name: 'rows', brackets: '[]', rows, text: (row) => JSON.stringify({ row }) },
      new Slices(),
    );
    expect(JSON.parse(bytes.toString())).toEqual({ a: 'é', rows: rows.map((row) => ({ row })) });
  });

  it('renders objects, and an answer of the long member alone', async () => {
    const bytes = await jsonWith(
      {},
      { name: 'sizes', brackets: '{}', rows: ['__proto__', 'b'], text: (row) => `"${row}":1` },
      new Slices(),
    );
    expect(bytes.toString()).toBe('{"sizes":{"__proto__":1,"b":1}}');
  });

  it('leaves rows without a text out', async () => {
    const rows = Array.from({ length: 700 }, (_, i) => i);
    const odd = await jsonArray(rows, (row) => (row % 2 === 0 ? '' : String(row)), new Slices());
    expect(JSON.parse(odd.toString())).toEqual(rows.filter((row) => row % 2 === 1));
    const late = await jsonArray(rows, (row) => (row < 650 ? '' : String(row)), new Slices());
    expect(JSON.parse(late.toString())).toEqual(rows.slice(650));
    expect((await jsonArray(rows, () => '', new Slices())).toString()).toBe('[]');
  });

  it('joins long answers', async () => {
    const rows = Array.from({ length: 40 }, (_, i) => String(i % 10).repeat(300_000));
    const bytes = await jsonArray(rows, (row) => `"${row}"`, new Slices());
    expect(JSON.parse(bytes.toString())).toEqual(rows);
  });

  it('are spent after some milliseconds, however few rows those were', async () => {
    let nowMs = 0;
    const slices = new Slices(() => nowMs);
    const rowsUntilSpent = (rowMs: number): number => {
      for (let rows = 1; ; rows += 1) {
        nowMs += rowMs;
        if (slices.isSpent()) return rows;
      }
    };
    expect(rowsUntilSpent(0)).toBe(1_000);
    await slices.pause();
    expect(rowsUntilSpent(1)).toBeLessThanOrEqual(64);
    await slices.pause();
    expect(rowsUntilSpent(0)).toBe(1_000);
  });

  it('take turns: of many reads under way one goes on in each turn of the loop', async () => {
    let resumed = 0;
    let most = 0;
    const count = (): void => {
      most = Math.max(most, resumed);
      resumed = 0;
      pending = setImmediate(count);
    };
    let pending = setImmediate(count);
    const read = async (): Promise<void> => {
      const slices = new Slices();
      for (let i = 0; i < 20; i += 1) {
        await slices.pause();
        resumed += 1;
      }
    };
    await Promise.all(Array.from({ length: 10 }, read));
    clearImmediate(pending);
    expect(most).toBe(1);
  });
});
