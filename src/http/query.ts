/**
 * Query strings: percent-decoded, `+` is a space, the last of repeated parameters wins. Two ways to
 * read a value: strict (pop routes: a bad value is 400 in plain text) and lenient (all other routes: a
 * bad number is the default).
 */
import { HttpException } from '@nestjs/common';

export type QueryValues = Readonly<Record<string, string | undefined>>;

/** Fastify's querystringParser. The result has no prototype, so `__proto__` is just a name. */
export function parseQuery(text: string): Record<string, string> {
  const values = Object.create(null) as Record<string, string>;
  if (text === '') return values;
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decodePart(equals < 0 ? pair : pair.slice(0, equals));
    values[name] = equals < 0 ? '' : decodePart(pair.slice(equals + 1));
  }
  return values;
}

function decodePart(part: string): string {
  const spaced = part.includes('+') ? part.replaceAll('+', ' ') : part;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch (error) {
    if (error instanceof URIError) return spaced;
    throw error;
  }
}

/** Query-string refusal of the pop routes: 400, plain text. */
export class QueryTextError extends HttpException {
  constructor(name: string, expected: string) {
    super(`Failed to deserialize query string: ${name}: expected ${expected}`, 400);
  }
}

const DECIMAL = /^[+-]?\d+$/;
const INT32_MIN = -2_147_483_648;
const INT32_MAX = 2_147_483_647;
const U64_MAX = 18_446_744_073_709_551_615n;

/** Strict int32; absent → fallback. */
export function strictInt32(values: QueryValues, name: string, fallback: number): number {
  const text = values[name];
  if (text === undefined) return fallback;
  const value = DECIMAL.test(text) ? Number(text) : NaN;
  if (!(value >= INT32_MIN && value <= INT32_MAX)) throw new QueryTextError(name, 'i32');
  return value;
}

/** Strict unsigned integer; absent → undefined. */
export function strictUint(values: QueryValues, name: string): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  if (!/^\+?\d+$/.test(text) || BigInt(text.replace('+', '')) > U64_MAX) {
    throw new QueryTextError(name, 'u64');
  }
  return Number(text);
}

/** Strict boolean (`true` / `false`); absent → undefined. */
export function strictBoolean(values: QueryValues, name: string): boolean | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  if (text === 'true') return true;
  if (text === 'false') return false;
  throw new QueryTextError(name, '`true` or `false`');
}

/** Lenient integer: unparsable → fallback, then clamped. */
export function lenientInteger(
  values: QueryValues,
  name: string,
  rule: { readonly fallback: number; readonly min: number; readonly max: number },
): number {
  const text = values[name];
  const parsed = text !== undefined && DECIMAL.test(text) ? Number(text) : rule.fallback;
  return Math.min(Math.max(parsed, rule.min), rule.max);
}

/** A text value; empty counts as absent. */
export function textOrUndefined(values: QueryValues, name: string): string | undefined {
  const text = values[name];
  return text === undefined || text === '' ? undefined : text;
}
