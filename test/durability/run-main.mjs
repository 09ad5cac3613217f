/** Builds the tree and runs one program of it: `run-main.mjs power-loss/main.js 1,2,3`. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { buildTree } from './support/build-tree.mjs';

const [main = '', ...rest] = process.argv.slice(2);
const args = ['--enable-source-maps', join(buildTree(), 'test/durability', main), ...rest];
process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
