/** The segmented hash index against a model of a plain Map, through growth and removal. */
import fc from 'fast-check';
import { DirtySlots } from './dirty-slots.js';
import { IdIndex } from './id-index.js';
import { RecordPages } from './record-pages.js';
import { mix, SegmentedIndex } from './segmented-index.js';

function candidates(index: SegmentedIndex, hash: number): number[] {
  const slots: number[] = [];
  for (let slot = index.first(hash); slot >= 0; slot = index.next()) slots.push(slot);
  return slots;
}

describe('SegmentedIndex', () => {
  it('finds exactly what was added and not removed, with crowded hashes', () => {
    // Few hashes in two segments and near the end of the positions: long runs that wrap around.
    const hashes = [0, 1, 5, 6, 7, 0x0000_0407, 0xffff_fffe, 0xffff_ffff, 0xffc0_0007];
    const step = fc.tuple(fc.boolean(), fc.nat(hashes.length - 1), fc.nat(200));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const hashOf = new Map<number, number>();
        const index = new SegmentedIndex();
        for (const [add, at, slot] of steps) {
          const held = hashOf.get(slot);
          if (add && held === undefined) {
            hashOf.set(slot, hashes[at]!);
            index.add(hashes[at]!, slot);
          } else if (!add && held !== undefined) {
            index.remove(held, slot);
            hashOf.delete(slot);
          }
        }
        for (const hash of hashes) {
          const wanted = [...hashOf].filter(([, h]) => h === hash).map(([slot]) => slot);
          const found = candidates(index, hash).filter((slot) => hashOf.get(slot) === hash);
          expect(found.sort((a, b) => a - b)).toEqual(wanted.sort((a, b) => a - b));
        }
      }),
    );
  });

  it('holds a segment that hashes crowd beyond its tags', () => {
    const index = new SegmentedIndex();
    for (let slot = 0; slot < 120_000; slot++) index.add(slot & 0xffff, slot);
    for (let slot = 0; slot < 50_000; slot++) index.remove(slot & 0xffff, slot);
    expect(candidates(index, 3)).toEqual([65_539]);
    expect(candidates(index, 65_535)).toEqual([65_535]);
    expect(candidates(index, 54_464)).toEqual([54_464]);
  });

  it('replaces a slot in place and refuses to remove what it does not hold', () => {
    const index = new SegmentedIndex();
    index.add(9, 4);
    index.replace(9, 4, 8);
    expect(candidates(index, 9)).toEqual([8]);
    expect(() => index.remove(9, 4)).toThrow('not in the index');
    index.remove(9, 8);
    expect(candidates(index, 9)).toEqual([]);
    expect(() => index.remove(9, 8)).toThrow('not in the index');
  });

  it('shrinks again and stays small', () => {
    const index = new SegmentedIndex();
    for (let slot = 0; slot < 100_000; slot++) index.add(mix(slot, 1), slot);
    expect(index.sizeBytes / 100_000).toBeLessThan(16.1);
    for (let slot = 0; slot < 100_000; slot++) index.remove(mix(slot, 1), slot);
    expect(index.sizeBytes).toBe(0);
  });
});

describe('IdIndex', () => {
  it('holds ids of any size and drops empty pages', () => {
    const index = new IdIndex();
    const ids = [1, 8191, 8192, 2 ** 40, 2 ** 40 + 1];
    ids.forEach((id, slot) => index.add(id, slot));
    expect(ids.map((id) => index.find(id))).toEqual([0, 1, 2, 3, 4]);
    expect([0, 2, -1, 2 ** 41, Number.NaN, 0.5].map((id) => index.find(id))).toEqual(
      new Array(6).fill(-1),
    );
    for (const id of ids) index.remove(id);
    index.remove(1);
    expect(index.sizeBytes).toBe(0);
  });
});

describe('RecordPages', () => {
  it('reuses the slot freed last and hands it out zeroed', () => {
    const records = new RecordPages(32, 7);
    const slots = Array.from({ length: 5000 }, () => records.allocate());
    expect(slots).toEqual(slots.map((_, i) => i));
    records.setDouble(4999, 0, 1e15);
    records.setInt(4999, 6, -5);
    records.setId(4999, 8, new Uint8Array(16).fill(3));
    expect([records.double(4999, 0), records.int(4999, 6)]).toEqual([1e15, -5]);
    expect(records.idEquals(4999, 8, new Uint8Array(16).fill(3))).toBe(true);
    expect(records.idEquals(4999, 8, new Uint8Array(15).fill(3))).toBe(false);
    records.release(17);
    records.release(4999);
    expect([records.allocate(), records.allocate(), records.allocate()]).toEqual([4999, 17, 5000]);
    expect([records.double(4999, 0), records.int(4999, 6), records.int(4999, 7)]).toEqual([
      0, 0, 0,
    ]);
    expect(() => records.int(1_000_000, 0)).toThrow();
  });
});

describe('DirtySlots', () => {
  it('visits each marked slot once, in order of marking', () => {
    const dirty = new DirtySlots();
    const visited: number[] = [];
    for (const slot of [3, 70_000, 3, 1, 31, 32, 1]) dirty.mark(slot);
    dirty.unmark(31);
    dirty.unmark(1);
    dirty.mark(1);
    dirty.unmark(9_999_999);
    dirty.drain((slot) => visited.push(slot));
    expect(visited).toEqual([3, 70_000, 1, 32]);
    dirty.drain((slot) => visited.push(slot));
    expect(visited.length).toBe(4);
    for (let slot = 0; slot < 200_000; slot++) dirty.mark(slot);
    let count = 0;
    dirty.drain(() => count++);
    expect(count).toBe(200_000);
  });
});
