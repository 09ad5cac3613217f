/**
 * Entry of the configuration room: load once at start, inject QUEEN_CONFIG everywhere else. No other
 * room reads the environment.
 */
export type { HostPort, Peer } from './addresses.js';
export { ConfigError } from './config-error.js';
export { ConfigModule, QUEEN_CONFIG } from './config.module.js';
export { describeConfig, maskSecret, type ConfigLine } from './describe.js';
export { loadConfig, type Environment, type LoadedConfig } from './load.js';
export type {
  AuthConfig,
  EphemeralConfig,
  JwtAlgorithm,
  KvConfig,
  LoggingConfig,
  PlannerConfig,
  QueenConfig,
  RaftConfig,
  RetentionConfig,
  SecurityConfig,
  ServerConfig,
  StorageConfig,
} from './queen-config.js';
export type { ApplySkip, TenantGroup } from './repairs.js';
export { monotonicMs, systemClock, systemRandom } from './system-sources.js';
export { reasonOf, WatchedFiles, type FileUser, type NamedFiles } from './watched-files.js';
