/**
 * docs/configuration.md, written from the table. `npm run docs:config` stores it; a test fails when
 * the stored page differs. Deterministic: no date, no version, order of the table.
 */
import { ignoredEngineVariables, ignoredFeatureVariables } from './ignored.js';
import { ENV_TABLE, GROUP_NAMES, GROUP_TITLES, type GroupName } from './table.js';
import type { EnvVariable, IgnoredVariable } from './variable.js';

const INTRODUCTION = `# Configuration

<!-- Written by \`npm run docs:config\` from src/config/tables. Do not edit by hand. -->

The broker is configured by environment variables only: no file, no reload, no flags. Give every node
the same values except \`QUEEN_RAFT_NODE_ID\`, \`QUEEN_RAFT_LISTEN\` and \`QUEEN_SERVER_ID\`.

| Type | Accepts |
|---|---|
| boolean | \`true\`/\`false\`, \`1\`/\`0\`, \`yes\`/\`no\`, \`on\`/\`off\` in any case; anything else stops the boot |
| engine switch | turns off only with \`0\`, \`false\`, \`off\`, \`no\` (or on only with \`1\`, \`true\`, \`on\`, \`yes\` when its default is off); anything else changes nothing |
| integer | a whole number; a bad one keeps the default, one outside the bounds goes to the nearest bound (or keeps the default where the bounds say so); both are logged |
| enum, structured | what the text says; anything else stops the boot |

Unset or empty means the default. Wrong values that stop the boot are printed as \`FATAL: …\` with the
variable's name, and the process exits with 1. Every boot logs the configuration in force, secrets only
as \`<unset>\` or \`<set:N chars>\`. *(own)* marks variables that the reference broker does not have.
`;

const escapeCell = (text: string): string => text.replaceAll('|', '\\|');

function bounds(variable: EnvVariable<unknown>): string {
  const { min, max } = variable;
  if (min === null && max === null) return '';
  const range = max === null ? `≥ ${min}` : min === null ? `≤ ${max}` : `${min}..${max}`;
  return keepsDefaultOutside(variable) ? `${range}, else the default` : range;
}

/** Told by what the row does with such a number, so that the page never says another thing. */
function keepsDefaultOutside({ type, min, max, parse }: EnvVariable<unknown>): boolean {
  if (type !== 'integer') return false;
  const outside = max === null ? (min ?? 0) - 1 : max + 1;
  if (outside < 0) return false;
  const parsed = parse(String(outside));
  return !parsed.ok && !parsed.fatal;
}

function variableRow(variable: EnvVariable<unknown>): string {
  const aliases = variable.aliases.map((name) => ` (or \`${name}\`)`).join('');
  const fallback = [variable.fallbackText, variable.unit].filter((part) => part !== '').join(' ');
  const marks = `${variable.secret ? ' *(secret)*' : ''}${variable.own ? ' *(own)*' : ''}`;
  const cells = [
    `\`${variable.name}\`${aliases}`,
    variable.type,
    escapeCell(fallback),
    bounds(variable),
    escapeCell(variable.doc) + marks,
  ];
  return `| ${cells.join(' | ')} |`;
}

function groupSection(group: GroupName): string {
  const rows = Object.values<EnvVariable<unknown>>(ENV_TABLE[group]).map(variableRow);
  const head = '| Variable | Type | Default | Bounds | Meaning |\n|---|---|---|---|---|';
  return `## ${GROUP_TITLES[group]}\n\n${head}\n${rows.join('\n')}\n`;
}

function ignoredSection(title: string, variables: readonly IgnoredVariable[]): string {
  const byReason = new Map<string, string[]>();
  for (const { name, reason } of variables) {
    byReason.set(reason, [...(byReason.get(reason) ?? []), `\`${name}\``]);
  }
  const rows = [...byReason].map(([reason, names]) => `| ${reason} | ${names.join(' ')} |`);
  return `## ${title}\n\nAccepted and logged as ignored when set.\n\n| Why | Variables |\n|---|---|\n${rows.join('\n')}\n`;
}

const PROCESS = `## Process

| Variable | Read by | Meaning |
|---|---|---|
| \`UV_THREADPOOL_SIZE\` | launcher | Threads for disk work; raised to 16 when smaller |
| \`NODE_OPTIONS\` | Node | With \`--max-old-space-size\` the launcher leaves the heap alone |
`;

export function configurationPage(): string {
  return [
    INTRODUCTION,
    ...GROUP_NAMES.map(groupSection),
    PROCESS,
    ignoredSection('Engine settings without meaning here', ignoredEngineVariables),
    ignoredSection('Features out of scope', ignoredFeatureVariables),
  ].join('\n');
}
