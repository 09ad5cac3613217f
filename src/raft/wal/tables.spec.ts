/** The two in-memory indexes against the plainest model there is: an array. */
import { Prng } from '../../common/prng.js';
import { EntryTable } from './entry-table.js';
import { TermRuns } from './term-runs.js';

describe('TermRuns', () => {
  it.each([1, 2, 3, 4, 5])('agrees with an array of terms (seed %i)', (seed) => {
    const random = new Prng(seed);
    let base = random.nextBelow(5);
    const runs = new TermRuns(base, 1);
    const model = new Map<number, number>([[base, 1]]);
    for (let step = 0; step < 400; step += 1) {
      const dice = random.nextFloat();
      if (dice < 0.8) {
        const term = runs.lastTerm + (random.nextFloat() < 0.2 ? 1 : 0);
        model.set(runs.last + 1, term);
        runs.push(runs.last + 1, term);
      } else if (dice < 0.9) {
        const last = base + random.nextBelow(runs.last - base + 1);
        for (let i = last + 1; i <= runs.last; i += 1) model.delete(i);
        runs.truncateTo(last);
      } else if (dice < 0.95) {
        const next = base + random.nextBelow(runs.last - base + 1);
        for (let i = base; i < next; i += 1) model.delete(i);
        base = next;
        runs.dropBelow(base);
      }
      expect([runs.baseIndex, runs.last]).toEqual([base, Math.max(...model.keys())]);
      expect(runs.lastTerm).toBe(model.get(runs.last));
      for (let i = base - 1; i <= runs.last + 1; i += 1) expect(runs.termOf(i)).toBe(model.get(i));
    }
  });

  it('slices runs to a range', () => {
    const runs = new TermRuns(0, 0);
    for (const term of [1, 1, 2, 2, 5]) runs.push(runs.last + 1, term);
    expect(runs.slice(2, 4)).toEqual([
      { start: 2, term: 1 },
      { start: 3, term: 2 },
    ]);
    expect(runs.slice(5, 9)).toEqual([{ start: 5, term: 5 }]);
    expect(runs.slice(3, 2)).toEqual([]);
  });
});

describe('EntryTable', () => {
  it('finds entries of a dense table and forgets a truncated suffix', () => {
    const table = new EntryTable(10);
    for (let i = 0; i < 200; i += 1) table.push(i * 7, i);
    expect([table.slotOf(9), table.slotOf(10), table.slotOf(209), table.slotOf(210)]).toEqual([
      -1, 0, 199, -1,
    ]);
    table.truncateTo(50);
    expect([table.count, table.slotOf(50), table.slotOf(51)]).toEqual([41, 40, -1]);
    expect([table.positionAt(40), table.payloadBytesAt(40), table.indexAt(40)]).toEqual([
      280, 40, 50,
    ]);
    table.truncateTo(2);
    expect(table.count).toBe(0);
  });

  it('finds entries of a sparse table', () => {
    const table = new EntryTable(100, {
      positions: Uint32Array.of(5, 6, 7),
      sizes: Uint32Array.of(1, 2, 3),
      distances: Uint32Array.of(0, 4, 9),
    });
    expect([100, 101, 104, 109, 110].map((index) => table.slotOf(index))).toEqual([
      0, -1, 1, 2, -1,
    ]);
    expect(table.indexAt(2)).toBe(109);
  });
});
