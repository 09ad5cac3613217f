/**
 * Variables of the reference that are accepted without effect. Two kinds: engine knobs that have no
 * counterpart in this architecture, and features that are out of scope (proxy, standby link, Kafka,
 * SQS, S3 and PostgreSQL connectors). A boot that finds one set names it; its text is never read.
 */
import type { IgnoredVariable } from './variable.js';

/** `prefix` in front of every name; names are separated by blanks. */
function all(reason: string, prefix: string, names: string): readonly IgnoredVariable[] {
  const row = (name: string): IgnoredVariable => ({ name: prefix + name, reason });
  return names.trim().split(/\s+/).map(row);
}

const one = (name: string, reason: string): IgnoredVariable => ({ name, reason });

/** Engine knobs of cluster spec §11.2 to §11.4. */
export const ignoredEngineVariables: readonly IgnoredVariable[] = [
  one('QUEEN_RAFT_CLIENT_OFFLOAD', 'the asked node always prepares and answers itself'),
  one('QUEEN_RAFT_FOLLOWER_ANSWER_AT_DONE', 'an answer always waits until this node applied it'),
  one('QUEEN_RAFT_FWD_BATCH', 'commands are always forwarded over streams'),
  one('QUEEN_RAFT_FWD_INFLIGHT', 'commands are always forwarded over streams'),
  one('QUEEN_RAFT_FWD_STREAMS', 'one stream carries the commands to a member'),
  one('QUEEN_RAFT_FWD_BATCH_KB', 'commands of one turn leave in writes of at most 1 MiB'),
  one('QUEEN_RAFT_FWD_LINGER_US', 'commands of one turn leave in writes of at most 1 MiB'),
  one('QUEEN_RAFT_RPC_POOL', 'beside the streams no connection to a member is kept'),
  one('QUEEN_RAFT_PROPOSE_MS', 'a command waits until the deadline of its call'),
  one('QUEEN_LANES', 'there are no planning lanes'),
  one('QUEEN_RAFT_PLANNER_QUEUE_DEPTH', 'there is no planner'),
  one('QUEEN_RAFT_PLAN_MAX_MS', 'there is no planner'),
  one('QUEEN_RAFT_BATCH_MAX_CMDS', 'entries are cut at 256 KiB or 512 commands'),
  one('QUEEN_RAFT_COMMAND_QUEUE_DEPTH', 'the queues of a group have fixed bounds'),
  one('QUEEN_RAFT_REQUEST_ID_WINDOW_S', 'sessions recognise repeats, without a window of time'),
  one('QUEEN_RAFT_ADMIT_FWD_HOLD_MS', 'the leader takes a forwarded command or refuses it at once'),
  one('QUEEN_RAFT_ANSWER_AT_COMMIT', 'an answer always waits until this node applied it'),
  one('QUEEN_RAFT_DEDUP_INDEX', 'there is one dedup index'),
  one('QUEEN_RAFT_CLOCK', 'the log clock is always monotonic'),
  one('QUEEN_CONSUME_FAST', 'pops and acks are never answered before they are durable'),
  one('QUEEN_CONSUME_TXN_TTL_MS', 'a transaction is judged and done in one step of the log'),
  one('QUEEN_CONSUME_ROWS_PER_COMMAND', 'a command names at most 4,096 cursors'),
  ...all(
    'switch inside the reference planner',
    'QUEEN_RAFT_',
    `KEEP_OVERLAY KEEP_OVERLAY_VERIFY DRIVER_NOTIFY PUSH_PRIORITY DRAIN_GREEDY DRAIN_LANE`,
  ),
  one('QUEEN_RAFT_APPLY_SHARDS', 'a group applies on one thread'),
  one('QUEEN_RAFT_QLOG', 'the raft log is always the message log'),
  one('QUEEN_RAFT_QLOG_ZSTD_LEVEL', 'segments are not compressed'),
  one('QUEEN_RAFT_MAP_BYTES', 'the store is not a memory map'),
  one('QUEEN_QLOG_LANES', 'there is one log per group'),
  one('QUEEN_QLOG_SHARDS', 'there is one log per group'),
  one('QUEEN_QLOG_DIRX', 'there are no queue logs'),
  one('QUEEN_RAFT_RETENTION_VISIT', 'retention walks in slices of its own'),
  one('QUEEN_RAFT_RETENTION_VISIT_TOTAL', 'retention walks in slices of its own'),
];

const standbyLink = all(
  'the standby link is out of scope',
  'QUEEN_LINK_',
  'SOURCE SOURCE_TOKEN STANDBY SEED NAME PIPELINE TOKEN HOLD_S HOLD_DISK_PCT',
);

const connectors = [
  ...all(
    'the Kafka facade is out of scope',
    'QUEEN_KAFKA_',
    'EMBEDDED SHUTDOWN_GRACE_MS ADDR ADVERTISED_ADDR NODE_ID SASL TLS_CERT TLS_KEY',
  ),
  ...all(
    'connectors are out of scope',
    'QUEEN_',
    'S3_EMBEDDED S3_SHUTDOWN_GRACE_MS PG_CONNECTORS PG_SHUTDOWN_GRACE_MS',
  ),
];

const clientSide = all('a variable of clients', 'QUEEN_', 'TOKEN SERVER CONFIG CONTEXT');

const PROXY = 'the embedded proxy is out of scope';

const proxy = [
  ...all(
    PROXY,
    'QUEEN_PROXY_',
    `EMBEDDED PORT ENFORCE TENANT_HEADER CP_TOKEN PUBLIC_URL SHARED_HOSTS DEFAULT_CLUSTER
     DEV_INSECURE MAX_BODY_BYTES MAX_BATCH_ITEMS UPSTREAM_TIMEOUT_MS UPSTREAM_CONNECT_TIMEOUT_MS
     LONGPOLL_MAX_MS LONGPOLL_MARGIN_MS CELL_MAX_PARKED JWT_SECRET JWT_ED25519_PEM
     JWT_ED25519_PUB_PEM JWT_ISS JWT_AUD JWT_TTL_S COOKIE_NAME COOKIE_DOMAIN AUTOPROVISION
     AUTOPROVISION_TENANT DEFAULT_ROLE OPERATOR_ENABLED OPERATORS BOOTSTRAP_TENANT BOOTSTRAP_PLAN
     BOOTSTRAP_EMAIL BOOTSTRAP_PASSWORD BOOTSTRAP_API_KEY STORAGE_REFRESH_MS STORAGE_RECONCILE_MS
     RECONCILE_MS METER_FLUSH_MS ROLLUP_MS SPOOL_DIR USAGE_KEEP_DAYS STALE_GRACE_MS
     REVOCATION_STRICT REVOCATION_SWEEP_MS AUTH_HOST AUTH_PORTAL_URL AUTH_PORTAL_LABEL
     OAUTH_STATE_SECRET QUOTA_WARN_PERCENT KEY_TOUCH_MS INVAL_POLL_MS REGISTRY_PERSIST_MS
     SHUTDOWN_DRAIN_MS`,
  ),
  ...all(
    PROXY,
    'QUEEN_EDGE_',
    `MAX_CONNS MAX_BODY_BYTES WEB_MAX_BODY_BYTES RPS_PER_IP BURST_PER_IP WEB_RPS_PER_IP
     WEB_BURST_PER_IP REQUEST_TIMEOUT_MS REQUEST_TIMEOUT_EXEMPT TIMEOUT_EXEMPT LONG_POLL_MAX_MS
     LONG_POLL_GRACE_MS HEADER_READ_TIMEOUT_MS TLS_HANDSHAKE_TIMEOUT_MS MAX_HEADERS
     MAX_HEADER_BYTES MAX_HEADER_VALUE_BYTES MAX_URI_BYTES SHUTDOWN_GRACE_MS TRUSTED_PROXIES
     REAL_IP_HEADER MAX_TRACKED_IPS IPV6_PREFIX SESSION_COOKIES CORS_ORIGINS CORS_HEADERS HSTS
     HSTS_MAX_AGE_S`,
  ),
  ...all(
    PROXY,
    'QUEEN_LOGIN_',
    `FREE_FAILURES_IP FREE_FAILURES_ACCOUNT BACKOFF_BASE_MS LOCKOUT_S WINDOW_S MAX_TRACKED`,
  ),
  ...all(PROXY, 'QUEEN_', 'PUBLIC_ORIGINS'),
  ...all(PROXY, 'GOOGLE_', 'CLIENT_ID CLIENT_SECRET ALLOWED_DOMAINS'),
  ...all(PROXY, 'GITHUB_', 'CLIENT_ID CLIENT_SECRET'),
];

/** Cluster spec §11.6, §11.7 and the standby link. */
export const ignoredFeatureVariables: readonly IgnoredVariable[] = [
  ...standbyLink,
  ...connectors,
  ...proxy,
  ...clientSide,
];
