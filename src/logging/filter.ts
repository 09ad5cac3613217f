/**
 * Filter directives of RUST_LOG and LOG_LEVEL: `info`, `info,rsm=debug`, `off,boot=warn`. A directive
 * covers every target that starts with its text; the longest one decides, a later one wins a tie.
 * A target that no directive covers is off, as in the reference. Span parts (`t[span{f=v}]=level`)
 * are valid and never match, since the broker has no spans.
 */

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Position in LOG_LEVELS; OFF is above them all. */
const RANKS: ReadonlyMap<string, number> = new Map<string, number>([
  ...LOG_LEVELS.map((level, rank) => [level, rank] as const),
  ['off', LOG_LEVELS.length],
]);
const OFF = LOG_LEVELS.length;
const TARGET = /^[A-Za-z0-9_.:/-]+$/;

interface Directive {
  readonly target: string;
  readonly rank: number;
}

export interface LogFilter {
  readonly directives: readonly Directive[];
}

export interface ParsedFilter {
  readonly filter: LogFilter;
  /** Why the text was refused and `info` is in force. */
  readonly warning: string | null;
}

const INFO: LogFilter = { directives: [{ target: '', rank: 2 }] };

export const rankOf = (level: LogLevel): number => LOG_LEVELS.indexOf(level);

/** A directive, `null` when it can never match, `undefined` when it is none. */
function parseDirective(text: string): Directive | null | undefined {
  const bare = RANKS.get(text.toLowerCase());
  if (bare !== undefined) return { target: '', rank: bare };
  const span = /^[A-Za-z0-9_.:/-]*\[[^\]]*\](?:=([A-Za-z]+))?$/.exec(text);
  if (span !== null)
    return span[1] === undefined || RANKS.has(span[1].toLowerCase()) ? null : undefined;
  const split = text.indexOf('=');
  const target = split < 0 ? text : text.slice(0, split);
  const rank = split < 0 ? 0 : RANKS.get(text.slice(split + 1).toLowerCase());
  return TARGET.test(target) && rank !== undefined ? { target, rank } : undefined;
}

export function parseFilter(text: string): ParsedFilter {
  const directives: Directive[] = [];
  for (const part of text.split(',').map((piece) => piece.trim())) {
    if (part === '') continue;
    const directive = parseDirective(part);
    if (directive === undefined) {
      const shown = part.slice(0, 40);
      return {
        filter: INFO,
        warning: `log filter "${shown}" is not a directive: info is in force`,
      };
    }
    if (directive !== null) directives.push(directive);
  }
  return { filter: directives.length === 0 ? INFO : { directives }, warning: null };
}

/** Lowest rank that `target` logs. */
export function thresholdOf(filter: LogFilter, target: string): number {
  let best: Directive | null = null;
  for (const directive of filter.directives) {
    const covers = target.startsWith(directive.target);
    if (covers && directive.target.length >= (best?.target.length ?? 0)) best = directive;
  }
  return best?.rank ?? OFF;
}
