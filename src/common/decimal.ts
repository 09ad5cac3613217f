/**
 * Decimal numbers as JSON writes them, added and compared exactly (state.md §1.3): a mantissa that fits
 * a signed 128-bit integer and at most 38 fractional digits. What does not fit is an IEEE double.
 * Texts must be JSON numbers; the result is rendered shortest, without trailing fractional zeros.
 */

const MAX_MANTISSA = 2n ** 127n - 1n;
const MIN_MANTISSA = -(2n ** 127n);
const MAX_SCALE = 38;
/** Significant digits beyond which no mantissa fits; keeps BigInt away from endless texts. */
const MAX_DIGITS = 39;
const JSON_NUMBER = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/** value = mantissa / 10^scale, without trailing fractional zeros. */
export interface ExactDecimal {
  readonly mantissa: bigint;
  readonly scale: number;
}

export interface Decimal {
  /** Null when only the double says what it is. */
  readonly exact: ExactDecimal | null;
  /** Infinite when the text is beyond the doubles. */
  readonly double: number;
}

export function isJsonNumber(text: string): boolean {
  return JSON_NUMBER.test(text);
}

/** Undefined when the text is no JSON number. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = JSON_NUMBER.exec(text);
  if (match === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  return { exact: exactOf(sign + whole, fraction, Number(exponent)), double: Number(text) };
}

/** The sum; `double` is infinite when it is beyond the doubles and not exact. */
export function addDecimals(a: Decimal, b: Decimal): Decimal {
  if (a.exact !== null && b.exact !== null) {
    const scale = Math.max(a.exact.scale, b.exact.scale);
    const exact = fitting(scaled(a.exact, scale) + scaled(b.exact, scale), scale);
    if (exact !== null) return { exact, double: Number(exactText(exact)) };
  }
  return { exact: null, double: a.double + b.double };
}

/** Below 0, 0 or above 0 like a − b. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.exact === null || b.exact === null) return a.double - b.double;
  const scale = Math.max(a.exact.scale, b.exact.scale);
  const difference = scaled(a.exact, scale) - scaled(b.exact, scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** A JSON number; the decimal must be finite. */
export function decimalText(decimal: Decimal): string {
  if (decimal.exact !== null) return exactText(decimal.exact);
  const text = String(decimal.double === 0 ? 0 : decimal.double);
  return text.replace('e+', 'e');
}

function exactOf(whole: string, fraction: string, exponent: number): ExactDecimal | null {
  const negative = whole.startsWith('-');
  const digits = ((negative ? whole.slice(1) : whole) + fraction).replace(/^0+/, '');
  if (digits === '') return { mantissa: 0n, scale: 0 };
  const kept = digits.replace(/0+$/, '');
  // kept × 10^-scale; a negative scale means zeros behind.
  const scale = fraction.length - exponent - (digits.length - kept.length);
  if (kept.length > MAX_DIGITS || scale > MAX_SCALE || scale < -MAX_DIGITS) return null;
  const mantissa = BigInt(kept) * (negative ? -1n : 1n);
  return scale >= 0 ? fitting(mantissa, scale) : fitting(mantissa * 10n ** BigInt(-scale), 0);
}

function scaled({ mantissa, scale }: ExactDecimal, to: number): bigint {
  return mantissa * 10n ** BigInt(to - scale);
}

/** The number without trailing fractional zeros; null when it does not fit then. */
function fitting(mantissa: bigint, scale: number): ExactDecimal | null {
  let value = mantissa;
  let places = scale;
  while (places > 0 && value % 10n === 0n) {
    value /= 10n;
    places -= 1;
  }
  if (value > MAX_MANTISSA || value < MIN_MANTISSA || places > MAX_SCALE) return null;
  return { mantissa: value, scale: places };
}

function exactText({ mantissa, scale }: ExactDecimal): string {
  const negative = mantissa < 0n;
  const digits = String(negative ? -mantissa : mantissa).padStart(scale + 1, '0');
  const whole = digits.slice(0, digits.length - scale);
  const fraction = scale === 0 ? '' : `.${digits.slice(digits.length - scale)}`;
  return (negative ? '-' : '') + whole + fraction;
}
