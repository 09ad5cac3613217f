/**
 * The effective configuration as log fields, one record per group. Secrets appear only as `<unset>`
 * or `<set:N chars>`; that is decided by the table's `secret` mark, so a new secret needs no change
 * here.
 */
import { formatHostPort, type HostPort, type Peer } from './addresses.js';
import type { QueenConfig } from './queen-config.js';
import type { ApplySkip, TenantGroup } from './repairs.js';
import { ENV_TABLE, GROUP_NAMES, type GroupName } from './table.js';
import type { EnvVariable } from './variable.js';

export type ConfigFields = Readonly<Record<string, string | number | boolean>>;

export interface ConfigLine {
  /** Group as the log names it. */
  readonly group: string;
  readonly fields: ConfigFields;
}

/** The log calls this group by the name that operators know from the reference. */
const LOG_NAMES: Partial<Record<GroupName, string>> = { kv: 'kv_timers' };

export function maskSecret(value: string | null): string {
  return value === null || value === '' ? '<unset>' : `<set:${value.length} chars>`;
}

function showItem(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  if ('raft' in item) {
    const { nodeId, raft, http } = item as Peer;
    return `${nodeId}=${formatHostPort(raft)}/${formatHostPort(http)}`;
  }
  if ('tenant' in item) return `${(item as TenantGroup).tenant}=${(item as TenantGroup).group}`;
  if ('index' in item) return `g${(item as ApplySkip).group}/${(item as ApplySkip).index}`;
  return formatHostPort(item as HostPort);
}

function show(value: unknown): string | number | boolean {
  if (value === null) return '<unset>';
  if (typeof value === 'number' || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.length === 0 ? '<empty>' : value.map(showItem).join(',');
  return showItem(value);
}

export function describeConfig(config: QueenConfig): readonly ConfigLine[] {
  return GROUP_NAMES.map((group) => {
    const variables: Readonly<Record<string, EnvVariable<unknown>>> = ENV_TABLE[group];
    const fields = Object.entries(config[group]).map(([key, value]) => {
      const secret = variables[key]?.secret === true;
      return [key, secret ? maskSecret(value as string | null) : show(value)] as const;
    });
    return { group: LOG_NAMES[group] ?? group, fields: Object.fromEntries(fields) };
  });
}
