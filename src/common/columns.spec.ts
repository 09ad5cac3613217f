/**
 * Columns, slots and the byte arena against maps and sets under random writes, frees and reuse.
 */
import fc from 'fast-check';
import { ByteArena } from './byte-arena.js';
import {
  BytesColumn,
  Float64Column,
  Int32Column,
  Uint32Column,
  Uint8Column,
} from './paged-column.js';
import { SlotAllocator } from './slot-allocator.js';

describe('paged columns', () => {
  it.each([
    [new Float64Column(-1), -1, 2 ** 53 - 1],
    [new Uint32Column(), 0, 2 ** 32 - 1],
    [new Int32Column(-1), -1, -(2 ** 31)],
    [new Uint8Column(9), 9, 255],
  ])('%p keeps values across pages', (column, initial, extreme) => {
    const slots = [0, 1, 255, 256, 65_535, 65_536, 200_000, 131_072];
    for (const slot of slots) expect(column.get(slot)).toBe(initial);
    slots.forEach((slot, index) => column.set(slot, index === 0 ? extreme : index));
    slots.forEach((slot, index) => expect(column.get(slot)).toBe(index === 0 ? extreme : index));
    expect(column.get(300)).toBe(initial);
    expect(column.get(10_000_000)).toBe(initial);
    expect(column.capacity).toBe(4 * 65_536);
    column.clear();
    expect(column.get(0)).toBe(initial);
  });

  it('agrees with a map under random writes', () => {
    const slot = fc.oneof(fc.nat(400), fc.nat(150_000));
    fc.assert(
      fc.property(fc.array(fc.tuple(slot, fc.integer()), { maxLength: 60 }), (writes) => {
        const column = new Int32Column(7);
        const model = new Map<number, number>();
        for (const [at, value] of writes) {
          column.set(at, value);
          model.set(at, value);
        }
        for (const [at] of writes) expect(column.get(at)).toBe(model.get(at));
        expect(column.get(77_777)).toBe(model.get(77_777) ?? 7);
      }),
      { numRuns: 50 },
    );
  });

  it('starts small', () => {
    const column = new Float64Column();
    column.set(3, 1);
    expect(column.capacity).toBe(256);
  });

  it('holds fixed-width bytes', () => {
    const column = new BytesColumn(3);
    const out = new Uint8Array(5);
    column.write(70_000, Uint8Array.of(9, 1, 2, 3), 1);
    column.write(2, Uint8Array.of(4, 5, 6), 0);
    column.read(70_000, out, 1);
    expect([...out]).toEqual([0, 1, 2, 3, 0]);
    expect(column.equals(2, Uint8Array.of(4, 5, 6), 0)).toBe(true);
    expect(column.equals(2, Uint8Array.of(4, 5, 7), 0)).toBe(false);
    expect(column.equals(9_999_999, new Uint8Array(3), 0)).toBe(true);
    column.clear();
    column.read(2, out, 0);
    expect([...out.subarray(0, 3)]).toEqual([0, 0, 0]);
  });
});

describe('SlotAllocator', () => {
  it('gives each live slot once and reuses freed ones', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(99), { maxLength: 200 }), (moves) => {
        const slots = new SlotAllocator();
        const live = new Set<number>();
        let most = 0;
        for (const move of moves) {
          if (move < 60 || live.size === 0) live.add(slots.allocate());
          else {
            const slot = [...live][move % live.size]!;
            live.delete(slot);
            slots.release(slot);
          }
          most = Math.max(most, live.size);
          expect(slots.liveCount).toBe(live.size);
        }
        expect(slots.slotCount).toBe(most);
        const walked: number[] = [];
        for (let s = slots.nextLive(0); s >= 0; s = slots.nextLive(s + 1)) walked.push(s);
        expect(walked).toEqual([...live].sort((a, b) => a - b));
      }),
    );
  });

  it('refuses double release and more than its bound', () => {
    const slots = new SlotAllocator(1);
    const slot = slots.allocate();
    expect(slots.isFull).toBe(true);
    expect(() => slots.allocate()).toThrow('no slot left');
    slots.release(slot);
    expect(() => slots.release(slot)).toThrow('not live');
    expect(slots.isLive(-1)).toBe(false);
  });
});

describe('ByteArena', () => {
  it('keeps names under create and delete churn', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.string({ maxLength: 3 }),
    );
    const move = fc.record({ remove: fc.boolean(), pick: fc.nat(50), name });
    fc.assert(
      fc.property(fc.array(move, { maxLength: 150 }), (moves) => {
        const arena = new ByteArena();
        const model: Array<{ ref: number; text: string }> = [];
        for (const { remove, pick, name: text } of moves) {
          if (remove && model.length > 0) {
            arena.release(model.splice(pick % model.length, 1)[0]!.ref);
          } else model.push({ ref: arena.appendText(text), text });
          for (const held of model) {
            const bytes = new TextEncoder().encode(held.text);
            expect(arena.equals(held.ref, bytes, 0, bytes.length)).toBe(true);
            expect(arena.lengthAt(held.ref)).toBe(bytes.length);
          }
        }
        for (const held of model) {
          expect(arena.text(held.ref)).toBe(new TextDecoder().decode(arena.bytes(held.ref)));
        }
        expect(new Set(model.map((held) => held.ref)).size).toBe(model.length);
        model.forEach((held) => arena.release(held.ref));
        expect(arena.liveBytes).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  it('reuses holes and crosses chunks', () => {
    const arena = new ByteArena();
    const refs = Array.from({ length: 40_000 }, (_, i) =>
      arena.appendText(`${i}`.padStart(60, 'n')),
    );
    const held = arena.allocatedBytes;
    expect(held).toBeGreaterThan(2 << 20);
    refs.forEach((ref) => arena.release(ref));
    const again = refs.map((_, i) => arena.appendText(`${i}`.padStart(60, 'm')));
    expect(arena.allocatedBytes).toBe(held);
    again.forEach((ref, i) => expect(arena.text(ref)).toBe(`${i}`.padStart(60, 'm')));
  });

  it('starts small and takes the longest name', () => {
    const arena = new ByteArena();
    arena.append(Uint8Array.of(1));
    expect(arena.allocatedBytes).toBe(4096);
    const long = new Uint8Array(65_535).fill(7);
    const ref = arena.append(long);
    expect(arena.bytes(ref)).toEqual(long);
    arena.release(ref);
    expect(() => arena.append(new Uint8Array(65_536))).toThrow('too long');
    arena.clear();
    expect(arena.allocatedBytes).toBe(0);
  });

  it('compares by bytes', () => {
    const arena = new ByteArena();
    const [a, ab, b] = ['a', 'ab', 'b'].map((text) => arena.appendText(text)) as [
      number,
      number,
      number,
    ];
    expect(arena.compare(a, ab)).toBeLessThan(0);
    expect(arena.compare(b, ab)).toBeGreaterThan(0);
    expect(arena.compare(ab, arena.appendText('ab'))).toBe(0);
  });
});
