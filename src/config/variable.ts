/**
 * One row of the environment table: the variable's name, how its text becomes a value, and what the
 * documentation says about it. Rows are plain data plus one pure `parse`; nothing here reads the
 * environment. A refused value is either fatal for the boot or keeps the default with a warning;
 * `parse` decides which, and its reason never repeats the text of a secret.
 */

/** Reasons follow the variable's name: "QUEEN_X " + reason. */
export type Parsed<T> =
  | { readonly ok: true; readonly value: T; readonly warning?: string }
  | { readonly ok: false; readonly reason: string; readonly fatal: boolean };

export type VariableType =
  'boolean' | 'engine switch' | 'integer' | 'string' | 'enum' | 'list' | 'structured';

export interface EnvVariable<T> {
  readonly name: string;
  /** Other names of the same variable, asked only when the first is unset. */
  readonly aliases: readonly string[];
  readonly type: VariableType;
  readonly fallback: T;
  /** The default as the documentation shows it. */
  readonly fallbackText: string;
  /** Unit of the text in the environment; the parsed value may be scaled (seconds to ms, MiB to bytes). */
  readonly unit: string;
  readonly min: number | null;
  readonly max: number | null;
  readonly doc: string;
  /** Logs show only whether it is set and how long it is. */
  readonly secret: boolean;
  /** A set but empty variable is a value of its own instead of the default. */
  readonly emptyIsValue: boolean;
  /** Ours: the reference broker has no such variable. */
  readonly own: boolean;
  parse(text: string): Parsed<T>;
}

/** A variable that is accepted and has no effect here; a boot that finds it set says so. */
export interface IgnoredVariable {
  readonly name: string;
  readonly reason: string;
}

/** Variables by the key that they get in the typed configuration. */
export type VariableGroup = Readonly<Record<string, EnvVariable<unknown>>>;

/** The configuration that a group of variables yields. */
export type ValuesOf<G extends VariableGroup> = {
  readonly [K in keyof G]: G[K] extends EnvVariable<infer T> ? T : never;
};

export const accepted = <T>(value: T, warning?: string): Parsed<T> =>
  warning === undefined ? { ok: true, value } : { ok: true, value, warning };

export const fatal = (reason: string): Parsed<never> => ({ ok: false, reason, fatal: true });

/** The value is refused, the default stays and the boot goes on with a warning. */
export const keepDefault = (reason: string): Parsed<never> => ({ ok: false, reason, fatal: false });
