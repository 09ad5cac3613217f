import { buildTree } from '/work/main/test/durability/support/build-tree.mjs';
import { spawnSync } from 'node:child_process';
const out = buildTree();
console.time('run');
const r = spawnSync(
  process.execPath,
  ['--enable-source-maps', out + '/test/durability/damage/main.js', ...process.argv.slice(2)],
  { encoding: 'utf8', timeout: 580000, maxBuffer: 1e9 },
);
console.timeEnd('run');
console.log(r.status, r.stderr.slice(0, 9000));
try {
  const j = JSON.parse(r.stdout.trim().split('\n').pop());
  console.log(j.answers, j.files, j.failures.length);
  console.log(j.rows.map((x) => Object.values(x).join(' | ')).join('\n'));
} catch (e) {
  console.log(r.stdout.slice(-2000));
}
