/** Ids that stand in a delivered batch more than once. */
import { DeliveredIds, mayRepeat, repeatedIndex } from './delivered-ids.js';

function rangeOf(...ids: readonly number[]) {
  const hashes = new Uint8Array(ids.length * 16);
  ids.forEach((id, i) => hashes.fill(id, i * 16, i * 16 + 16));
  const delivered = new DeliveredIds(1024 * 1024);
  delivered.remember('lease', 1, { first: 10, hashes, bases: new Float64Array(ids.length) });
  return delivered.find('lease', 1)!;
}

const hashOf = (id: number) => ({ hashes: new Uint8Array(16).fill(id), at: 0 });

describe('ids that repeat in a batch', () => {
  it('are noticed', () => {
    expect(mayRepeat(rangeOf(1, 2, 3))).toBe(false);
    expect(mayRepeat(rangeOf(1, 2, 1))).toBe(true);
    expect(mayRepeat(rangeOf(1))).toBe(false);
  });

  it('resolve to the last, or to the first that is not settled', () => {
    const range = rangeOf(7, 1, 7, 7, 2);
    expect(repeatedIndex(range, hashOf(7), 'last')).toBe(3);
    expect(repeatedIndex(range, hashOf(7), { firstFrom: 0 })).toBe(0);
    expect(repeatedIndex(range, hashOf(7), { firstFrom: 1 })).toBe(2);
    expect(repeatedIndex(range, hashOf(7), { firstFrom: 4 })).toBe(3);
    expect(repeatedIndex(range, hashOf(9), 'last')).toBe(-1);
  });
});
