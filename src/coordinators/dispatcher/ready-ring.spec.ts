/** The ring of claimable partitions against a queue and a set: order, membership, growth. */
import fc from 'fast-check';
import { ReadyRing } from './ready-ring.js';

describe('ready ring', () => {
  it('is a FIFO that holds each slot once', () => {
    const operations = fc.array(fc.oneof(fc.nat(300), fc.constant(-1)), { maxLength: 400 });
    fc.assert(
      fc.property(operations, (steps) => {
        const ring = new ReadyRing();
        const model: number[] = [];
        for (const step of steps) {
          if (step < 0) {
            expect(ring.shift()).toBe(model.shift() ?? -1);
          } else {
            expect(ring.push(step)).toBe(!model.includes(step));
            if (!model.includes(step)) model.push(step);
          }
          expect(ring.size).toBe(model.length);
        }
        for (const slot of model) expect(ring.has(slot)).toBe(true);
        for (const slot of model) expect(ring.shift()).toBe(slot);
        expect(ring.shift()).toBe(-1);
      }),
    );
  });

  it('takes slots of any size', () => {
    const ring = new ReadyRing();
    expect(ring.push(3_000_000)).toBe(true);
    expect(ring.has(3_000_000)).toBe(true);
    expect(ring.has(2_999_999)).toBe(false);
    expect(ring.shift()).toBe(3_000_000);
  });
});
