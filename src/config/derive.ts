/**
 * Rules between variables: defaults that follow other values, and combinations that stop the boot
 * (cluster spec §0, §4.1, §5, §9.3, §9.4, §11). Order of checks is the order in which an operator
 * would fix them: identity, addresses, groups, keys.
 */
import { randomBytes } from 'node:crypto';
import { parseUuid } from '../common/uuid-v7.js';
import { MAX_NODE_ID, type HostPort, type Peer } from './addresses.js';
import { ConfigError } from './config-error.js';
import {
  JWT_ALGORITHMS,
  type AuthConfig,
  type JwtAlgorithm,
  type PlannerConfig,
  type QueenConfig,
  type RaftConfig,
  type ServerConfig,
  type StorageConfig,
} from './queen-config.js';
import type { ParsedConfig } from './table.js';

const MIB = 1024 * 1024;
const DEFAULT_RAFT_PORT = 7400;
const MAX_PORT = 65_535;
/** Timers of a cluster, and of a raft cluster of one (cluster spec §1.1). */
const CLUSTER_TIMERS = { electionMs: 1000, heartbeatMs: 100 };
const SINGLE_TIMERS = { electionMs: 150, heartbeatMs: 50 };
const MIN_ADMIT_BYTES = 128 * MIB;

export function derive(parsed: ParsedConfig, warnings: string[]): QueenConfig {
  const { tenancyHeader, trustedProxy } = parsed.security;
  if (tenancyHeader && !trustedProxy) {
    throw new ConfigError(
      'QUEEN_TENANCY_HEADER',
      'QUEEN_TENANCY_HEADER=true needs QUEEN_KV_TRUSTED_PROXY=true: something in front must set and strip x-queen-tenant',
    );
  }
  checkHttpsPair(parsed.security);
  const { logging, kv, ephemeral } = parsed;
  return {
    server: deriveServer(parsed.server),
    auth: deriveAuth(parsed.auth, warnings),
    security: parsed.security,
    logging: { ...logging, filter: logging.rustLog ?? logging.logLevel },
    raft: deriveRaft(parsed, warnings),
    planner: derivePlanner(parsed.planner),
    storage: deriveStorage(parsed.storage, warnings),
    retention: parsed.retention,
    kv: { ...kv, requireGrant: kv.requireGrant ?? tenancyHeader },
    ephemeral: { ...ephemeral, requireGrant: ephemeral.requireGrant ?? tenancyHeader },
  };
}

function checkHttpsPair({ tlsCert, tlsKey }: ParsedConfig['security']): void {
  if ((tlsCert === null) === (tlsKey === null)) return;
  throw new ConfigError(
    'QUEEN_TLS_CERT',
    'QUEEN_TLS_CERT and QUEEN_TLS_KEY must be set together or not at all',
  );
}

function deriveServer(server: ParsedConfig['server']): ServerConfig {
  const serverId = server.serverId ?? server.hostname ?? `queen-${randomBytes(4).toString('hex')}`;
  return { ...server, serverId };
}

function deriveAuth(auth: ParsedConfig['auth'], warnings: string[]): AuthConfig {
  const algorithm = JWT_ALGORITHMS.find((name) => name === auth.algorithm);
  if (algorithm === undefined) {
    const sentence = `JWT_ALGORITHM must be exactly one of ${JWT_ALGORITHMS.join(' ')}`;
    if (auth.enabled) throw new ConfigError('JWT_ALGORITHM', sentence);
    warnings.push(`${sentence}: the default stays, and JWT_ENABLED is off`);
  } else if (auth.enabled && !hasKeyMaterial(auth, algorithm)) {
    const symmetric = algorithm.startsWith('HS') || algorithm === 'auto';
    const needed = `${symmetric ? 'JWT_SECRET, ' : ''}JWT_PUBLIC_KEY or JWT_JWKS_URL`;
    throw new ConfigError(
      'JWT_ENABLED',
      `JWT_ENABLED=true with JWT_ALGORITHM=${algorithm} needs ${needed}`,
    );
  }
  if (auth.enabled && auth.jwksUrl !== null) checkJwksUrl(auth.jwksUrl, warnings);
  return { ...auth, algorithm: algorithm ?? 'HS256' };
}

/** The address may carry a secret and is not repeated. */
function checkJwksUrl(text: string, warnings: string[]): void {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError('JWT_JWKS_URL', 'JWT_JWKS_URL must be an http:// or https:// address');
  }
  if (url.username !== '' || url.password !== '') {
    throw new ConfigError('JWT_JWKS_URL', 'JWT_JWKS_URL must carry no credentials');
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname.replace(/^\[|\]$/g, ''))) {
    warnings.push(
      'JWT_JWKS_URL is plain HTTP: whoever can change its answers on the way can sign tokens',
    );
  }
}

/** HS* and auto boot with any key; RS* and EdDSA need a public one. */
function hasKeyMaterial(auth: ParsedConfig['auth'], algorithm: JwtAlgorithm): boolean {
  const isPublic = auth.publicKey !== null || auth.jwksUrl !== null;
  if (algorithm.startsWith('HS') || algorithm === 'auto') return isPublic || auth.secret !== null;
  return isPublic;
}

function deriveRaft(parsed: ParsedConfig, warnings: string[]): RaftConfig {
  const { raft } = parsed;
  const nodeId = ownNodeId(raft.nodeId, parsed.server.hostname);
  if (raft.dir === '') throw new ConfigError('QUEEN_RAFT_DIR', 'QUEEN_RAFT_DIR must not be empty');
  checkMembership(raft, nodeId);
  checkGroups(raft, warnings);
  checkTls(raft);
  const clustered = raft.replicator !== 'local';
  const singleVoter = raft.peers.length <= 1 && !raft.join;
  const listen = clustered ? listenAddress(raft, nodeId) : null;
  const isOpen = raft.token === null && raft.tlsCa === null;
  if (listen !== null && isOpen && !isLoopback(listen.host)) {
    warnings.push(
      'QUEEN_RAFT_TOKEN and QUEEN_RAFT_TLS_CA are unset and the raft port is not on loopback: whoever reaches it can write to this node',
    );
  }
  const timers = raftTimers(raft, singleVoter, warnings);
  return { ...raft, ...timers, nodeId, clustered, singleVoter, listen };
}

function ownNodeId(setting: number | 'ordinal', hostname: string | null): number {
  if (setting !== 'ordinal') return setting;
  const digits = /(\d+)$/.exec(hostname ?? '')?.[1];
  const id = Number(digits) + 1;
  if (digits !== undefined && id <= MAX_NODE_ID) return id;
  throw new ConfigError(
    'QUEEN_RAFT_NODE_ID',
    `QUEEN_RAFT_NODE_ID=ordinal needs a HOSTNAME that ends with a number, not "${hostname ?? ''}"`,
  );
}

function checkMembership(raft: ParsedConfig['raft'], nodeId: number): void {
  const { peers, replicator, forceRecover } = raft;
  if (peers.length > 0 && replicator === 'local') {
    throw new ConfigError(
      'QUEEN_RAFT_PEERS',
      'QUEEN_RAFT_PEERS needs QUEEN_RAFT_REPLICATOR=openraft',
    );
  }
  if (peers.length > 0 && !peers.some((peer) => peer.nodeId === nodeId)) {
    throw new ConfigError(
      'QUEEN_RAFT_NODE_ID',
      `QUEEN_RAFT_NODE_ID=${nodeId} is not in QUEEN_RAFT_PEERS`,
    );
  }
  if (raft.join && peers.length === 0) {
    throw new ConfigError('QUEEN_RAFT_JOIN', 'QUEEN_RAFT_JOIN=true needs QUEEN_RAFT_PEERS');
  }
  if (forceRecover !== null && forceRecover !== nodeId) {
    throw new ConfigError(
      'QUEEN_RAFT_FORCE_RECOVER',
      `QUEEN_RAFT_FORCE_RECOVER=${forceRecover} names the ONE surviving node, and this is node ${nodeId}`,
    );
  }
}

function checkGroups(
  { groups, tenantGroups, applySkip, peers }: ParsedConfig['raft'],
  warnings: string[],
): void {
  for (const { tenant, group } of tenantGroups) {
    if (parseUuid(tenant) === undefined) {
      warnings.push(`QUEEN_TENANT_GROUPS names "${tenant}", which is no tenant: tenants are UUIDs`);
    }
    if (group < groups) continue;
    throw new ConfigError(
      'QUEEN_TENANT_GROUPS',
      `QUEEN_TENANT_GROUPS puts "${tenant}" into group ${group}, and QUEEN_RAFT_GROUPS is ${groups}`,
    );
  }
  for (const { group, index } of applySkip) {
    if (group < groups) continue;
    throw new ConfigError(
      'QUEEN_RAFT_APPLY_SKIP',
      `QUEEN_RAFT_APPLY_SKIP names g${group}/${index}, and QUEEN_RAFT_GROUPS is ${groups}`,
    );
  }
  checkGroupPorts(groups, peers);
}

/** Group N uses every raft address at port + N. */
function checkGroupPorts(groups: number, peers: readonly Peer[]): void {
  for (const { nodeId, raft } of peers) {
    const near = peers.find(
      (other) =>
        other.nodeId > nodeId &&
        other.raft.host === raft.host &&
        Math.abs(other.raft.port - raft.port) < groups,
    );
    if (near !== undefined) {
      throw new ConfigError(
        'QUEEN_RAFT_PEERS',
        `QUEEN_RAFT_PEERS: the raft ports of nodes ${nodeId} and ${near.nodeId} on ${raft.host} must be ${groups} apart, one for each of QUEEN_RAFT_GROUPS`,
      );
    }
    if (raft.port + groups - 1 <= MAX_PORT) continue;
    throw new ConfigError(
      'QUEEN_RAFT_PEERS',
      `QUEEN_RAFT_PEERS: node ${nodeId} has no port for group ${groups - 1} (group N uses port ${raft.port} + N)`,
    );
  }
}

function checkTls({ tlsCert, tlsKey, tlsCa }: ParsedConfig['raft']): void {
  const given = [tlsCert, tlsKey, tlsCa].filter((path) => path !== null).length;
  if (given === 0 || given === 3) return;
  throw new ConfigError(
    'QUEEN_RAFT_TLS_CERT',
    'QUEEN_RAFT_TLS_CERT, QUEEN_RAFT_TLS_KEY and QUEEN_RAFT_TLS_CA must be set together or not at all',
  );
}

function listenAddress(raft: ParsedConfig['raft'], nodeId: number): HostPort {
  const own = raft.peers.find((peer) => peer.nodeId === nodeId);
  const listen = raft.listen ?? { host: '0.0.0.0', port: own?.raft.port ?? DEFAULT_RAFT_PORT };
  if (listen.port + raft.groups - 1 <= MAX_PORT) return listen;
  throw new ConfigError(
    'QUEEN_RAFT_LISTEN',
    `QUEEN_RAFT_LISTEN: no port for group ${raft.groups - 1} (group N listens on port ${listen.port} + N)`,
  );
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\./.test(host);
}

function raftTimers(
  raft: ParsedConfig['raft'],
  singleVoter: boolean,
  warnings: string[],
): { readonly electionMs: number; readonly heartbeatMs: number } {
  const fallback = singleVoter ? SINGLE_TIMERS : CLUSTER_TIMERS;
  const electionMs = raft.electionMs ?? fallback.electionMs;
  const heartbeatMs = raft.heartbeatMs ?? fallback.heartbeatMs;
  if (heartbeatMs < electionMs) return { electionMs, heartbeatMs };
  warnings.push(
    `QUEEN_RAFT_HEARTBEAT_MS ${heartbeatMs} must be below QUEEN_RAFT_ELECTION_MS ${electionMs}: the defaults ${fallback.heartbeatMs} and ${fallback.electionMs} stay`,
  );
  return fallback;
}

function derivePlanner(planner: ParsedConfig['planner']): PlannerConfig {
  const inFlight = (planner.pipelineEntries + 2) * planner.batchMaxBytes;
  const admitMaxBytes = planner.admitMaxBytes ?? Math.max(MIN_ADMIT_BYTES, inFlight);
  return { ...planner, admitMaxBytes };
}

function deriveStorage(storage: ParsedConfig['storage'], warnings: string[]): StorageConfig {
  const { diskHighPct, diskLowPct } = storage;
  if (diskLowPct <= diskHighPct) return storage;
  warnings.push(
    `QUEEN_RAFT_DISK_LOW_PCT ${diskLowPct} is above QUEEN_RAFT_DISK_HIGH_PCT ${diskHighPct}: taken as ${diskHighPct}`,
  );
  return { ...storage, diskLowPct: diskHighPct };
}
