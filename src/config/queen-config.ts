/**
 * The typed configuration that the rest of the broker sees. It is the parsed table with every value
 * resolved that depends on other variables: nothing here is "unset, see elsewhere". Frozen, complete,
 * the same object for the life of the process.
 */
import type { HostPort } from './addresses.js';
import type { ParsedConfig } from './table.js';

export const JWT_ALGORITHMS = [
  'HS256',
  'HS384',
  'HS512',
  'RS256',
  'RS384',
  'RS512',
  'EdDSA',
  'auto',
] as const;

export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number];

type Resolve<T, R> = Omit<T, keyof R> & Readonly<R>;

export type ServerConfig = Resolve<ParsedConfig['server'], { serverId: string }>;
export type AuthConfig = Resolve<ParsedConfig['auth'], { algorithm: JwtAlgorithm }>;
export type SecurityConfig = ParsedConfig['security'];
export type LoggingConfig = Resolve<
  ParsedConfig['logging'],
  {
    /** Directives in force: RUST_LOG, else LOG_LEVEL. */
    filter: string;
  }
>;
export type RaftConfig = Resolve<
  ParsedConfig['raft'],
  {
    nodeId: number;
    /** False for the `local` replicator: no protocol, no raft port. */
    clustered: boolean;
    /** At most one first member: the shorter timers are the default. */
    singleVoter: boolean;
    /** Null when not clustered. */
    listen: HostPort | null;
    electionMs: number;
    heartbeatMs: number;
  }
>;
export type PlannerConfig = Resolve<ParsedConfig['planner'], { admitMaxBytes: number }>;
export type StorageConfig = ParsedConfig['storage'];
export type RetentionConfig = ParsedConfig['retention'];
export type KvConfig = Resolve<ParsedConfig['kv'], { requireGrant: boolean }>;
export type EphemeralConfig = Resolve<ParsedConfig['ephemeral'], { requireGrant: boolean }>;

export interface QueenConfig {
  readonly server: ServerConfig;
  readonly auth: AuthConfig;
  readonly security: SecurityConfig;
  readonly logging: LoggingConfig;
  readonly raft: RaftConfig;
  readonly planner: PlannerConfig;
  readonly storage: StorageConfig;
  readonly retention: RetentionConfig;
  readonly kv: KvConfig;
  readonly ephemeral: EphemeralConfig;
}
