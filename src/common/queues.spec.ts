/**
 * Ring buffer, indexed heap and intrusive list against arrays under random moves.
 */
import fc from 'fast-check';
import { IndexedHeap } from './binary-heap.js';
import { Fifo, type FifoNode } from './fifo.js';
import { RingBuffer } from './ring-buffer.js';

describe('RingBuffer', () => {
  it('agrees with an array', () => {
    const move = fc.tuple(
      fc.constantFrom('push', 'push', 'unshift', 'shift', 'pop', 'drop'),
      fc.nat(9),
    );
    fc.assert(
      fc.property(fc.array(move, { maxLength: 200 }), (moves) => {
        const ring = new RingBuffer<number>();
        const model: number[] = [];
        for (const [what, value] of moves) {
          if (what === 'push') {
            ring.push(value);
            model.push(value);
          } else if (what === 'unshift') {
            ring.unshift(value);
            model.unshift(value);
          } else if (what === 'drop') {
            ring.drop(value);
            model.splice(0, value);
          } else expect(ring[what]()).toBe(model[what]());
          expect([ring.length, ring.first, ring.last]).toEqual([
            model.length,
            model[0],
            model.at(-1),
          ]);
        }
        expect([...ring]).toEqual(model);
        expect(ring.at(1)).toBe(model[1]);
        expect(ring.at(model.length)).toBeUndefined();
      }),
    );
  });

  it('has a bound', () => {
    const ring = new RingBuffer<number>(2);
    ring.push(1);
    ring.push(2);
    expect(ring.isFull).toBe(true);
    expect(() => ring.push(3)).toThrow('over its bound');
    ring.clear();
    expect(ring.length).toBe(0);
  });
});

describe('IndexedHeap', () => {
  it('agrees with a sorted list under set, remove and take', () => {
    const move = fc.tuple(fc.constantFrom('set', 'set', 'remove', 'take'), fc.nat(30), fc.nat(12));
    fc.assert(
      fc.property(fc.array(move, { maxLength: 200 }), (moves) => {
        const heap = new IndexedHeap();
        const model = new Map<number, number>();
        const first = (): [number, number] | undefined =>
          [...model].sort(([slotA, a], [slotB, b]) => a - b || slotA - slotB)[0];
        for (const [what, slot, key] of moves) {
          if (what === 'set') {
            heap.set(slot, key);
            model.set(slot, key);
          } else if (what === 'remove') {
            expect(heap.remove(slot)).toBe(model.delete(slot));
          } else {
            const expected = first();
            expect(heap.takeFirst()).toBe(expected?.[0] ?? -1);
            if (expected !== undefined) model.delete(expected[0]);
          }
          expect([heap.size, heap.has(slot), heap.keyOf(slot)]).toEqual([
            model.size,
            model.has(slot),
            model.get(slot),
          ]);
          expect([heap.firstSlot, heap.firstKey]).toEqual(first() ?? [-1, Infinity]);
        }
        const drained: number[] = [];
        while (heap.size > 0) drained.push(heap.takeFirst());
        expect(drained).toEqual(
          [...model].sort(([slotA, a], [slotB, b]) => a - b || slotA - slotB).map(([slot]) => slot),
        );
        heap.clear();
        expect(heap.firstSlot).toBe(-1);
      }),
      { numRuns: 300 },
    );
  });
});

class Node implements FifoNode<Node> {
  fifo: unknown = undefined;
  fifoNext: Node | undefined = undefined;
  fifoPrevious: Node | undefined = undefined;

  constructor(readonly id: number) {}
}

describe('Fifo', () => {
  it('agrees with an array, removal from any place included', () => {
    const move = fc.tuple(fc.constantFrom('push', 'unshift', 'shift', 'remove'), fc.nat(15));
    fc.assert(
      fc.property(fc.array(move, { maxLength: 150 }), (moves) => {
        const nodes = Array.from({ length: 16 }, (_, id) => new Node(id));
        const list = new Fifo<Node>();
        const model: number[] = [];
        for (const [what, id] of moves) {
          const node = nodes[id]!;
          if (what === 'shift') expect(list.shift()?.id).toBe(model.shift());
          else if (what === 'remove') {
            expect(list.remove(node)).toBe(model.includes(id));
            if (model.includes(id)) model.splice(model.indexOf(id), 1);
          } else if (model.includes(id)) {
            expect(() => list[what](node)).toThrow('in a list already');
          } else {
            list[what](node);
            model[what](id);
          }
          expect([...list].map((held) => held.id)).toEqual(model);
          expect([list.size, list.first?.id, list.last?.id, list.has(node)]).toEqual([
            model.length,
            model[0],
            model.at(-1),
            model.includes(id),
          ]);
        }
      }),
    );
  });

  it('iterates while elements leave', () => {
    const list = new Fifo<Node>();
    for (let id = 0; id < 5; id++) list.push(new Node(id));
    const seen: number[] = [];
    for (const node of list) {
      seen.push(node.id);
      list.remove(node);
    }
    expect(seen).toEqual([0, 1, 2, 3, 4]);
    expect(list.size).toBe(0);
  });
});
