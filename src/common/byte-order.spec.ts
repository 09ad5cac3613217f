/** The order of texts is that of their UTF-8 bytes, for any text. */
import fc from 'fast-check';
import { compareBytes } from './byte-order.js';

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('a', 'b', '\u00e9', '\ud7ff', '\ue000', '\uffff', '\u{1f600}'),
  }),
);

it('is the order of the bytes', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      expect(Math.sign(compareBytes(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});

it('differs from the order of JavaScript where surrogates meet high units', () => {
  const [high, pair] = ['\uffff', '\u{1f600}'];
  expect([high < pair, compareBytes(high, pair) < 0]).toEqual([false, true]);
});
