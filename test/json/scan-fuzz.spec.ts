/**
 * Fuzzing: the scanner accepts exactly what JSON.parse accepts (but for depth, byte order mark and
 * invalid UTF-8) and its slices parse to what was sent.
 */
import fc from 'fast-check';
import { JsonCursor } from '../../src/common/json/json-cursor.js';
import { skipValue } from '../../src/common/json/json-scan.js';
import { decodeString, hasEscape, unescapeInto } from '../../src/common/json/json-text.js';
import { MAX_DEPTH } from '../../src/common/json/json-syntax.js';
import { PushScan } from '../../src/common/json/push-scan.js';
import { PushScanner } from '../../src/common/json/push-scanner.js';

const cursor = new JsonCursor();
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function accepts(bytes: Uint8Array): boolean {
  cursor.reset(bytes);
  cursor.skip();
  return cursor.finish();
}

/** What JSON.parse says of valid UTF-8 without a byte order mark. */
function parses(bytes: Uint8Array): boolean {
  try {
    const text = strict.decode(bytes);
    if (text.startsWith('\ufeff')) return false;
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function depthOf(bytes: Uint8Array): number {
  let depth = 0;
  let most = 0;
  for (const byte of bytes) {
    if (byte === 0x5b || byte === 0x7b) most = Math.max(most, ++depth);
    if (byte === 0x5d || byte === 0x7d) depth -= 1;
  }
  return most;
}

/** Valid texts with a few bytes changed, removed or added. */
const broken = fc
  .tuple(
    fc.json({ maxDepth: 3 }),
    fc.array(fc.tuple(fc.nat(10_000), fc.nat(2), fc.nat(255)), { maxLength: 3 }),
  )
  .map(([text, edits]) => {
    const bytes = [...Buffer.from(text)];
    for (const [at, what, byte] of edits) {
      bytes.splice(at % (bytes.length + 1), what === 0 ? 0 : 1, ...(what === 1 ? [] : [byte]));
    }
    return Uint8Array.from(bytes);
  });

/** Words of JSON in random order: mostly wrong, sometimes right. */
const words = fc
  .array(
    fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '1',
      '-',
      '0',
      '.5',
      'e1',
      'E+',
      ' ',
      '\n',
      'true',
      'null',
      'fals',
      '\\',
      '\\u00',
      '\\ud800',
      '"\\n"',
      'ä',
      '\u0001',
      '{"a":1}',
      '[1,2]',
    ),
    { maxLength: 10 },
  )
  .map((list) => new TextEncoder().encode(list.join('')));

describe('the scanner against JSON.parse', () => {
  it.each([
    ['broken texts', broken],
    ['random words', words],
    ['random bytes', fc.uint8Array({ maxLength: 6 })],
  ])('accepts exactly the same of %s', (_name, arbitrary) => {
    fc.assert(
      fc.property(arbitrary, (bytes) => {
        if (depthOf(bytes) > MAX_DEPTH) return;
        expect(accepts(bytes)).toBe(parses(bytes));
      }),
      { numRuns: 4000 },
    );
  });

  it('accepts numbers and strings exactly like JSON.parse', () => {
    const number = fc.array(fc.constantFrom('-', '+', '0', '1', '9', '.', 'e', 'E'), {
      maxLength: 8,
    });
    const string = fc.array(
      fc.constantFrom('"', '\\', '/', 'u', 'D8', '00', 'n', 'x', 'é', '\u0000', 'F', 'abcd'),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(number, string, (digits, letters) => {
        for (const text of [digits.join(''), `"${letters.join('')}"`, `[${digits.join('')}]`]) {
          const bytes = new TextEncoder().encode(text);
          expect([text, accepts(bytes)]).toEqual([text, parses(bytes)]);
        }
      }),
      { numRuns: 8000 },
    );
  });

  it('finds the end of a value whatever follows', () => {
    fc.assert(
      fc.property(
        fc.json({ maxDepth: 4 }),
        fc.constantFrom('', ' ', ',', '}', ']x'),
        (text, after) => {
          const value = new TextEncoder().encode(text);
          const bytes = new TextEncoder().encode(text + after);
          // A number cannot know its end before a byte that could go on; none of these can.
          expect(skipValue(bytes, 0, bytes.length)).toBe(value.length);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('slices payloads that parse to what was sent', () => {
    const scanner = new PushScanner();
    const scan = new PushScan();
    fc.assert(
      fc.property(
        fc.array(fc.json({ maxDepth: 4, stringUnit: 'binary' }), { maxLength: 8 }),
        fc.nat(2),
        (payloads, spaces) => {
          const space = ' '.repeat(spaces);
          const items = payloads.map(
            (text) => `{"queue":"q",${space}"payload":${space}${text}${space}}`,
          );
          const body = new TextEncoder().encode(`{"items":[${items.join(`${space},`)}]}`);
          expect(scanner.scanBody(body, scan)).toBeUndefined();
          expect(scan.count).toBe(payloads.length);
          payloads.forEach((text, i) => {
            const slice = strict.decode(body.subarray(scan.payloadStarts[i], scan.payloadEnds[i]));
            expect(slice).toBe(text);
          });
        },
      ),
      { numRuns: 500 },
    );
  });

  it('decodes strings like JSON.parse, and to UTF-8 when they are Unicode', () => {
    const unit = fc.oneof(fc.nat(0xff), fc.integer({ min: 0xd7ff, max: 0xe001 }), fc.nat(0xffff));
    const escaped = fc.tuple(
      fc.array(unit, { maxLength: 12 }),
      fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
    );
    fc.assert(
      fc.property(escaped, ([units, choices]) => {
        const text = units
          .map((code, i) =>
            choices[i] || (code >= 0xd800 && code < 0xe000)
              ? `\\u${code.toString(16).padStart(4, '0')}`
              : JSON.stringify(String.fromCharCode(code)).slice(1, -1),
          )
          .join('');
        const bytes = new TextEncoder().encode(`"${text}"`);
        expect(accepts(bytes)).toBe(true);
        const expected = JSON.parse(`"${text}"`) as string;
        expect(decodeString(bytes, 1, bytes.length - 1)).toBe(expected);
        const target = new Uint8Array(bytes.length);
        const end = unescapeInto(bytes, 1, bytes.length - 1, target, 0);
        if (/\p{Surrogate}/u.test(expected)) expect(end).toBe(-1);
        else expect(strict.decode(target.subarray(0, end))).toBe(expected);
        expect(hasEscape(bytes, 1, bytes.length - 1)).toBe(text.includes('\\'));
      }),
      { numRuns: 3000 },
    );
  });
});
