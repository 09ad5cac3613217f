/**
 * Builders of table rows, one per type, with the parsing rules of the reference (cluster spec §11):
 * a boolean that is none stops the boot, an engine switch turns only on its own words, a bad number
 * keeps the default and warns. Values are plain numbers in the unit that the key's name ends with.
 */
import {
  accepted,
  fatal,
  keepDefault,
  type EnvVariable,
  type Parsed,
  type VariableType,
} from './variable.js';

const TRUE_WORDS = new Set(['true', '1', 'yes', 'on']);
const FALSE_WORDS = new Set(['false', '0', 'no', 'off']);
/** Longest piece of a refused value that a message repeats. */
const SHOWN_CHARS = 40;

interface RowOptions {
  readonly name: string;
  readonly doc: string;
  readonly aliases?: readonly string[];
  readonly fallbackText?: string;
  readonly secret?: boolean;
  readonly emptyIsValue?: boolean;
  readonly own?: boolean;
}

interface RowShape<T> {
  readonly type: VariableType;
  readonly fallback: T;
  readonly fallbackText: string;
  readonly unit?: string;
  readonly min?: number | null;
  readonly max?: number | null;
  readonly parse: (text: string) => Parsed<T>;
}

function row<T>(options: RowOptions, shape: RowShape<T>): EnvVariable<T> {
  return {
    name: options.name,
    aliases: options.aliases ?? [],
    type: shape.type,
    fallback: shape.fallback,
    fallbackText: options.fallbackText ?? shape.fallbackText,
    unit: shape.unit ?? '',
    min: shape.min ?? null,
    max: shape.max ?? null,
    doc: options.doc,
    secret: options.secret ?? false,
    emptyIsValue: options.emptyIsValue ?? false,
    own: options.own ?? false,
    parse: shape.parse,
  };
}

export function shown(text: string): string {
  return text.length > SHOWN_CHARS ? `"${text.slice(0, SHOWN_CHARS)}…"` : `"${text}"`;
}

function parseBoolean(text: string): Parsed<boolean> {
  const word = text.trim().toLowerCase();
  if (TRUE_WORDS.has(word)) return accepted(true);
  if (FALSE_WORDS.has(word)) return accepted(false);
  return fatal(`must be true/false, 1/0, yes/no or on/off, not ${shown(text)}`);
}

export function boolean<F extends boolean | null>(
  options: RowOptions & { readonly fallback: F },
): EnvVariable<boolean | F> {
  return row<boolean | F>(options, {
    type: 'boolean',
    fallback: options.fallback,
    fallbackText: String(options.fallback),
    parse: parseBoolean,
  });
}

/** Turns off only with 0|false|off|no, or on only with 1|true|on|yes; any other text changes nothing. */
export function engineSwitch(
  options: RowOptions & { readonly fallback: boolean },
): EnvVariable<boolean> {
  const turning = options.fallback ? FALSE_WORDS : TRUE_WORDS;
  return row<boolean>(options, {
    type: 'engine switch',
    fallback: options.fallback,
    fallbackText: options.fallback ? 'on' : 'off',
    parse: (text) =>
      accepted(turning.has(text.trim().toLowerCase()) ? !options.fallback : options.fallback),
  });
}

interface IntegerOptions<F> extends RowOptions {
  /** In the unit of the variable, like `min` and `max`. */
  readonly fallback: F;
  readonly min?: number;
  readonly max?: number;
  readonly unit?: string;
  /** The parsed value is the number times this. */
  readonly scale?: number;
  /** A number outside the bounds goes to the nearest bound (the usual case) or keeps the default. */
  readonly outside?: 'clamp' | 'default';
  readonly garbage?: 'default' | 'fatal';
}

function parseInteger(options: IntegerOptions<number | null>, text: string): Parsed<number> {
  const { min = 0, max = null, unit = '', scale = 1 } = options;
  const refuse = options.garbage === 'fatal' ? fatal : keepDefault;
  const number = Number(text.trim());
  const plain = /^\+?\d+$/.test(text.trim());
  if (!plain || !Number.isSafeInteger(number * scale)) {
    return refuse(`must be a whole number${unit === '' ? '' : ` (${unit})`}, not ${shown(text)}`);
  }
  const nearest = Math.max(min, max === null ? number : Math.min(max, number));
  if (nearest === number) return accepted(number * scale);
  const bounds = max === null ? `at least ${min}` : `between ${min} and ${max}`;
  if (options.outside === 'default') return refuse(`must be ${bounds}, not ${number}`);
  return accepted(nearest * scale, `must be ${bounds}, not ${number}: taken as ${nearest}`);
}

export function integer<F extends number | null>(
  options: IntegerOptions<F>,
): EnvVariable<number | F> {
  const { scale = 1, fallback } = options;
  return row<number | F>(options, {
    type: 'integer',
    fallback: fallback === null ? fallback : fallback * scale,
    fallbackText: fallback === null ? 'unset' : String(fallback),
    unit: options.unit ?? '',
    min: options.min ?? null,
    max: options.max ?? null,
    parse: (text) => parseInteger(options, text),
  });
}

export function text<F extends string | null>(
  options: RowOptions & {
    readonly fallback: F;
    /** Spaces around the value belong to it (key material). */
    readonly verbatim?: boolean;
  },
): EnvVariable<string | F> {
  return row<string | F>(options, {
    type: 'string',
    fallback: options.fallback,
    fallbackText: options.fallback ?? 'unset',
    parse: (raw) => accepted(options.verbatim === true ? raw : raw.trim()),
  });
}

/** One of `values`, compared exactly; anything else is fatal. */
export function choice<V extends string>(
  options: RowOptions & { readonly fallback: V; readonly values: readonly V[] },
): EnvVariable<V> {
  return row<V>(options, {
    type: 'enum',
    fallback: options.fallback,
    fallbackText: options.fallback,
    parse: (raw) => {
      const found = options.values.find((value) => value === raw.trim());
      if (found !== undefined) return accepted(found);
      return fatal(`must be one of ${options.values.join(', ')}, not ${shown(raw)}`);
    },
  });
}

/** Comma-separated; empty items are dropped. */
export function list(
  options: RowOptions & { readonly fallback: readonly string[] },
): EnvVariable<readonly string[]> {
  return row<readonly string[]>(options, {
    type: 'list',
    fallback: options.fallback,
    fallbackText: options.fallback.join(','),
    parse: (raw) => accepted(splitList(raw)),
  });
}

/** Anything with a grammar of its own. */
export function structured<T>(
  options: RowOptions & {
    readonly fallback: T;
    readonly fallbackText: string;
    readonly parse: (text: string) => Parsed<T>;
  },
): EnvVariable<T> {
  return row<T>(options, { type: 'structured', ...options });
}

export function splitList(raw: string): readonly string[] {
  return raw
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
