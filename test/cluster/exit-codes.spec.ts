/**
 * How a process ends (cluster.md §2.9), by its code, on real processes. 75: snapshot-kills.spec.ts. What
 * stays up with role `stopped`: full-disk.spec.ts (log write), apply-failure.spec.ts (apply). Never 139:
 * damage-matrix.spec.ts (a damaged store is 1, with a line).
 */
import { ClusterProcesses } from '../support/cluster-processes.js';
import { patchedBuild } from '../support/patched-build.js';
import { SINGLE } from './operations/damage-scene.js';

jest.setTimeout(480_000);

const LISTENING = "logger.child('boot').info('listening', {";

let cluster: ClusterProcesses;

async function start(env: Readonly<Record<string, string>> = {}, root = '.'): Promise<void> {
  cluster = await ClusterProcesses.start({ size: 1, env: { ...SINGLE, ...env }, root });
}

afterEach(() => cluster.remove());

it.each(['SIGTERM', 'SIGINT'] as const)('0: a graceful stop by %s', async (signal) => {
  await start();
  await cluster.ready(1);
  expect(await cluster.stop(1, signal)).toBe(0);
  expect(cluster.node(1).log).toContain('shutdown complete');
});

it.each([
  [
    'a setting that cannot be read',
    { QUEEN_RAFT_PEERS: '1=nonsense' },
    /FATAL: .*QUEEN_RAFT_PEERS/,
  ],
  ['an empty data directory setting', { QUEEN_RAFT_DIR: '' }, /FATAL: .*QUEEN_RAFT_DIR/],
  [
    'a data directory that cannot be made',
    { QUEEN_RAFT_DIR: '/dev/null/none' },
    /FATAL: .*\/dev\/null/,
  ],
  ['an address that is not its own', { QUEEN_BIND_ADDR: '192.0.2.1' }, /FATAL: .*192\.0\.2\.1/],
  [
    'a node that is not listed',
    { QUEEN_RAFT_REPLICATOR: 'raft', QUEEN_RAFT_NODE_ID: '9', QUEEN_RAFT_PEERS: '1=h:1/h:2' },
    /FATAL: .*QUEEN_RAFT_NODE_ID=9 is not in QUEEN_RAFT_PEERS/,
  ],
])('1: %s', async (_, env, line) => {
  await start(env);
  expect(await cluster.node(1).ended(60_000)).toBe(1);
  expect(cluster.node(1).log).toMatch(line);
});

it('1: a directory, and a port, that another process has', async () => {
  await start();
  await cluster.ready(1);
  const { http } = cluster.node(1).ports;
  const inUse = await cluster.node(1).command(['start']);
  expect(inUse).toMatchObject({ code: 1 });
  expect(inUse.output).toMatch(/FATAL: .* is in use by another process/);
  const free = { QUEEN_RAFT_DIR: `${cluster.directoryOf(1)}-other`, PORT: String(http) };
  cluster.node(1).setEnv(free);
  const bound = await cluster.node(1).command(['start']);
  expect(bound).toMatchObject({ code: 1 });
  expect(bound.output).toMatch(/FATAL: .*EADDRINUSE/);
});

it('2: an unknown command; 0: the help', async () => {
  await start();
  expect(await cluster.node(1).command(['brew'])).toMatchObject({ code: 2 });
  expect(await cluster.node(1).command(['help'])).toMatchObject({ code: 0 });
});

it.each([
  ['an exception', "throw new Error('planted fault')"],
  ['a rejection', "void Promise.reject(new Error('planted fault'))"],
])('134: %s that nobody caught, with a line', async (_, fault) => {
  const find = LISTENING;
  const replace = `setTimeout(() => { ${fault}; }, 200); ${find}`;
  const build = await patchedBuild([{ file: 'lifecycle/process.ts', find, replace }]);
  try {
    await start({}, build.root);
    const node = cluster.node(1);
    // As a shell counts: 128 + SIGABRT.
    expect(await node.endedBy(60_000)).toBe('SIGABRT');
    expect(node.log).toMatch(/ERROR panic: core panic: aborting .*fatal=true.*planted fault/s);
  } finally {
    await build.remove();
  }
});
