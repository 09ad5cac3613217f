/**
 * Variables of the cluster and of raft (cluster spec §11.2). Addresses, ids and repairs that are wrong
 * stop the boot; timers that are wrong keep their default.
 */
import { parseListen, parsePeers, type HostPort, type Peer } from '../addresses.js';
import { boolean, choice, integer, structured, text } from '../builders.js';
import {
  parseApplySkip,
  parseForceRecover,
  parseOwnId,
  parseTenantGroups,
  type ApplySkip,
  type TenantGroup,
} from '../repairs.js';
import { MIB } from './server.js';

const SECOND_MS = 1000;

const identity = {
  replicator: choice({
    name: 'QUEEN_RAFT_REPLICATOR',
    fallback: 'local',
    values: ['local', 'openraft', 'raft'],
    doc: 'local: one node without the raft protocol. openraft or raft: a cluster member, or a cluster of one.',
  }),
  nodeId: structured<number | 'ordinal'>({
    name: 'QUEEN_RAFT_NODE_ID',
    fallback: 1,
    fallbackText: '1',
    parse: parseOwnId,
    doc: 'This node: a whole number from 1, or ordinal (last number of HOSTNAME plus one).',
  }),
  peers: structured<readonly Peer[]>({
    name: 'QUEEN_RAFT_PEERS',
    fallback: [],
    fallbackText: 'unset',
    parse: parsePeers,
    doc: 'All first members: id=raft_host:port/http_host:port,… with this node among them.',
  }),
  listen: structured<HostPort | null>({
    name: 'QUEEN_RAFT_LISTEN',
    fallback: null,
    fallbackText: '0.0.0.0:<own raft port>',
    parse: parseListen,
    doc: 'Where the raft port binds. Group N listens on the port plus N.',
  }),
  token: text({
    name: 'QUEEN_RAFT_TOKEN',
    fallback: null,
    secret: true,
    doc: 'Shared secret of the members, sent as x-queen-raft-token. Unset with a listener that is not loopback: a warning.',
  }),
  dir: text({
    name: 'QUEEN_RAFT_DIR',
    fallback: '/var/lib/queen/raft',
    emptyIsValue: true,
    doc: 'Data directory. Set but empty stops the boot. `npm start` sets ./data when it is unset.',
  }),
  join: boolean({
    name: 'QUEEN_RAFT_JOIN',
    fallback: false,
    doc: 'A fresh node joins an existing cluster and never starts one.',
  }),
  forceRecover: structured<number | null>({
    name: 'QUEEN_RAFT_FORCE_RECOVER',
    fallback: null,
    fallbackText: 'unset',
    parse: parseForceRecover,
    doc: 'UNSAFE. Own node id of the one surviving node: it becomes the only voter.',
  }),
  applySkip: structured<readonly ApplySkip[]>({
    name: 'QUEEN_RAFT_APPLY_SKIP',
    fallback: [],
    fallbackText: 'unset',
    parse: parseApplySkip,
    doc: 'Entries that every node replaces by a skip marker: [g<group>/]<index>[:<hex digest>],…',
  }),
  groups: integer({
    name: 'QUEEN_RAFT_GROUPS',
    fallback: 1,
    min: 1,
    max: 64,
    garbage: 'fatal',
    doc: 'Raft groups of the process, the same on every node.',
  }),
  tenantGroups: structured<readonly TenantGroup[]>({
    name: 'QUEEN_TENANT_GROUPS',
    fallback: [],
    fallbackText: 'unset',
    parse: parseTenantGroups,
    doc: 'Tenants pinned to a group: <tenant>=<group>,… Others are spread by hash.',
  }),
  tlsCert: text({
    name: 'QUEEN_RAFT_TLS_CERT',
    fallback: null,
    own: true,
    doc: 'PEM file for mutual TLS on the raft port; needs QUEEN_RAFT_TLS_KEY and QUEEN_RAFT_TLS_CA. All three are read again when they change.',
  }),
  tlsKey: text({
    name: 'QUEEN_RAFT_TLS_KEY',
    fallback: null,
    own: true,
    doc: 'PEM file of the private key.',
  }),
  tlsCa: text({
    name: 'QUEEN_RAFT_TLS_CA',
    fallback: null,
    own: true,
    doc: 'PEM file of the authority that signed the members.',
  }),
  testRefuseApplyKv: text({
    name: 'QUEEN_TEST_REFUSE_APPLY_KV',
    fallback: null,
    doc: 'For tests only: <namespace>/<key>; apply refuses entries that write it.',
  }),
};

const timing = {
  electionMs: integer({
    name: 'QUEEN_RAFT_ELECTION_MS',
    fallback: null,
    fallbackText: '1000 (150 for a single voter)',
    min: 1,
    outside: 'default',
    unit: 'ms',
    doc: 'Shortest election timeout; the longest is twice this.',
  }),
  heartbeatMs: integer({
    name: 'QUEEN_RAFT_HEARTBEAT_MS',
    fallback: null,
    fallbackText: '100 (50 for a single voter)',
    min: 1,
    outside: 'default',
    unit: 'ms',
    doc: 'Time between heartbeats; must be below the election timeout.',
  }),
  readyLagMs: integer({
    name: 'QUEEN_RAFT_READY_LAG_MS',
    fallback: 2000,
    min: 1,
    outside: 'default',
    unit: 'ms',
    doc: 'A node that lags longer is not ready.',
  }),
  readyLagEntries: integer({
    name: 'QUEEN_RAFT_READY_LAG_ENTRIES',
    fallback: 1000,
    min: 1,
    outside: 'default',
    unit: 'entries',
    doc: 'Lag below this never makes a node unready.',
  }),
  readyQuorumMs: integer({
    name: 'QUEEN_RAFT_READY_QUORUM_MS',
    fallback: 5000,
    unit: 'ms',
    doc: 'Not ready when no quorum was heard from for this long. 0 turns the check off.',
  }),
  promoteMaxLagEntries: integer({
    name: 'QUEEN_RAFT_PROMOTE_MAX_LAG',
    fallback: 1000,
    unit: 'entries',
    doc: 'A learner further behind is not promoted.',
  }),
  purgeHoldMs: integer({
    name: 'QUEEN_RAFT_PURGE_HOLD_S',
    fallback: 600,
    unit: 's',
    scale: SECOND_MS,
    doc: 'How long the log is held for a silent follower.',
  }),
  logKeepEntries: integer({
    name: 'QUEEN_RAFT_LOG_KEEP',
    fallback: 4096,
    unit: 'entries',
    doc: 'Entries kept below the purge point.',
  }),
  logCacheBytes: integer({
    name: 'QUEEN_RAFT_LOG_CACHE_MB',
    fallback: 512,
    min: 1,
    unit: 'MiB',
    scale: MIB,
    doc: 'Bound of the entries kept in memory.',
  }),
  clusterVersionMs: integer({
    name: 'QUEEN_RAFT_CLUSTER_VERSION_MS',
    fallback: 1000,
    unit: 'ms',
    doc: 'How often the leader looks whether the cluster version can be raised. 0 never raises it.',
  }),
  maxClockSkewMs: integer({
    name: 'QUEEN_RAFT_MAX_CLOCK_SKEW_MS',
    fallback: 500,
    unit: 'ms',
    doc: 'Clock difference between nodes that leases tolerate.',
  }),
  holdMs: integer({
    name: 'QUEEN_RAFT_HOLD_MS',
    fallback: 8000,
    unit: 'ms',
    doc: 'How long a request waits while no leader is known.',
  }),
};

const forwarding = {
  forwardInflightBytes: integer({
    name: 'QUEEN_RAFT_FWD_INFLIGHT_MB',
    fallback: 64,
    min: 1,
    unit: 'MiB',
    scale: MIB,
    doc: 'Bytes of forwarded commands in flight.',
  }),
};

export const raftVariables = { ...identity, ...timing, ...forwarding };
