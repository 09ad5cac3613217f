/**
 * `npm run cluster`: three nodes on this machine, for trying things out. HTTP on 16632, 26632, 36632,
 * raft ports 17400, 27400, 37400, data in ./data/cluster/n1…n3. Prints the roles whenever they change;
 * Ctrl-C stops the followers first and the leader last.
 */
'use strict';

const { spawn } = require('node:child_process');
const { join } = require('node:path');
const { ensureBuilt, ensureInstalled, requireNode } = require('./launch/fresh.cjs');

const root = join(__dirname, '..');
const IDS = [1, 2, 3];
const POLL_MS = 500;
const REPEAT_MS = 1000;
const STOP_MS = 30_000;
/** A node has received a snapshot and is to be started again to load it. */
const EXIT_RELOAD = 75;

const httpPort = (id) => id * 10_000 + 6632;
const raftPort = (id) => id * 10_000 + 7400;
const peers = IDS.map((id) => `${id}=127.0.0.1:${raftPort(id)}/127.0.0.1:${httpPort(id)}`).join(
  ',',
);

function nodeEnv(id) {
  return {
    QUEEN_RAFT_TOKEN: 'local-cluster',
    ...process.env,
    QUEEN_RAFT_REPLICATOR: 'raft',
    QUEEN_RAFT_PEERS: peers,
    QUEEN_RAFT_NODE_ID: String(id),
    QUEEN_RAFT_LISTEN: `127.0.0.1:${raftPort(id)}`,
    QUEEN_RAFT_DIR: join(process.env.QUEEN_RAFT_DIR ?? join(root, 'data'), 'cluster', `n${id}`),
    QUEEN_BIND_ADDR: '127.0.0.1',
    PORT: String(httpPort(id)),
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'warn',
  };
}

/** Each node in a process group of its own, so that Ctrl-C reaches only this process. */
function startNode(id) {
  const child = spawn(process.execPath, [join(__dirname, 'queen.cjs')], {
    env: nodeEnv(id),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: process.platform !== 'win32',
  });
  const show = (chunk) => {
    for (const line of chunk.toString().split('\n')) if (line !== '') console.log(`n${id} ${line}`);
  };
  child.stdout.on('data', show);
  child.stderr.on('data', show);
  child.on('exit', (code, signal) => {
    console.log(`node ${id} ended (${signal ?? code})`);
    nodes.delete(id);
    if (code === EXIT_RELOAD && !stopping) {
      nodes.set(id, startNode(id));
      return;
    }
    if (!stopping && nodes.size === 0) process.exit(1);
  });
  return child;
}

async function roleOf(id) {
  try {
    const response = await fetch(`http://127.0.0.1:${httpPort(id)}/health`, {
      signal: AbortSignal.timeout(POLL_MS),
    });
    const { raft } = await response.json();
    return response.status === 200 ? raft.role : `${raft.role} (not ready)`;
  } catch {
    return nodes.has(id) ? 'starting' : 'down';
  }
}

async function roles() {
  return Promise.all(IDS.map((id) => roleOf(id)));
}

async function watchRoles() {
  let shown = '';
  while (!stopping) {
    const now = (await roles()).map((role, i) => `${IDS[i]}: ${role}`).join('   ');
    if (now !== shown && !stopping) console.log(now);
    shown = now;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

function stopNode(id) {
  const child = nodes.get(id);
  if (child === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill('SIGTERM');
  });
}

let stopping = false;
let stoppedAt = -Infinity;

/** Followers first: the leader then has nobody to hand over to and just ends. */
async function stopAll() {
  if (performance.now() - stoppedAt < REPEAT_MS || stopping) return;
  stoppedAt = performance.now();
  stopping = true;
  console.log('stopping');
  const known = await roles();
  const last = IDS.filter((_, i) => known[i] === 'leader');
  for (const id of IDS.filter((id) => !last.includes(id))) await stopNode(id);
  for (const id of last) await stopNode(id);
  process.exit(0);
}

requireNode(root);
ensureInstalled(root);
ensureBuilt(root);

const nodes = new Map();
for (const id of IDS) nodes.set(id, startNode(id));
process.on('SIGINT', () => void stopAll());
process.on('SIGTERM', () => void stopAll());
process.on('exit', () => {
  for (const child of nodes.values()) child.kill('SIGKILL');
});
console.log(IDS.map((id) => `node ${id}: http://127.0.0.1:${httpPort(id)}`).join('\n'));
void watchRoles();
