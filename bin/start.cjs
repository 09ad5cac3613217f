/**
 * `npm start`: from a fresh clone to a running broker. Installs and builds when needed, keeps the data
 * in ./data unless QUEEN_RAFT_DIR says otherwise, and runs the launcher as its child so that Ctrl-C,
 * which npm sends a second time, stops the broker once.
 */
'use strict';

const { join } = require('node:path');
const { runAsChild } = require('./launch/child.cjs');
const { ensureBuilt, ensureInstalled, requireNode } = require('./launch/fresh.cjs');
const { wantedHeapMib } = require('./launch/heap.cjs');
const { raiseThreadPool } = require('./launch/pool.cjs');

const root = join(__dirname, '..');

requireNode(root);
ensureInstalled(root);
ensureBuilt(root);

const env = { ...process.env };
env.QUEEN_RAFT_DIR ??= join(root, 'data');
raiseThreadPool(env);
const heapMib = wantedHeapMib();
runAsChild(join(__dirname, 'queen.cjs'), {
  args: process.argv.length > 2 ? process.argv.slice(2) : ['start'],
  nodeFlags: heapMib === null ? [] : [`--max-old-space-size=${heapMib}`],
  env,
});
