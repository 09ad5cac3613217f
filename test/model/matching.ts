/**
 * Compares an answer with its expectation and ties symbols to what the broker minted: the first time a
 * symbol meets a value both are bound, for good and to nobody else.
 */
import type { Answer, Expected } from './answers.js';

const SYMBOL = /\$[A-Za-z]+:?[A-Za-z0-9:~.#_-]*/g;
const TIME_SLACK_MS = 2;

interface Marker {
  readonly $: 'text' | 'any' | 'absent' | 'time' | 'starts' | 'oneOf' | 'unordered';
  readonly ms?: number;
  readonly text?: string;
  readonly by?: string;
  readonly values?: readonly unknown[];
}

export class Bindings {
  private readonly real = new Map<string, string>();
  private readonly symbols = new Map<string, string>();

  realOf(symbol: string): string | undefined {
    return this.real.get(symbol);
  }

  symbolOf(real: string): string | undefined {
    return this.symbols.get(real);
  }

  /** False when either is bound to something else. */
  bind(symbol: string, real: string): boolean {
    const [known, owner] = [this.real.get(symbol), this.symbols.get(real)];
    if (known !== undefined || owner !== undefined) return known === real && owner === symbol;
    this.real.set(symbol, real);
    this.symbols.set(real, symbol);
    return true;
  }

  /** Symbols inside a text replaced; undefined while one of them is unbound. */
  translate(text: string): string | undefined {
    let complete = true;
    const translated = text.replaceAll(SYMBOL, (symbol) => {
      const real = this.real.get(symbol);
      complete &&= real !== undefined;
      return real ?? symbol;
    });
    return complete ? translated : undefined;
  }
}

/** The first difference as text, or null. */
export function difference(bindings: Bindings, expected: Expected, answer: Answer): string | null {
  if (expected.status !== answer.status) {
    return `status: expected ${expected.status}, got ${answer.status} ${JSON.stringify(answer.body)}`;
  }
  return expected.body === undefined ? null : differs(bindings, expected.body, answer.body, 'body');
}

function differs(
  bindings: Bindings,
  expected: unknown,
  actual: unknown,
  at: string,
): string | null {
  const wrong = (): string =>
    `${at}: expected ${show(bindings, expected)}, got ${show(bindings, actual)}`;
  if (typeof expected === 'string') return textDiffers(bindings, expected, actual) ? wrong() : null;
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return wrong();
    return firstOf(expected.map((e, i) => () => differs(bindings, e, actual[i], `${at}[${i}]`)));
  }
  if (typeof expected !== 'object' || expected === null)
    return expected === actual ? null : wrong();
  if ('$' in expected)
    return markerDiffers(bindings, expected as Marker, actual, at) ? wrong() : null;
  if (typeof actual !== 'object' || actual === null) return wrong();
  const members = actual as Readonly<Record<string, unknown>>;
  return firstOf(
    Object.entries(expected)
      .filter(([, value]) => value !== undefined)
      .map(
        ([name, value]) =>
          () =>
            differs(bindings, value, members[name], `${at}.${name}`),
      ),
  );
}

function firstOf(checks: readonly (() => string | null)[]): string | null {
  for (const check of checks) {
    const found = check();
    if (found !== null) return found;
  }
  return null;
}

function textDiffers(bindings: Bindings, expected: string, actual: unknown): boolean {
  if (typeof actual !== 'string') return true;
  const translated = bindings.translate(expected);
  if (translated !== undefined) return translated !== actual;
  return !bindings.bind(expected, actual);
}

function markerDiffers(bindings: Bindings, marker: Marker, actual: unknown, at: string): boolean {
  switch (marker.$) {
    case 'any':
      return false;
    case 'text':
      return typeof actual === 'string' ? actual === '' : typeof actual !== 'object' || !actual;
    case 'absent':
      return actual !== undefined;
    case 'time':
      return (
        typeof actual !== 'string' ||
        Math.abs(Date.parse(actual) - (marker.ms ?? 0)) > TIME_SLACK_MS
      );
    case 'starts':
      return typeof actual !== 'string' || !actual.startsWith(marker.text ?? '');
    case 'oneOf':
      return !(marker.values ?? []).some((value) => differs(bindings, value, actual, at) === null);
    case 'unordered':
      return lettersDiffer(bindings, marker.values ?? [], actual, at);
  }
}

interface Letter {
  readonly partitionId: string;
  readonly consumerGroup: string;
  readonly offset: number;
  readonly failedAt: unknown;
}

/** Newest first; those filed in one call in any order. */
function lettersDiffer(
  bindings: Bindings,
  expected: readonly unknown[],
  actual: unknown,
  at: string,
): boolean {
  if (!Array.isArray(actual) || actual.length !== expected.length) return true;
  const rows = actual as readonly Letter[];
  const times = rows.map(({ failedAt }) => Date.parse(String(failedAt)));
  if (times.some((time, i) => i > 0 && time > (times[i - 1] ?? time))) return true;
  const left = new Set(rows);
  return expected.some((letter) => {
    for (const row of left) {
      if (!samePlace(bindings, letter as Letter, row)) continue;
      left.delete(row);
      return differs(bindings, letter, row, at) !== null;
    }
    return true;
  });
}

function samePlace(bindings: Bindings, expected: Letter, actual: Letter): boolean {
  const { ms } = expected.failedAt as { readonly ms: number };
  return (
    bindings.translate(expected.partitionId) === actual.partitionId &&
    expected.consumerGroup === actual.consumerGroup &&
    expected.offset === actual.offset &&
    Math.abs(Date.parse(String(actual.failedAt)) - ms) <= TIME_SLACK_MS
  );
}

/** With ids as symbols where they are known, so that a difference can be read. */
function show(bindings: Bindings, value: unknown): string {
  const text = JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'string' ? (bindings.symbolOf(part) ?? part) : part,
  );
  return text ?? 'nothing';
}
