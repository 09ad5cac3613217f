/**
 * `npm run cluster`: three nodes on this machine, for trying things out. HTTP on 16632, 26632, 36632,
 * raft ports 17400, 27400, 37400, data in ./data/cluster/n1…n3. Prints the roles whenever they change;
 * Ctrl-C stops the followers first and the leader last. `npm run cluster -- --only 2` runs one of them.
 */
'use strict';

const { spawn } = require('node:child_process');
const { join } = require('node:path');
const { parseArgs } = require('node:util');
const { ensureBuilt, ensureInstalled, requireNode } = require('./launch/fresh.cjs');

const root = join(__dirname, '..');
const IDS = [1, 2, 3];
const POLL_MS = 500;
const REPEAT_MS = 1000;
/** A node ends by itself within 56 s (src/lifecycle/stop-serving.ts). */
const STOP_MS = 60_000;
/** A node has received a snapshot and is to be started again to load it. */
const EXIT_RELOAD = 75;
const EXIT_USAGE = 2;

const USAGE = `usage: npm run cluster [-- --only N]

Runs three nodes on this machine until Ctrl-C; their data stays in data/cluster/n1 to n3, or
below QUEEN_RAFT_DIR. "kill <pid>" stops one of them; --only N starts that one again, from
another terminal. LOG_LEVEL=info shows more.
`;

const httpPort = (id) => id * 10_000 + 6632;
const raftPort = (id) => id * 10_000 + 7400;
const peers = IDS.map((id) => `${id}=127.0.0.1:${raftPort(id)}/127.0.0.1:${httpPort(id)}`).join(
  ',',
);

/** Below one directory, so that the data of a node is found again by its number. */
function dataDirectory(id) {
  return join(process.env.QUEEN_RAFT_DIR ?? join(root, 'data'), 'cluster', `n${id}`);
}

function nodeEnv(id) {
  return {
    QUEEN_RAFT_TOKEN: 'local-cluster',
    ...process.env,
    QUEEN_RAFT_REPLICATOR: 'raft',
    QUEEN_RAFT_PEERS: peers,
    QUEEN_RAFT_NODE_ID: String(id),
    QUEEN_RAFT_LISTEN: `127.0.0.1:${raftPort(id)}`,
    QUEEN_RAFT_DIR: dataDirectory(id),
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
    for (const line of chunk.toString().split('\n')) {
      if (line !== '' && !isOfTheStop(line)) console.log(`n${id} ${line}`);
    }
  };
  child.stdout.on('data', show);
  child.stderr.on('data', show);
  console.log(
    `node ${id}: http://127.0.0.1:${httpPort(id)}, pid ${child.pid}, ${dataDirectory(id)}`,
  );
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

/** The leader stops last: that nobody acknowledges any more is meant then. */
function isOfTheStop(line) {
  return stopping && line.includes('no quorum acknowledgement');
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

/** The nodes to run: all of them, or the one that is asked for. */
function wantedIds() {
  try {
    const options = { only: { type: 'string' }, help: { type: 'boolean', short: 'h' } };
    const { only, help } = parseArgs({ options }).values;
    if (help === true) {
      process.stdout.write(USAGE);
      process.exit(0);
    }
    if (only === undefined) return IDS;
    if (IDS.map(String).includes(only)) return [Number(only)];
    throw new Error(`there is no node ${JSON.stringify(only)}`);
  } catch (error) {
    process.stderr.write(`queen cluster: ${error.message}\n${USAGE}`);
    process.exit(EXIT_USAGE);
  }
}

const wanted = wantedIds();
requireNode(root);
ensureInstalled(root);
ensureBuilt(root);

const nodes = new Map();
for (const id of wanted) nodes.set(id, startNode(id));
process.on('SIGINT', () => void stopAll());
process.on('SIGTERM', () => void stopAll());
process.on('exit', () => {
  for (const child of nodes.values()) child.kill('SIGKILL');
});
void watchRoles();
