/**
 * THE table of environment variables: every variable the process accepts, grouped as in the typed
 * configuration. `load.ts`, the boot lines, docs/configuration.md and the tests are all derived from
 * it; a variable that is not here does not exist.
 */
import { ignoredEngineVariables, ignoredFeatureVariables } from './ignored.js';
import { authVariables } from './tables/auth.js';
import { ephemeralVariables } from './tables/ephemeral.js';
import { kvVariables } from './tables/kv.js';
import { loggingVariables } from './tables/logging.js';
import { plannerVariables } from './tables/planner.js';
import { raftVariables } from './tables/raft.js';
import { retentionVariables } from './tables/retention.js';
import { securityVariables } from './tables/security.js';
import { serverVariables } from './tables/server.js';
import { storageVariables } from './tables/storage.js';
import type { IgnoredVariable, ValuesOf, VariableGroup } from './variable.js';

export const ENV_TABLE = {
  server: serverVariables,
  auth: authVariables,
  security: securityVariables,
  logging: loggingVariables,
  raft: raftVariables,
  planner: plannerVariables,
  storage: storageVariables,
  retention: retentionVariables,
  kv: kvVariables,
  ephemeral: ephemeralVariables,
} satisfies Readonly<Record<string, VariableGroup>>;

export type GroupName = keyof typeof ENV_TABLE;

export const GROUP_NAMES = Object.keys(ENV_TABLE) as readonly GroupName[];

export const GROUP_TITLES: Readonly<Record<GroupName, string>> = {
  server: 'Server',
  auth: 'Authentication',
  security: 'Tenancy and encryption',
  logging: 'Logging',
  raft: 'Cluster and raft',
  planner: 'Admission and consumption',
  storage: 'Storage',
  retention: 'Retention',
  kv: 'KV and timers',
  ephemeral: 'Ephemeral queues',
};

export const IGNORED_VARIABLES: readonly IgnoredVariable[] = [
  ...ignoredEngineVariables,
  ...ignoredFeatureVariables,
];

/** Values as parsed, before the rules that need several variables (`derive.ts`). */
export type ParsedConfig = { readonly [G in GroupName]: ValuesOf<(typeof ENV_TABLE)[G]> };
