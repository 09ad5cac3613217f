/** The heap of lease ends against a sorted list: moves, removals, due order, one entry per cursor. */
import fc from 'fast-check';
import { ExpiryHeap } from './expiry-heap.js';

const STEPS = fc.array(
  fc.record({
    kind: fc.constantFrom('set', 'earlier', 'remove', 'take'),
    slot: fc.nat(40),
    due: fc.nat(1000),
  }),
  { maxLength: 300 },
);

interface Step {
  readonly kind: string;
  readonly slot: number;
  readonly due: number;
}

/** What the heap must hold, as a plain map. */
function step(model: Map<number, number>, heap: ExpiryHeap, next: Step): void {
  const { kind, slot, due } = next;
  if (kind === 'set') {
    heap.set(slot, due);
    model.set(slot, due);
  } else if (kind === 'earlier') {
    heap.setEarlier(slot, due);
    model.set(slot, Math.min(due, model.get(slot) ?? Infinity));
  } else if (kind === 'remove') {
    heap.remove(slot);
    model.delete(slot);
  } else {
    const taken = heap.takeDue(due);
    const earliest = Math.min(...model.values());
    if (earliest > due) expect(taken).toBe(-1);
    else expect(model.get(taken)).toBe(earliest);
    model.delete(taken);
  }
}

describe('expiry heap', () => {
  it('gives out what is due, earliest first, one entry per slot', () => {
    fc.assert(
      fc.property(STEPS, (steps) => {
        const heap = new ExpiryHeap();
        const model = new Map<number, number>();
        for (const next of steps) {
          step(model, heap, next);
          expect(heap.size).toBe(model.size);
          expect(heap.nextDue()).toBe(Math.min(...model.values()));
        }
      }),
    );
  });

  it('grows, and is empty after clear', () => {
    const heap = new ExpiryHeap();
    for (let slot = 0; slot < 2000; slot += 1) heap.set(slot, 2000 - slot);
    expect(heap.takeDue(1)).toBe(1999);
    heap.clear();
    expect(heap.size).toBe(0);
    heap.set(1998, 5);
    expect(heap.takeDue(4)).toBe(-1);
    expect(heap.takeDue(5)).toBe(1998);
  });
});
