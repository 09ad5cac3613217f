/**
 * Environment → configuration. Reads every variable of the table once, refuses what is fatal, keeps
 * defaults where a value is merely bad, then applies the rules between variables and freezes the
 * result. Pure but for the random part of an unnamed server's id.
 */
import { ConfigError } from './config-error.js';
import { derive } from './derive.js';
import type { QueenConfig } from './queen-config.js';
import { ENV_TABLE, GROUP_NAMES, IGNORED_VARIABLES, type ParsedConfig } from './table.js';
import type { EnvVariable } from './variable.js';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface LoadedConfig {
  readonly config: QueenConfig;
  /** For the boot log: bad values that kept their default, ignored and unknown variables. */
  readonly warnings: readonly string[];
}

/** Kubernetes injects such names for a Service called "queen"; they are not typing mistakes. */
const SERVICE_LINK = /_SERVICE_(HOST|PORT)(_|$)|_PORT$|_PORT_\d+_(TCP|UDP)(_|$)/;

function textOf(variable: EnvVariable<unknown>, env: Environment): string | undefined {
  const names = [variable.name, ...variable.aliases];
  const name = names.find((candidate) => isSet(variable, env[candidate]));
  return name === undefined ? undefined : env[name];
}

function isSet(variable: EnvVariable<unknown>, text: string | undefined): boolean {
  return text !== undefined && (variable.emptyIsValue || text.trim() !== '');
}

function valueOf(variable: EnvVariable<unknown>, env: Environment, warnings: string[]): unknown {
  const text = textOf(variable, env);
  if (text === undefined) return variable.fallback;
  const parsed = variable.parse(text);
  if (parsed.ok) {
    if (parsed.warning !== undefined) warnings.push(`${variable.name} ${parsed.warning}`);
    return parsed.value;
  }
  const sentence = `${variable.name} ${parsed.reason}`;
  if (parsed.fatal) throw new ConfigError(variable.name, sentence);
  warnings.push(`${sentence}: the default ${variable.fallbackText} stays`);
  return variable.fallback;
}

function parseTable(env: Environment, warnings: string[]): ParsedConfig {
  const groups = GROUP_NAMES.map((group) => {
    const rows = Object.entries<EnvVariable<unknown>>(ENV_TABLE[group]);
    const values = rows.map(([key, variable]) => [key, valueOf(variable, env, warnings)]);
    return [group, Object.fromEntries(values)];
  });
  // The keys and value types are those of ENV_TABLE by construction.
  return Object.fromEntries(groups) as ParsedConfig;
}

function ignoredAndUnknown(env: Environment): readonly string[] {
  const known = new Set<string>();
  for (const group of GROUP_NAMES) {
    for (const variable of Object.values<EnvVariable<unknown>>(ENV_TABLE[group])) {
      for (const name of [variable.name, ...variable.aliases]) known.add(name);
    }
  }
  const ignored = new Map(IGNORED_VARIABLES.map(({ name, reason }) => [name, reason]));
  const sentences: string[] = [];
  for (const name of Object.keys(env).sort()) {
    const reason = ignored.get(name);
    if (env[name] === undefined || known.has(name)) continue;
    if (reason !== undefined) sentences.push(`${name} is set and ignored: ${reason}`);
    else if (name.startsWith('QUEEN_') && !SERVICE_LINK.test(name)) {
      sentences.push(`${name} is set and unknown: is it misspelled?`);
    }
  }
  return sentences;
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(deepFreeze);
    Object.freeze(value);
  }
  return value;
}

/** Throws ConfigError when the boot must fail. */
export function loadConfig(env: Environment): LoadedConfig {
  const warnings: string[] = [];
  const config = derive(parseTable(env, warnings), warnings);
  warnings.push(...ignoredAndUnknown(env));
  return { config: deepFreeze(config), warnings: Object.freeze(warnings) };
}
