/**
 * `npm run mutation -- --core …`, `-- --group …` or `-- --durability …`: the planted bugs of one room,
 * each in a copy of the sources, run by the suites that must notice. Without any of them all run.
 */
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = dirname(fileURLToPath(import.meta.url));
const RUNNERS = {
  '--core': 'run-core.mjs',
  '--group': 'run-group.mjs',
  '--durability': 'durability/run.mjs',
};

const args = process.argv.slice(2);
const named = Object.keys(RUNNERS).filter((name) => args.includes(name));
const rest = args.filter((arg) => !(arg in RUNNERS));
for (const name of named.length > 0 ? named : Object.keys(RUNNERS)) {
  const command = [join(folder, RUNNERS[name]), ...rest];
  const { status } = spawnSync(process.execPath, command, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
