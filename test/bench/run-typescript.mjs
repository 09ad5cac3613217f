/**
 * Runs one TypeScript bench outside Jest, whose sandbox slows every access to a global: transpiles
 * `src` and the rooms of tests below into a temporary directory and imports the file.
 *
 *   node --expose-gc test/bench/run-typescript.mjs test/bench/tables-memory.ts
 */
import { transformFileSync } from '@swc/core';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const OPTIONS = {
  swcrc: false,
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2022',
  },
  module: { type: 'es6' },
};

const bench = process.argv[2];
if (bench === undefined) throw new Error('name a bench, e.g. test/bench/tables-memory.ts');
const out = mkdtempSync(join(tmpdir(), 'queen-bench-'));
process.on('exit', () => rmSync(out, { recursive: true, force: true }));

for (const root of [
  'src',
  'test/bench',
  'test/crash',
  'test/cluster',
  'test/dashboard',
  'test/fuzz',
  'test/support',
]) {
  for (const file of readdirSync(root, { recursive: true })) {
    if (!file.endsWith('.ts') || file.endsWith('.spec.ts') || file.endsWith('.d.ts')) continue;
    const target = join(out, root, file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, transformFileSync(join(root, file), OPTIONS).code);
  }
}
writeFileSync(join(out, 'package.json'), '{"type":"module"}');
symlinkSync(resolve('node_modules'), join(out, 'node_modules'));
process.argv.splice(1, 2, join(out, bench));
await import(pathToFileURL(join(out, bench.replace(/\.ts$/, '.js'))).href);
