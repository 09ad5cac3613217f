/** Quorum arithmetic against naive restatements of its definition. */
import fc from 'fast-check';
import { nodeId, type NodeId } from '../../common/ids.js';
import { jointIndex, jointVote, majorityIndex, majorityVote } from './quorum.js';

const voters = fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { maxLength: 7 });
const indexes = fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 8, maxLength: 8 });
const ballots = fc.array(fc.constantFrom(true, false, undefined), { minLength: 8, maxLength: 8 });
const ids = (list: readonly number[]): NodeId[] => list.map(nodeId);

/** Largest index that more than half of the voters have reached. */
function naiveIndex(group: readonly NodeId[], reached: readonly number[]): number {
  if (group.length === 0) return Infinity;
  const holders = (index: number): number =>
    group.filter((id) => (reached[id] ?? 0) >= index).length;
  return Math.max(...reached.filter((index) => holders(index) * 2 > group.length), 0);
}

describe('majority', () => {
  it('index equals the definition', () => {
    fc.assert(
      fc.property(voters, indexes, (group, reached) => {
        expect(majorityIndex(ids(group), (id) => reached[id])).toBe(
          naiveIndex(ids(group), reached),
        );
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    [1, 1],
    [2, 2],
    [3, 2],
    [4, 3],
    [5, 3],
    [6, 4],
  ])('of %i voters %i win, one less does not', (count, needed) => {
    const group = ids(Array.from({ length: count }, (_, i) => i + 1));
    expect(majorityVote(group, (id) => id <= needed)).toBe('won');
    expect(majorityVote(group, (id) => id < needed)).toBe('lost');
    expect(majorityVote(group, (id) => (id < needed ? true : undefined))).toBe('pending');
  });

  it('vote is decided exactly when the open votes cannot turn it', () => {
    fc.assert(
      fc.property(voters, ballots, (group, cast) => {
        const all = (fill: boolean) => majorityVote(ids(group), (id) => cast[id] ?? fill);
        const [worst, best] = [all(false), all(true)];
        const expected = worst === best ? worst : 'pending';
        expect(majorityVote(ids(group), (id) => cast[id])).toBe(expected);
      }),
    );
  });
});

describe('joint', () => {
  it('index is what both halves reached, whatever their order', () => {
    fc.assert(
      fc.property(voters, voters, indexes, (a, b, reached) => {
        const halves = { voters: ids(a), outgoing: ids(b) };
        const expected = Math.min(naiveIndex(ids(a), reached), naiveIndex(ids(b), reached));
        expect(jointIndex(halves, (id) => reached[id])).toBe(expected);
        const swapped = { voters: ids(b), outgoing: ids(a) };
        expect(jointIndex(swapped, (id) => reached[id])).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });

  it('vote is won only by both halves and lost by either', () => {
    fc.assert(
      fc.property(voters, voters, ballots, (a, b, cast) => {
        const parts = [a, b].map((group) => majorityVote(ids(group), (id) => cast[id]));
        const result = jointVote({ voters: ids(a), outgoing: ids(b) }, (id) => cast[id]);
        if (parts.includes('lost')) expect(result).toBe('lost');
        else expect(result).toBe(parts.includes('pending') ? 'pending' : 'won');
      }),
    );
  });
});
