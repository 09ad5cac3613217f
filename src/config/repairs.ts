/**
 * Grammar of the settings that name single entries, nodes or tenants: QUEEN_RAFT_APPLY_SKIP,
 * QUEEN_RAFT_NODE_ID, QUEEN_RAFT_FORCE_RECOVER and QUEEN_TENANT_GROUPS (cluster spec §2.10, §5, §7.4).
 * A mistake here could lose data, so every doubt is fatal; rules that need two variables are in
 * `derive.ts`.
 */
import { parseNodeId } from './addresses.js';
import { shown, splitList } from './builders.js';
import { accepted, fatal, type Parsed } from './variable.js';

/** One log entry that every node replaces by a skip marker. */
export interface ApplySkip {
  readonly group: number;
  readonly index: number;
  /** Lower-case hex digest that the entry must have, or null. */
  readonly digest: string | null;
}

export interface TenantGroup {
  readonly tenant: string;
  readonly group: number;
}

const MAX_GROUPS = 64;

/** `[g<group>/]<index>[:<hex digest>],…` */
export function parseApplySkip(value: string): Parsed<readonly ApplySkip[]> {
  const skips: ApplySkip[] = [];
  for (const item of splitList(value)) {
    const match = /^(?:g(\d{1,2})\/)?(\d{1,16})(?::([0-9a-fA-F]+))?$/.exec(item);
    const index = Number(match?.[2] ?? 0);
    const group = Number(match?.[1] ?? 0);
    if (match === null || index < 1 || !Number.isSafeInteger(index) || group >= MAX_GROUPS) {
      return fatal(`needs [g<group>/]<index>[:<hex digest>], not ${shown(item)}`);
    }
    if (skips.some((skip) => skip.group === group && skip.index === index)) {
      return fatal(`names entry ${index} of group ${group} twice`);
    }
    skips.push(Object.freeze({ group, index, digest: match[3]?.toLowerCase() ?? null }));
  }
  return accepted(Object.freeze(skips));
}

/** The id, or `ordinal`: the number at the end of HOSTNAME plus one. */
export function parseOwnId(value: string): Parsed<number | 'ordinal'> {
  const word = value.trim();
  if (word === 'ordinal') return accepted(word);
  const id = parseNodeId(word);
  return id === null
    ? fatal(`must be a whole number from 1 or "ordinal", not ${shown(value)}`)
    : accepted(id);
}

export function parseForceRecover(value: string): Parsed<number> {
  const id = parseNodeId(value.trim());
  return id === null ? fatal(`must be this node's own id, not ${shown(value)}`) : accepted(id);
}

/** `<tenant>=<group>,…`; a tenant may contain "=": the last one splits. */
export function parseTenantGroups(value: string): Parsed<readonly TenantGroup[]> {
  const groups: TenantGroup[] = [];
  for (const item of splitList(value)) {
    const split = item.lastIndexOf('=');
    const tenant = item.slice(0, Math.max(split, 0)).trim();
    const digits = item.slice(split + 1).trim();
    if (tenant === '' || !/^\d{1,2}$/.test(digits)) {
      return fatal(`needs <tenant>=<group>, not ${shown(item)}`);
    }
    if (groups.some((entry) => entry.tenant === tenant)) {
      return fatal(`names the tenant ${shown(tenant)} twice`);
    }
    groups.push(Object.freeze({ tenant, group: Number(digits) }));
  }
  return accepted(Object.freeze(groups));
}
