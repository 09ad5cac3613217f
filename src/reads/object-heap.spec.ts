/** The heap against a sorted array. */
import fc from 'fast-check';
import { ObjectHeap } from './object-heap.js';

it('gives rows back in order, whatever went in between', () => {
  const steps = fc.array(fc.oneof(fc.nat(50), fc.constant(null)), { maxLength: 80 });
  fc.assert(
    fc.property(steps, (script) => {
      const heap = new ObjectHeap<{ n: number }>((a, b) => a.n > b.n);
      const model: number[] = [];
      for (const step of script) {
        if (step === null) {
          model.sort((a, b) => b - a);
          expect(heap.pop()?.n).toBe(model.shift());
        } else {
          heap.push({ n: step });
          model.push(step);
        }
        expect(heap.size).toBe(model.length);
        expect(heap.first?.n).toBe(model.length === 0 ? undefined : Math.max(...model));
      }
    }),
  );
});
