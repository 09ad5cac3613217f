/**
 * `npm run mutation -- --core …`, `--group …`, `--collector …`, `--durability …`: the planted bugs of one
 * room, each in a copy of the sources, run by the suites that must notice. `--compile` asks only whether
 * all of them are programs. Without any of these everything runs.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = dirname(fileURLToPath(import.meta.url));
const RUNNERS = {
  '--compile': ['compile.mjs'],
  '--core': ['run-specs.mjs', 'core'],
  '--group': ['run-specs.mjs', 'group'],
  '--collector': ['run-specs.mjs', 'collector'],
  '--durability': ['durability/run.mjs'],
};

const args = process.argv.slice(2);
const named = Object.keys(RUNNERS).filter((name) => args.includes(name));
const rest = args.filter((arg) => !(arg in RUNNERS));
for (const name of named.length > 0 ? named : Object.keys(RUNNERS)) {
  const [script, ...fixed] = RUNNERS[name];
  const command = [join(folder, script), ...fixed, ...rest];
  const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
