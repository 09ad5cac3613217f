/** Decimals against BigInt: sums and order are exact as long as they fit, and rendered shortest. */
import fc from 'fast-check';
import {
  addDecimals,
  compareDecimals,
  decimalText,
  isJsonNumber,
  parseDecimal,
} from './decimal.js';

const sum = (a: string, b: string): string =>
  decimalText(addDecimals(parseDecimal(a)!, parseDecimal(b)!));

describe('sums', () => {
  it.each([
    ['0.1', '0.2', '0.3'],
    ['2.50', '0', '2.5'],
    ['1e3', '0', '1000'],
    ['-0', '0', '0'],
    ['-0.0', '-0', '0'],
    ['1.5', '-1.5', '0'],
    ['9007199254740993', '0', '9007199254740993'],
    ['9007199254740993', '1e-3', '9007199254740993.001'],
    ['12345678901234567890', '1', '12345678901234567891'],
    ['170141183460469231731687303715884105726', '1', '170141183460469231731687303715884105727'],
    ['170141183460469231731687303715884105727', '1', '1.7014118346046923e38'],
    ['-170141183460469231731687303715884105728', '0', '-170141183460469231731687303715884105728'],
    ['1e-38', '0', '0.00000000000000000000000000000000000001'],
    ['1e-39', '0', '1e-39'],
    ['1e308', '0', '1e308'],
    ['1E+2', '0', '100'],
    ['100e-2', '0', '1'],
    ['0e999999999', '1', '1'],
    ['1e30', '1e-10', '1e30'],
    [`1.${'0'.repeat(1000)}`, '1', '2'],
    ['1e22', '0', '10000000000000000000000'],
  ])('%s + %s = %s', (a, b, expected) => {
    expect(sum(a, b)).toBe(expected);
    expect(sum(b, a)).toBe(expected);
    expect(isJsonNumber(expected)).toBe(true);
  });

  it('beyond the doubles there is no number', () => {
    expect(addDecimals(parseDecimal('1.7e308')!, parseDecimal('1.7e308')!).double).toBe(Infinity);
  });
});

it.each(['', '+1', '01', '.5', '1.', '1e', 'NaN', ' 1', '1 ', '0x1', '1_0', '--1'])(
  '%j is no number',
  (text) => {
    expect(parseDecimal(text)).toBeUndefined();
  },
);

/** A decimal text of mantissa / 10^scale. */
function textOf(mantissa: bigint, scale: number): string {
  const digits = String(mantissa < 0n ? -mantissa : mantissa).padStart(scale + 1, '0');
  const point = digits.length - scale;
  const fraction = scale === 0 ? '' : `.${digits.slice(point)}`;
  return `${mantissa < 0n ? '-' : ''}${digits.slice(0, point)}${fraction}`;
}

const mantissa = fc.bigInt({ min: -(10n ** 18n), max: 10n ** 18n });
const scale = fc.integer({ min: 0, max: 15 });

it('sums and compares like BigInt on a common scale', () => {
  fc.assert(
    fc.property(mantissa, scale, mantissa, scale, (a, aScale, b, bScale) => {
      const common = Math.max(aScale, bScale);
      const left = a * 10n ** BigInt(common - aScale);
      const right = b * 10n ** BigInt(common - bScale);
      const [x, y] = [textOf(a, aScale), textOf(b, bScale)];
      const expected = textOf(left + right, common).replace(/\.?0+$/, (zeros) =>
        common === 0 ? zeros : '',
      );
      expect(sum(x, y)).toBe(expected === '-0' || expected === '' ? '0' : expected);
      const order = Math.sign(compareDecimals(parseDecimal(x)!, parseDecimal(y)!));
      expect(order).toBe(left < right ? -1 : left > right ? 1 : 0);
    }),
  );
});

it('renders what parses to the same number again, without trailing zeros', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const text = sum(JSON.stringify(value), '0');
      expect(Number(text)).toBe(value === 0 ? 0 : value);
      expect(text).not.toMatch(/\.\d*0$/);
      expect(isJsonNumber(text)).toBe(true);
    }),
  );
});
