/**
 * `npm test`: works on a fresh clone. Installs and builds when needed (some tests start the built
 * broker), then runs Jest with the given arguments; the default configuration holds unit and
 * integration tests.
 */
'use strict';

const { spawnSync } = require('node:child_process');
const { join } = require('node:path');
const { ensureBuilt, ensureInstalled, requireNode } = require('./launch/fresh.cjs');

const root = join(__dirname, '..');

requireNode(root);
ensureInstalled(root);
ensureBuilt(root);

const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const result = spawnSync(process.execPath, [jest, ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
});
process.exit(result.status ?? 1);
