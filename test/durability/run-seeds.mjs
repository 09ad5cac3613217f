/** Builds the tree and runs the given seeds of the power-loss suite: `run-seeds.mjs 1,2,3`. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { buildTree } from './support/build-tree.mjs';

const script = join(buildTree(), 'test/durability/power-loss/main.js');
const args = ['--enable-source-maps', script, ...process.argv.slice(2)];
process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
