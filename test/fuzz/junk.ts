/** Values nobody expects: strings, numbers and JSON of every wrong kind, and bodies that are no JSON. */
import fc from 'fast-check';

/** Names the other requests of a run use too, so that calls meet state. */
const NAMES = ['orders', 'billing', 'customer-9', 'q', 'a', 'Default', 'g', '__QUEUE_MODE__', '1'];

const ODD_STRINGS = [
  '',
  ' ',
  '%',
  '%00',
  '\u0000',
  '..',
  '../..',
  '/',
  'a/b',
  '__proto__',
  'constructor',
  'null',
  'NaN',
  'true',
  '-1',
  '0',
  '18446744073709551615',
  '99999999999999999999',
  '1e400',
  '2026-01-02T03:04:05Z',
  '0000-00-00T00:00:00Z',
  '00000000-0000-0000-0000-000000000001',
  '00000000-0000-0000-0000-000000000000',
  '\ud800',
  '\u{1f600}'.repeat(120),
  'x'.repeat(447),
  'x'.repeat(448),
  'x'.repeat(5_000),
];

export const nameValue = (): fc.Arbitrary<string> => fc.constantFrom(...NAMES);

export const stringValue = (): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 4, arbitrary: nameValue() },
    { weight: 2, arbitrary: fc.constantFrom(...ODD_STRINGS) },
    { weight: 2, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
    { weight: 1, arbitrary: fc.uuid() },
  );

export const numberValue = (): fc.Arbitrary<number> =>
  fc.oneof(
    fc.integer({ min: 0, max: 20 }),
    fc.constantFrom(-1, 0, 1, 0.5, -0.5, 1e-9, 2 ** 31, 2 ** 32, 2 ** 53, 1e21, 1e308, -1e308),
    fc.integer(),
  );

export const anyJson = (): fc.Arbitrary<unknown> =>
  fc.oneof(
    fc.constantFrom<unknown>(null, true, false, '', 0, -1, {}, [], [[]], [null], { a: {} }),
    stringValue(),
    numberValue(),
    fc.jsonValue({ maxDepth: 3 }),
  );

const NO_JSON = [
  '',
  ' ',
  '{',
  '[',
  '"',
  '{"a":',
  'nul',
  '{}{}',
  '\u0000',
  '01',
  '{"a":1,}',
  "{'a':1}",
];

/** Bodies as bytes: no JSON, no UTF-8, nested beyond reason, the same key twice. */
export const oddBody = (): fc.Arbitrary<Buffer> =>
  fc.oneof(
    fc.constantFrom(...NO_JSON).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(100, 5_000, 100_000).map((depth) => Buffer.from('['.repeat(depth))),
    fc
      .constantFrom(50, 2_000)
      .map((depth) => Buffer.from(`{"items":${'['.repeat(depth)}${']'.repeat(depth)}}`)),
    fc
      .tuple(stringValue(), anyJson(), anyJson())
      .map(([key, a, b]) => Buffer.from(`{${[a, b].map((v) => pair(key, v)).join(',')}}`)),
    fc.constant(Buffer.from('\u00ff\u00fe{"items":[]}', 'latin1')),
  );

const pair = (key: string, value: unknown): string =>
  `${JSON.stringify(key)}:${JSON.stringify(value) ?? 'null'}`;
