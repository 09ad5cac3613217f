/** Query strings and their two ways of reading values, table by table. */
import {
  lenientInteger,
  parseQuery,
  QueryTextError,
  strictBoolean,
  strictInt32,
  strictUint,
  textOrUndefined,
} from './query.js';

describe('parseQuery', () => {
  it.each([
    ['', {}],
    ['a=1', { a: '1' }],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=1&a=2', { a: '2' }],
    ['a', { a: '' }],
    ['a=', { a: '' }],
    ['=x', { '': 'x' }],
    ['&&a=1&', { a: '1' }],
    ['a=b=c', { a: 'b=c' }],
    ['a=x+y%20z', { a: 'x y z' }],
    ['a%20b=1', { 'a b': '1' }],
    ['a=%e2%82%ac', { a: '\u20ac' }],
    ['a=%zz&b=%', { a: '%zz', b: '%' }],
    ['a=%ff', { a: '%ff' }],
    ['__proto__=1&constructor=2', { ['__proto__']: '1', constructor: '2' }],
  ])('%j', (text, expected) => {
    const parsed = parseQuery(text);
    expect(Object.entries(parsed)).toEqual(Object.entries(expected));
    expect(Object.getPrototypeOf(parsed)).toBeNull();
  });
});

describe('strict values', () => {
  const INT32: readonly [string, number | null][] = [
    ['0', 0],
    ['-0', -0],
    ['+7', 7],
    ['007', 7],
    ['2147483647', 2_147_483_647],
    ['2147483648', null],
    ['-2147483648', -2_147_483_648],
    ['-2147483649', null],
    ['', null],
    [' 1', null],
    ['1.0', null],
    ['1e3', null],
    ['0x1', null],
    ['NaN', null],
    ['\u0661', null],
  ];

  it.each(INT32)('int32 %j is %s', (text, expected) => {
    const read = () => strictInt32({ x: text }, 'x', 5);
    if (expected === null) expect(read).toThrow(QueryTextError);
    else expect(read()).toBe(expected);
  });

  it.each([
    ['0', 0],
    ['18446744073709551615', 18_446_744_073_709_551_615],
    ['18446744073709551616', null],
    ['-1', null],
    ['+1', 1],
    ['', null],
    ['1'.repeat(400), null],
  ])('uint %j is %s', (text, expected) => {
    const read = () => strictUint({ x: text }, 'x');
    if (expected === null) expect(read).toThrow(QueryTextError);
    else expect(read()).toBe(expected);
  });

  it.each([
    ['true', true],
    ['false', false],
    ['TRUE', null],
    ['1', null],
    ['', null],
    [' true', null],
  ])('boolean %j is %s', (text, expected) => {
    const read = () => strictBoolean({ x: text }, 'x');
    if (expected === null) expect(read).toThrow(QueryTextError);
    else expect(read()).toBe(expected);
  });

  it('absent values are the fallback', () => {
    expect([strictInt32({}, 'x', 5), strictUint({}, 'x'), strictBoolean({}, 'x')]).toEqual([
      5,
      undefined,
      undefined,
    ]);
  });

  it('the refusal names the parameter', () => {
    expect(() => strictInt32({ batch: 'x' }, 'batch', 1)).toThrow(/batch/);
  });
});

describe('lenient values', () => {
  const rule = { fallback: 10, min: 1, max: 100 };

  it.each([
    [undefined, 10],
    ['', 10],
    ['x', 10],
    ['1.5', 10],
    ['0', 1],
    ['-5', 1],
    ['50', 50],
    ['101', 100],
    ['9'.repeat(50), 100],
  ])('%j is %i', (text, expected) => {
    expect(lenientInteger({ x: text }, 'x', rule)).toBe(expected);
  });

  it('an empty text counts as absent', () => {
    expect(textOrUndefined({ x: '' }, 'x')).toBeUndefined();
    expect(textOrUndefined({ x: ' ' }, 'x')).toBe(' ');
  });
});
