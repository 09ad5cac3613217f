/**
 * The hash index against a map, with colliding hashes, in the middle of a resize and after mass
 * removal.
 */
import fc from 'fast-check';
import { SlotIndex } from './open-addressing.js';

/** A random-looking hash of a key, so that probe chains form; few `bits` make nearly all collide. */
function hashOf(key: number, bits: number): number {
  let hash = Math.imul(key + 1, 0x9e3779b1);
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
  return ((hash ^ (hash >>> 13)) >>> 0) % 2 ** bits;
}

describe('SlotIndex', () => {
  it('agrees with a map under inserts, removals and lookups', () => {
    const move = fc.tuple(fc.constantFrom('add', 'add', 'remove', 'find'), fc.nat(120));
    fc.assert(
      fc.property(fc.array(move, { maxLength: 400 }), fc.constantFrom(1, 4, 32), (moves, bits) => {
        const index = new SlotIndex();
        const keys: number[] = [];
        const model = new Map<number, number>();
        const find = (key: number): number =>
          index.find(hashOf(key, bits), { matches: (slot) => keys[slot] === key });
        for (const [what, key] of moves) {
          const slot = model.get(key);
          expect(find(key)).toBe(slot ?? -1);
          if (what === 'add' && slot === undefined) {
            keys.push(key);
            model.set(key, keys.length - 1);
            index.insert(hashOf(key, bits), keys.length - 1);
          }
          if (what === 'remove') {
            expect(index.remove(hashOf(key, bits), slot ?? 9999)).toBe(slot !== undefined);
            model.delete(key);
          }
          expect(index.size).toBe(model.size);
        }
        for (let key = 0; key <= 120; key++) expect(find(key)).toBe(model.get(key) ?? -1);
      }),
      { numRuns: 300 },
    );
  });

  it('finds everything in the middle of a resize and shrinks after mass removal', () => {
    const index = new SlotIndex();
    const find = (key: number): number =>
      index.find(hashOf(key, 32), { matches: (slot) => slot === key });
    let resizing = 0;
    for (let key = 0; key < 60_000; key++) {
      index.insert(hashOf(key, 32), key);
      if (index.isResizing) {
        resizing += 1;
        if (key % 97 === 0) expect([find(0), find(key), find(key + 1)]).toEqual([0, key, -1]);
      }
    }
    expect(resizing).toBeGreaterThan(100);
    const count = (test: (key: number) => boolean): number =>
      Array.from({ length: 60_000 }, (_, key) => key).filter(test).length;
    expect(count((key) => find(key) === key)).toBe(60_000);
    const peakBytes = index.sizeBytes;
    expect(count((key) => index.remove(hashOf(key, 32), key))).toBe(60_000);
    for (let key = 0; key < 200_000; key++) {
      index.insert(hashOf(key, 32), key);
      index.remove(hashOf(key, 32), key);
    }
    expect(index.size).toBe(0);
    expect(index.sizeBytes).toBeLessThan(peakBytes / 8);
    index.clear();
    expect(find(1)).toBe(-1);
  });

  it('loses no entry at any step of a resize', () => {
    const index = new SlotIndex();
    let lost = 0;
    for (let key = 0; key < 4000; key++) {
      index.insert(hashOf(key, 32), key);
      if (!index.isResizing) continue;
      for (let known = 0; known <= key; known++) {
        if (index.find(hashOf(known, 32), { matches: (slot) => slot === known }) !== known)
          lost += 1;
      }
    }
    expect(lost).toBe(0);
  });

  it('refuses slots outside its range', () => {
    expect(() => new SlotIndex().insert(1, -1)).toThrow('slot out of range');
  });
});
