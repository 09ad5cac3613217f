/** The parsing rules of cluster spec §11: what stops the boot, what keeps a default, what is derived. */
import { ConfigError } from './config-error.js';
import { loadConfig, type Environment } from './load.js';
import type { QueenConfig } from './queen-config.js';

const load = (env: Environment = {}): QueenConfig => loadConfig(env).config;
const warnings = (env: Environment): readonly string[] => loadConfig(env).warnings;
const refusal = (env: Environment): string => {
  try {
    loadConfig(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).message;
  }
  throw new Error('the configuration was accepted');
};

const PEERS = '1=a:7400/a:6632,2=b:7400/b:6632,3=c:7400/c:6632';
const CLUSTER = { QUEEN_RAFT_REPLICATOR: 'openraft', QUEEN_RAFT_PEERS: PEERS };

describe('defaults', () => {
  it('needs nothing set', () => {
    const { config, warnings: lines } = loadConfig({});
    expect(lines).toEqual([]);
    expect(config.server).toMatchObject({
      port: 6632,
      bindHost: '0.0.0.0',
      maxBodyBytes: 67108864,
    });
    expect(config.server.serverId).toMatch(/^queen-[0-9a-f]{8}$/);
    expect(config.raft).toMatchObject({
      replicator: 'local',
      nodeId: 1,
      clustered: false,
      dir: '/var/lib/queen/raft',
      listen: null,
      electionMs: 150,
      heartbeatMs: 50,
    });
    expect(config.storage).toMatchObject({
      durableEveryMs: 250,
      durableEveryBytes: 8 << 20,
      overlayMaxBytes: 64 << 20,
    });
    expect(config.planner.admitMaxBytes).toBe(128 << 20);
    expect(config.kv).toMatchObject({ requireGrant: false, timersMaxHorizonMs: 7_776_000_000 });
  });

  it('is frozen through and through', () => {
    const { raft, auth } = load(CLUSTER);
    expect(Object.isFrozen(raft)).toBe(true);
    expect(Object.isFrozen(raft.peers[0]?.raft)).toBe(true);
    expect(Object.isFrozen(auth.skipPaths)).toBe(true);
  });

  it('names the server after HOSTNAME unless it has a name', () => {
    expect(load({ HOSTNAME: 'box' }).server.serverId).toBe('box');
    expect(load({ HOSTNAME: 'box', QUEEN_SERVER_ID: 'q1' }).server.serverId).toBe('q1');
  });
});

describe('booleans', () => {
  it.each(['true', 'TRUE', ' 1 ', 'yes', 'On'])('%p is true', (text) => {
    expect(load({ QUEEN_LOG_JSON: text }).logging.json).toBe(true);
  });

  it.each(['false', '0', 'No', 'oFF', '', '   ', undefined])('%p is false', (text) => {
    expect(load({ QUEEN_LOG_JSON: text }).logging.json).toBe(false);
  });

  it.each(['maybe', '2', 'tru', 'enabled'])('%p stops the boot and names the variable', (text) => {
    expect(refusal({ QUEEN_LOG_JSON: text })).toContain('QUEEN_LOG_JSON');
  });
});

describe('engine switches', () => {
  it.each(['0', 'false', 'off', 'NO'])('%p turns an on switch off', (text) => {
    expect(load({ QUEEN_RAFT_METRICS: text }).planner.metrics).toBe(false);
  });

  it.each(['', '1', 'true', 'disabled', 'maybe'])('%p leaves it on', (text) => {
    expect(load({ QUEEN_RAFT_METRICS: text }).planner.metrics).toBe(true);
  });
});

describe('numbers', () => {
  it.each(['abc', '-5', '1.5', '1e3', '0x10', '99999999999999999999'])(
    '%p keeps the default and warns',
    (text) => {
      const { config, warnings: lines } = loadConfig({ QUEEN_STMT_TIMEOUT_MS: text });
      expect(config.server.stmtTimeoutMs).toBe(30_000);
      expect(lines).toEqual([expect.stringContaining('QUEEN_STMT_TIMEOUT_MS')]);
    },
  );

  it('goes to the nearest bound with a warning', () => {
    const env = {
      DEFAULT_TIMEOUT: '90000',
      QUEEN_EPHEMERAL_MAX_BYTES: '0',
      QUEEN_RAFT_GROUPS: '99',
    };
    const { config, warnings: lines } = loadConfig(env);
    expect(config.server.defaultTimeoutMs).toBe(60_000);
    expect(config.ephemeral.maxBytes).toBe(1);
    expect(config.raft.groups).toBe(64);
    expect(lines).toHaveLength(3);
  });

  it('keeps the default of the disk gate, timers and port outside their bounds', () => {
    const env = { QUEEN_RAFT_DISK_HIGH_PCT: '101', QUEEN_RAFT_ELECTION_MS: '0', PORT: '70000' };
    const { config, warnings: lines } = loadConfig(env);
    expect(config.storage.diskHighPct).toBe(85);
    expect(config.raft.electionMs).toBe(150);
    expect(config.server.port).toBe(6632);
    expect(lines).toHaveLength(3);
  });

  it('turns units into those of the key', () => {
    const config = load({ QUEEN_RAFT_PURGE_HOLD_S: '2', QUEEN_RAFT_LOG_CACHE_MB: '3' });
    expect(config.raft.purgeHoldMs).toBe(2000);
    expect(config.raft.logCacheBytes).toBe(3 << 20);
  });

  it('asks the alias only when the first name is unset', () => {
    expect(load({ POP_DEFAULT_TIMEOUT_MS: '7' }).server.defaultTimeoutMs).toBe(7);
    const both = { DEFAULT_TIMEOUT: '5', POP_DEFAULT_TIMEOUT_MS: '7' };
    expect(load(both).server.defaultTimeoutMs).toBe(5);
  });

  it('keeps the election above the heartbeat and the low mark below the high one', () => {
    const raft = loadConfig({ ...CLUSTER, QUEEN_RAFT_HEARTBEAT_MS: '2000', QUEEN_RAFT_TOKEN: 't' });
    expect(raft.config.raft).toMatchObject({ electionMs: 1000, heartbeatMs: 100 });
    expect(raft.warnings).toHaveLength(1);
    expect(load({ QUEEN_RAFT_DISK_HIGH_PCT: '70' }).storage.diskLowPct).toBe(70);
  });

  it('derives the admission budget', () => {
    const config = load({ QUEEN_RAFT_PIPELINE: '62', QUEEN_RAFT_BATCH_MAX_BYTES: '4194304' });
    expect(config.planner.admitMaxBytes).toBe(64 * 4194304);
    expect(load({ QUEEN_RAFT_ADMIT_MAX_MB: '0' }).planner.admitMaxBytes).toBe(0);
  });
});

describe('server', () => {
  it.each(['', '  ', '0.0.0.0:80', 'host:1', '[::1]:80', 'http://x'])(
    'refuses the bind host %p',
    (text) => {
      expect(refusal({ QUEEN_BIND_ADDR: text })).toContain('QUEEN_BIND_ADDR');
    },
  );

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['::', '::'],
    ['[::1]', '::1'],
    ['localhost', 'localhost'],
  ])('binds %p', (text, host) => {
    expect(load({ QUEEN_BIND_ADDR: text }).server.bindHost).toBe(host);
  });

  it.each([
    ['new-only', 'new'],
    ['new_only', 'new'],
    ['newonly', 'new'],
    ['new', 'new'],
    ['', 'new'],
    ['all', 'all'],
    ['earliest', 'all'],
  ])('subscription mode %p means %p', (text, mode) => {
    expect(load({ DEFAULT_SUBSCRIPTION_MODE: text }).server.defaultSubscriptionMode).toBe(mode);
  });
});

describe('authentication', () => {
  const on = (env: Environment): Environment => ({ JWT_ENABLED: 'true', ...env });

  it.each([
    [{}, 'JWT_SECRET'],
    [{ JWT_ALGORITHM: 'RS256', JWT_SECRET: 'x' }, 'JWT_PUBLIC_KEY or JWT_JWKS_URL'],
    [{ JWT_ALGORITHM: 'EdDSA', JWT_SECRET: 'x' }, 'JWT_PUBLIC_KEY or JWT_JWKS_URL'],
    [{ JWT_ALGORITHM: 'auto' }, 'JWT_SECRET'],
    [{ JWT_ALGORITHM: 'hs256', JWT_SECRET: 'x' }, 'JWT_ALGORITHM'],
    [{ JWT_ALGORITHM: 'none', JWT_SECRET: 'x' }, 'JWT_ALGORITHM'],
    [{ JWT_SECRET: '  ' }, 'JWT_SECRET'],
  ])('refuses %j', (env, text) => {
    expect(refusal(on(env))).toContain(text);
  });

  it.each([
    { JWT_SECRET: 'x' },
    { JWT_JWKS_URL: 'http://keys' },
    { JWT_ALGORITHM: 'auto', JWT_PUBLIC_KEY: 'pem' },
    { JWT_ALGORITHM: 'RS512', JWT_PUBLIC_KEY: 'pem' },
    { JWT_ALGORITHM: 'EdDSA', JWT_JWKS_URL: 'http://keys' },
  ])('accepts %j', (env) => {
    expect(load(on(env)).auth.enabled).toBe(true);
  });

  it('only warns about an unknown algorithm while it is off', () => {
    const { config, warnings: lines } = loadConfig({ JWT_ALGORITHM: 'none' });
    expect(config.auth.algorithm).toBe('HS256');
    expect(lines).toHaveLength(1);
  });

  it('keeps a secret byte for byte and unfolds a one-line PEM', () => {
    const config = load({ JWT_SECRET: ' s ', JWT_PUBLIC_KEY: 'a\\nb' });
    expect(config.auth.secret).toBe(' s ');
    expect(config.auth.publicKey).toBe('a\nb');
  });

  it('clears the skip paths when they are set but empty', () => {
    expect(load({ JWT_SKIP_PATHS: '' }).auth.skipPaths).toEqual([]);
    expect(load({ JWT_SKIP_PATHS: '/a, /b/' }).auth.skipPaths).toEqual(['/a', '/b/']);
    expect(load().auth.skipPaths).toContain('/health');
  });
});

describe('tenancy and encryption', () => {
  it('needs a trusted proxy, and grants follow', () => {
    expect(refusal({ QUEEN_TENANCY_HEADER: '1' })).toContain('QUEEN_KV_TRUSTED_PROXY');
    const env = { QUEEN_TENANCY_HEADER: '1', QUEEN_KV_TRUSTED_PROXY: '1' };
    expect(load(env).kv.requireGrant).toBe(true);
    expect(load({ ...env, QUEEN_EPHEMERAL_REQUIRE_GRANT: 'no' }).ephemeral.requireGrant).toBe(
      false,
    );
  });

  it.each(['short', 'g'.repeat(64), 'a'.repeat(63)])(
    'refuses the key %p without repeating it',
    (key) => {
      const message = refusal({ QUEEN_ENCRYPTION_KEY: key });
      expect(message).toContain('QUEEN_ENCRYPTION_KEY');
      expect(message).not.toContain(key);
    },
  );

  it('accepts 64 hex characters', () => {
    expect(load({ QUEEN_ENCRYPTION_KEY: 'AB'.repeat(32) }).security.encryptionKey).toBe(
      'ab'.repeat(32),
    );
  });
});

describe('cluster', () => {
  it('reads the peer list, its own listener and the longer timers', () => {
    const { raft } = load({ ...CLUSTER, QUEEN_RAFT_NODE_ID: '2' });
    expect(raft.peers.map((peer) => peer.nodeId)).toEqual([1, 2, 3]);
    expect(raft.peers[1]).toEqual({
      nodeId: 2,
      raft: { host: 'b', port: 7400 },
      http: { host: 'b', port: 6632 },
    });
    expect(raft).toMatchObject({
      clustered: true,
      singleVoter: false,
      listen: { host: '0.0.0.0', port: 7400 },
      electionMs: 1000,
      heartbeatMs: 100,
    });
  });

  it('reads IPv6 peers', () => {
    const env = { QUEEN_RAFT_REPLICATOR: 'raft', QUEEN_RAFT_PEERS: '1=[::1]:7400/[::1]:6632' };
    expect(load(env).raft.peers[0]?.raft).toEqual({ host: '::1', port: 7400 });
    expect(load(env).raft.electionMs).toBe(150);
  });

  it.each([
    '0=a:1/a:2',
    'x=a:1/a:2',
    '1=a:1',
    '1=a/a:2',
    '1=a:1/a',
    '1=a:0/a:2',
    '1=a:70000/a:2',
    'a:1/a:2',
    '1=a:1/a:2,1=b:1/b:2',
    '1=a:1/a:2,2=a:1/b:2',
  ])('refuses the peers %p', (peers) => {
    const env = { QUEEN_RAFT_REPLICATOR: 'openraft', QUEEN_RAFT_PEERS: peers };
    expect(refusal(env)).toMatch(/^QUEEN_RAFT_PEERS /);
  });

  it.each([
    [{ QUEEN_RAFT_PEERS: PEERS }, 'QUEEN_RAFT_PEERS needs QUEEN_RAFT_REPLICATOR=openraft'],
    [{ QUEEN_RAFT_REPLICATOR: 'paxos' }, 'QUEEN_RAFT_REPLICATOR'],
    [{ ...CLUSTER, QUEEN_RAFT_NODE_ID: '9' }, 'QUEEN_RAFT_NODE_ID=9 is not in QUEEN_RAFT_PEERS'],
    [{ QUEEN_RAFT_NODE_ID: '0' }, 'QUEEN_RAFT_NODE_ID'],
    [{ QUEEN_RAFT_NODE_ID: 'one' }, 'QUEEN_RAFT_NODE_ID'],
    [{ QUEEN_RAFT_NODE_ID: 'ordinal' }, 'HOSTNAME'],
    [{ QUEEN_RAFT_NODE_ID: 'ordinal', HOSTNAME: 'queen' }, 'HOSTNAME'],
    [{ QUEEN_RAFT_DIR: '' }, 'QUEEN_RAFT_DIR'],
    [{ QUEEN_RAFT_LISTEN: '7400' }, 'QUEEN_RAFT_LISTEN'],
    [{ QUEEN_RAFT_GROUPS: 'many' }, 'QUEEN_RAFT_GROUPS'],
    [{ QUEEN_TENANT_GROUPS: 'a=1' }, 'QUEEN_TENANT_GROUPS'],
    [{ QUEEN_TENANT_GROUPS: 'a' }, 'QUEEN_TENANT_GROUPS'],
    [{ QUEEN_TENANT_GROUPS: 'a=0,a=0' }, 'QUEEN_TENANT_GROUPS'],
    [{ QUEEN_RAFT_APPLY_SKIP: '0' }, 'QUEEN_RAFT_APPLY_SKIP'],
    [{ QUEEN_RAFT_APPLY_SKIP: '5:xyz' }, 'QUEEN_RAFT_APPLY_SKIP'],
    [{ QUEEN_RAFT_APPLY_SKIP: 'g1/5' }, 'QUEEN_RAFT_APPLY_SKIP'],
    [{ QUEEN_RAFT_FORCE_RECOVER: 'yes' }, 'QUEEN_RAFT_FORCE_RECOVER'],
    [{ QUEEN_RAFT_FORCE_RECOVER: '2' }, 'names the ONE surviving node'],
    [{ QUEEN_RAFT_JOIN: 'true' }, 'QUEEN_RAFT_JOIN'],
    [{ QUEEN_RAFT_TLS_CERT: 'a' }, 'QUEEN_RAFT_TLS_CERT'],
    [
      {
        QUEEN_RAFT_REPLICATOR: 'raft',
        QUEEN_RAFT_PEERS: '1=a:65535/a:1',
        QUEEN_RAFT_GROUPS: '2',
      },
      'no port for group 1',
    ],
  ])('refuses %j', (env, text) => {
    expect(refusal(env)).toContain(text);
  });

  it('takes the node id from the pod', () => {
    const env = { ...CLUSTER, QUEEN_RAFT_NODE_ID: 'ordinal', HOSTNAME: 'queen-2' };
    expect(load(env).raft.nodeId).toBe(3);
  });

  it('reads skips and pinned tenants', () => {
    const { raft } = load({
      QUEEN_RAFT_GROUPS: '3',
      QUEEN_RAFT_APPLY_SKIP: '17, g2/9:AbC0',
      QUEEN_TENANT_GROUPS: 'a=b=2,c=0',
    });
    expect(raft.applySkip).toEqual([
      { group: 0, index: 17, digest: null },
      { group: 2, index: 9, digest: 'abc0' },
    ]);
    expect(raft.tenantGroups).toEqual([
      { tenant: 'a=b', group: 2 },
      { tenant: 'c', group: 0 },
    ]);
  });

  it('warns about an open raft port', () => {
    expect(warnings(CLUSTER).join()).toContain('QUEEN_RAFT_TOKEN and QUEEN_RAFT_TLS_CA are unset');
    expect(warnings({ ...CLUSTER, QUEEN_RAFT_TOKEN: 't' })).toEqual([]);
    expect(warnings({ ...CLUSTER, QUEEN_RAFT_LISTEN: '127.0.0.1:7400' })).toEqual([]);
  });
});

describe('ignored and unknown variables', () => {
  it('names them and never their text', () => {
    const lines = warnings({ QUEEN_LINK_TOKEN: 'hush', QUEEN_LANES: '3', QUEEN_PROT: '1' });
    expect(lines).toEqual([
      'QUEEN_LANES is set and ignored: there are no planning lanes',
      'QUEEN_LINK_TOKEN is set and ignored: the standby link is out of scope',
      'QUEEN_PROT is set and unknown: is it misspelled?',
    ]);
  });

  it('knows the names that Kubernetes injects for a Service "queen"', () => {
    const env = {
      QUEEN_SERVICE_HOST: '10.0.0.1',
      QUEEN_SERVICE_PORT_HTTP: '6632',
      QUEEN_PORT: 'tcp://10.0.0.1:6632',
      QUEEN_PORT_6632_TCP_ADDR: '10.0.0.1',
    };
    expect(warnings(env)).toEqual([]);
  });
});
