/** What is taken out of an error, in its order. */
import { signatureOf } from './dlq-signatures.js';

it.each([
  ['', '(no message)'],
  ['   ', '(no message)'],
  ['order 17 of 3', 'order <n> of <n>'],
  ['id 0199c0de-0000-7000-8000-00000000002a gone', 'id <id> gone'],
  ['hash deadbeefdeadbeefdead', 'hash <id>'],
  ['v12 is kept', 'v12 is kept'],
  ['at 2026-03-04T05:06:07.123Z and 2026-03-04', 'at <date> and <date>'],
  ['a\n  b\tc', 'a b c'],
  ['x'.repeat(200), 'x'.repeat(120)],
])('%j reads as %j', (error, signature) => {
  expect(signatureOf(error)).toBe(signature);
});
