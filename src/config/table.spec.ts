/** The table is complete, consistent, documented, and never shows a secret. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeConfig } from './describe.js';
import { loadConfig } from './load.js';
import { configurationPage } from './markdown.js';
import { ENV_TABLE, GROUP_NAMES, IGNORED_VARIABLES } from './table.js';
import type { EnvVariable } from './variable.js';

const rows = GROUP_NAMES.flatMap((group) =>
  Object.entries<EnvVariable<unknown>>(ENV_TABLE[group]).map(([key, variable]) => ({
    key,
    variable,
  })),
);
const names = rows.flatMap(({ variable }) => [variable.name, ...variable.aliases]);
const everyName = [...names, ...IGNORED_VARIABLES.map(({ name }) => name)];

/** Spelled out from cluster spec §11.1 to §11.7, message spec §15 and state spec §0.6. */
const SPECIFIED = `
PORT QUEEN_BIND_ADDR QUEEN_SERVER_ID QUEEN_MAX_BODY_BYTES QUEEN_STMT_TIMEOUT_MS DEFAULT_TIMEOUT
POP_DEFAULT_TIMEOUT_MS DEFAULT_SUBSCRIPTION_MODE METRICS_FLUSH_MS JWT_ENABLED JWT_ALGORITHM JWT_SECRET
JWT_PUBLIC_KEY JWT_JWKS_URL JWT_JWKS_REFRESH_INTERVAL JWT_JWKS_TIMEOUT_MS JWT_ISSUER JWT_AUDIENCE
JWT_CLOCK_SKEW JWT_SKIP_PATHS JWT_ROLES_CLAIM JWT_ROLES_ARRAY_CLAIM JWT_ROLE_ADMIN JWT_ROLE_READ_WRITE
JWT_ROLE_READ_ONLY JWT_ROLE_WRITE_ONLY QUEEN_TENANCY_HEADER QUEEN_KV_TRUSTED_PROXY QUEEN_ENCRYPTION_KEY
LOG_LEVEL RUST_LOG QUEEN_LOG_JSON QUEEN_CELL_ID QUEEN_RAFT_REPLICATOR QUEEN_RAFT_NODE_ID
QUEEN_RAFT_PEERS QUEEN_RAFT_LISTEN QUEEN_RAFT_TOKEN QUEEN_RAFT_DIR QUEEN_RAFT_JOIN
QUEEN_RAFT_FORCE_RECOVER QUEEN_RAFT_APPLY_SKIP QUEEN_RAFT_ELECTION_MS QUEEN_RAFT_HEARTBEAT_MS
QUEEN_RAFT_READY_LAG_MS QUEEN_RAFT_READY_LAG_ENTRIES QUEEN_RAFT_READY_QUORUM_MS
QUEEN_RAFT_PROMOTE_MAX_LAG QUEEN_RAFT_PURGE_HOLD_S QUEEN_RAFT_LOG_KEEP QUEEN_RAFT_LOG_CACHE_MB
QUEEN_RAFT_CLUSTER_VERSION_MS QUEEN_RAFT_MAX_CLOCK_SKEW_MS QUEEN_RAFT_CLIENT_OFFLOAD
QUEEN_RAFT_FOLLOWER_ANSWER_AT_DONE QUEEN_RAFT_FWD_BATCH QUEEN_RAFT_FWD_STREAMS
QUEEN_RAFT_FWD_INFLIGHT_MB QUEEN_RAFT_FWD_BATCH_KB QUEEN_RAFT_FWD_LINGER_US QUEEN_RAFT_FWD_INFLIGHT
QUEEN_RAFT_RPC_POOL QUEEN_RAFT_HOLD_MS QUEEN_RAFT_PROPOSE_MS QUEEN_RAFT_GROUPS QUEEN_TENANT_GROUPS
QUEEN_EPHEMERAL_MEMBER_TTL_MS QUEEN_LINK_SOURCE QUEEN_LINK_SOURCE_TOKEN QUEEN_LINK_STANDBY
QUEEN_LINK_SEED QUEEN_LINK_NAME QUEEN_LINK_PIPELINE QUEEN_LINK_TOKEN QUEEN_LINK_HOLD_S
QUEEN_LINK_HOLD_DISK_PCT QUEEN_LANES QUEEN_RAFT_PIPELINE QUEEN_RAFT_BATCH_MAX_CMDS
QUEEN_RAFT_BATCH_MAX_BYTES QUEEN_RAFT_ENTRY_MAX_BYTES QUEEN_RAFT_COMMAND_QUEUE_DEPTH
QUEEN_RAFT_PLANNER_QUEUE_DEPTH QUEEN_RAFT_REQUEST_ID_WINDOW_S QUEEN_RAFT_ANSWER_AT_COMMIT
QUEEN_RAFT_DEDUP_INDEX QUEEN_RAFT_PLAN_MAX_MS QUEEN_RAFT_SLOW_COMMAND_MS QUEEN_RAFT_CLOCK
QUEEN_RAFT_TIMER_TICK_MS QUEEN_RAFT_KV_SWEEP_MS QUEEN_RAFT_KV_SWEEP_LIMIT QUEEN_RAFT_KEEP_OVERLAY
QUEEN_RAFT_KEEP_OVERLAY_VERIFY QUEEN_RAFT_DRIVER_NOTIFY QUEEN_RAFT_PUSH_PRIORITY
QUEEN_RAFT_DRAIN_GREEDY QUEEN_RAFT_DRAIN_LANE QUEEN_RAFT_ADMIT_MAX_MB QUEEN_RAFT_ADMIT_HOLD_MS
QUEEN_RAFT_ADMIT_FWD_HOLD_MS QUEEN_CONSUME_CHECKPOINT_MS QUEEN_CONSUME_FAST
QUEEN_CONSUME_LEADER_LEASE_MS QUEEN_CONSUME_TXN_TTL_MS QUEEN_CONSUME_ROWS_PER_COMMAND
QUEEN_CONSUME_IDLE_UNLOAD_S QUEEN_RAFT_POP_REPLY_MARGIN_MS QUEEN_RAFT_METRICS QUEEN_RAFT_DISK_HIGH_PCT
QUEEN_RAFT_DISK_LOW_PCT QUEEN_RAFT_APPLY_SHARDS QUEEN_RAFT_DURABLE_EVERY_MS
QUEEN_RAFT_DURABLE_EVERY_BYTES QUEEN_RAFT_SEGMENT_BYTES QUEEN_RAFT_QLOG QUEEN_RAFT_QLOG_ZSTD_LEVEL
QUEEN_RAFT_MAP_BYTES QUEEN_QLOG_LANES QUEEN_QLOG_SHARDS QUEEN_QLOG_COMPACT_MIN_DEAD_PCT
QUEEN_QLOG_SEAL_AGE_S QUEEN_QLOG_RECLAIM QUEEN_QLOG_DIRX QUEEN_RAFT_ROWS_WINDOW
QUEEN_STORE_SCRUB_EVERY_S QUEEN_STORE_SCRUB_ROWS_PER_S RETENTION_INTERVAL RETENTION_BATCH_SIZE
QUEEN_RAFT_RETENTION_SCAN QUEEN_RAFT_RETENTION_SCAN_PER_S QUEEN_RAFT_RETENTION_VISIT
QUEEN_RAFT_RETENTION_VISIT_TOTAL QUEEN_RAFT_TXN_WINDOW_MIN_S QUEEN_RAFT_TRACE_RETENTION_S
QUEEN_PARTITION_CLEANUP_ENABLED PARTITION_CLEANUP_DAYS QUEEN_KV_REQUIRE_GRANT QUEEN_KV_READ_RATE
QUEEN_KV_READ_BURST QUEEN_KV_WRITE_RATE QUEEN_KV_WRITE_BURST QUEEN_KV_MAX_TENANTS
QUEEN_KV_QUOTA_RELEASE_PERCENT QUEEN_KV_QUOTA_HOT_PERCENT QUEEN_KV_MAX_VALUE_BYTES
QUEEN_KV_MAX_OPS_PER_CALL QUEEN_KV_MAX_KEYS_PER_CALL QUEEN_TIMERS_MAX_OPS_PER_CALL
QUEEN_TIMERS_MAX_PAYLOAD_BYTES QUEEN_TIMERS_MAX_HORIZON_S QUEEN_RAFT_TIMER_FIRE_BATCH
QUEEN_RAFT_TIMER_FIRE_MAX_BYTES QUEEN_SWEEPER_BACKOFF_MIN_MS QUEEN_SWEEPER_BACKOFF_MAX_MS
QUEEN_SWEEPER_TRANSIENT_BACKOFF_MS QUEEN_SWEEPER_MAX_ATTEMPTS QUEEN_EPHEMERAL_MAX_BYTES
QUEEN_EPHEMERAL_QUEUE_MAX_BYTES QUEEN_EPHEMERAL_QUEUE_MAX_LENGTH QUEEN_EPHEMERAL_LEASE_S
QUEEN_EPHEMERAL_RETRY_LIMIT QUEEN_EPHEMERAL_IMPLICIT_IDLE_S QUEEN_EPHEMERAL_REQUIRE_GRANT
QUEEN_EPHEMERAL_RATE QUEEN_EPHEMERAL_BURST QUEEN_RAFT_AUTOPILOT_DRAIN_MS QUEEN_RAFT_AUTOPILOT_BATCH_MIN
QUEEN_RAFT_AUTOPILOT_BATCH_MAX QUEEN_DASH_SIZES_MAX QUEEN_KAFKA_EMBEDDED QUEEN_S3_EMBEDDED
QUEEN_PG_CONNECTORS QUEEN_PROXY_EMBEDDED QUEEN_PROXY_PORT QUEEN_TLS_CERT QUEEN_EDGE_MAX_CONNS
QUEEN_LOGIN_MAX_TRACKED GOOGLE_CLIENT_ID GITHUB_CLIENT_SECRET QUEEN_PROXY_BOOTSTRAP_API_KEY`;

it('knows every variable of the specification', () => {
  const missing = SPECIFIED.trim()
    .split(/\s+/)
    .filter((name) => !everyName.includes(name));
  expect(missing).toEqual([]);
});

it('names each variable once', () => {
  const repeated = everyName.filter((name, at) => everyName.indexOf(name) !== at);
  expect(repeated).toEqual([]);
});

it('says of each number outside its bounds what becomes of it', () => {
  const page = configurationPage();
  expect(page).toContain('| `PORT` | integer | 6632 | ≤ 65535, else the default |');
  for (const { name, type, max, parse } of rows.map(({ variable }) => variable)) {
    if (type !== 'integer' || max === null) continue;
    const isKept = !parse(String(max + 1)).ok;
    const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\``)) ?? '';
    expect([name, row.includes('else the default')]).toEqual([name, isKept]);
  }
});

it('has defaults within bounds', () => {
  const outside = rows.filter(({ variable: { fallbackText, min, max, type } }) => {
    const value = Number(fallbackText);
    if (type !== 'integer' || Number.isNaN(value)) return false;
    return (min !== null && value < min) || (max !== null && value > max);
  });
  expect(outside.map(({ key }) => key)).toEqual([]);
});

it('ends keys of scaled numbers with the unit of the value', () => {
  const seconds = rows.filter(({ variable }) => variable.unit === 's');
  expect(seconds.map(({ key }) => key).filter((key) => !/(Ms|Seconds)$/.test(key))).toEqual([]);
  const mebibytes = rows.filter(({ variable }) => /^[MK]iB$/.test(variable.unit));
  expect(mebibytes.map(({ key }) => key).filter((key) => !key.endsWith('Bytes'))).toEqual([]);
});

it('marks whatever sounds like a secret', () => {
  const suspicious = rows.filter(({ variable }) => /SECRET|TOKEN|_KEY$/.test(variable.name));
  const open = suspicious.filter(({ variable }) => !variable.secret);
  // A path to a key file is no secret.
  expect(open.map(({ variable }) => variable.name)).toEqual([
    'QUEEN_TLS_KEY',
    'QUEEN_RAFT_TLS_KEY',
  ]);
});

it('describes the configuration without a secret in it', () => {
  const secrets: Record<string, string> = { JWT_ENABLED: 'true' };
  for (const { variable } of rows) if (variable.secret) secrets[variable.name] = 'hush-hush';
  secrets.JWT_JWKS_URL = 'https://keys/?hush-hush';
  secrets.QUEEN_ENCRYPTION_KEY = 'deadbeef'.repeat(8);
  const lines = describeConfig(loadConfig(secrets).config);
  const printed = JSON.stringify(lines);
  expect(printed).not.toMatch(/hush|deadbeef/);
  expect(lines.find(({ group }) => group === 'security')?.fields).toMatchObject({
    encryptionKey: '<set:64 chars>',
  });
  expect(lines.find(({ group }) => group === 'raft')?.fields).toMatchObject({
    token: '<set:9 chars>',
    peers: '<empty>',
  });
  expect(describeConfig(loadConfig({}).config)[1]?.fields).toMatchObject({ secret: '<unset>' });
});

it('has a current page in docs/configuration.md (npm run docs:config)', () => {
  const stored = readFileSync(join(process.cwd(), 'docs', 'configuration.md'), 'utf8');
  expect(stored).toBe(configurationPage());
});
