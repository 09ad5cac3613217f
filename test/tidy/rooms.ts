/**
 * The house as a table (ARCHITECTURE.md §8): which room may import which. An entry is a path below
 * src/ and covers everything under it; a single file is written without its extension. Change the
 * architecture page in the same commit as this table.
 */

export interface RoomRule {
  /** Paths that may be imported besides the room itself. */
  readonly values: readonly string[];
  /** Paths of which only types may be imported. */
  readonly types?: readonly string[];
  /** Deterministic: no packages, clocks, randomness, promises or process. */
  readonly pure?: boolean;
}

const ANY_FEATURE_USES = [
  'common',
  'config',
  'logging',
  'machine',
  'reads',
  'raft/index',
  'coordinators/index',
  'http',
  'auth',
  'tenancy',
  // From requests to commands, where several features do it.
  'preparation',
  // Decorators that declare a route's answers in the API document.
  'docs-api/index',
];

const FEATURES = [
  'queues',
  'leases',
  'consumer-groups',
  'transactions',
  'messages',
  'traces',
  'dlq',
  'kv',
  'timers',
  'locks',
  'streams',
  'ephemeral',
];

const OPERATORS_SURFACE = ['membership', 'health', 'metrics', 'admin', 'dashboard'];

const RAFT_PARTS = ['raft/core', 'raft/wal', 'raft/transport', 'raft/group'];

const featureRules = Object.fromEntries(
  [...FEATURES, ...OPERATORS_SURFACE].map((room) => [room, { values: ANY_FEATURE_USES }]),
);

export const ROOMS: Readonly<Record<string, RoomRule>> = {
  common: { values: [], pure: true },
  'raft/core': { values: ['common'], pure: true },
  machine: { values: ['common'], pure: true },
  config: { values: ['common'] },
  logging: { values: ['common', 'config'] },
  storage: { values: ['common', 'config', 'logging', 'machine/tables'], types: ['machine'] },
  'raft/wal': { values: ['common', 'config', 'logging', 'raft/core'] },
  'raft/transport': {
    values: ['common', 'config', 'logging', 'raft/core'],
    types: [
      'raft/group/ports',
      'raft/group/group',
      'raft/group/cluster/peer-port',
      'raft/group/cluster/snapshot-port',
      'raft/group/cluster/members',
      'raft/member-questions',
    ],
  },
  // The group names commands and reads their fixed header; machine and store come through its ports.
  'raft/group': {
    values: ['common', 'config', 'logging', 'raft/core', 'machine/commands/catalogue'],
    types: ['machine', 'raft/wal', 'raft/transport'],
  },
  // The wiring of the raft rooms, the store and the machine into `Groups`.
  raft: { values: ['common', 'config', 'logging', 'machine', 'storage', 'reads', ...RAFT_PARTS] },
  reads: {
    values: ['common', 'config', 'logging', 'machine', 'storage/index'],
    types: ['storage', 'raft/group/group'],
  },
  coordinators: {
    values: ['common', 'config', 'logging', 'machine', 'reads', 'raft/index'],
    types: ['raft/group/group'],
  },
  http: { values: ['common', 'config', 'logging'], types: ['machine'] },
  auth: { values: ['common', 'config', 'logging', 'http'] },
  'docs-api': { values: ['common', 'config', 'logging', 'auth'] },
  tenancy: { values: ['common', 'config', 'logging', 'http', 'auth'] },
  preparation: { values: ['common', 'config', 'machine', 'reads', 'raft/index'] },
  lifecycle: {
    values: [
      'common',
      'config',
      'logging',
      'http',
      'auth',
      'raft/index',
      'coordinators/index',
      'app.module',
      'docs-api',
    ],
  },
  ...featureRules,
};

/** `src/app.module.ts` and `src/main.ts`: modules, entries of rooms, and the start. */
export const ROOT_MAY_IMPORT = /(\.module|\/index)$|^(lifecycle|config|logging)\//;

export interface Place {
  /** Path below src/ without extension. */
  readonly path: string;
  /** The room, `root` for files beside the rooms, null for a folder that is no room. */
  readonly room: string | null;
}

export function placeOf(pathBelowSrc: string): Place {
  const path = pathBelowSrc.replace(/\.(d\.)?[cm]?[jt]s$/, '');
  const parts = path.split('/');
  if (parts.length === 1) return { path, room: 'root' };
  const [first = '', second = ''] = parts;
  const nested = `${first}/${second}`;
  if (parts.length > 2 && nested in ROOMS) return { path, room: nested };
  return { path, room: first in ROOMS ? first : null };
}

const covers = (allowed: string, path: string): boolean =>
  path === allowed || path.startsWith(`${allowed}/`);

export function mayImport(from: Place, to: Place, onlyTypes: boolean): boolean {
  if (from.room === null || to.room === null) return false;
  if (from.room === to.room) return true;
  if (from.room === 'root') return onlyTypes || ROOT_MAY_IMPORT.test(to.path);
  const rule = ROOMS[from.room];
  const paths = onlyTypes ? [...(rule?.values ?? []), ...(rule?.types ?? [])] : rule?.values;
  return (paths ?? []).some((allowed) => covers(allowed, to.path));
}
