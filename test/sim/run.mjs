/**
 * `npm run sim -- [--seeds N] [--first S] [--seed S] [--storm SECONDS] [--cores SECONDS]`: runs the core
 * simulator, then the group simulator outside Jest on transpiled sources and prints each seed of the latter.
 * `--seed` runs exactly that seed of both, `--first` moves both ranges (cores: another one every hour without
 * it). A failing seed ends with status 1 and replays exactly with `--seed`. `--coverage` tells which production functions the simulation entered; with `--evidence` the table
 * goes to docs/evidence.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformFileSync } from '@swc/core';
import {
  coverageTables,
  neverEntered,
  PAGE,
  startCoverage,
  takeCoverage,
  writeCoverage,
} from './coverage.mjs';

const OPTIONS = {
  swcrc: false,
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2022',
  },
  module: { type: 'es6' },
};

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const out = mkdtempSync(join(tmpdir(), 'queen-sim-'));
process.on('exit', () => rmSync(out, { recursive: true, force: true }));
for (const folder of ['src', 'test/sim', 'test/support']) {
  for (const file of readdirSync(join(root, folder), { recursive: true })) {
    if (!file.endsWith('.ts') || file.endsWith('.spec.ts') || file.endsWith('.d.ts')) continue;
    const target = join(out, folder, file.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, transformFileSync(join(root, folder, file), OPTIONS).code);
  }
}
writeFileSync(join(out, 'package.json'), '{"type":"module"}');
symlinkSync(join(root, 'node_modules'), join(out, 'node_modules'));
const args = process.argv.slice(2);
const coverage = args.includes('--coverage') ? await startCoverage() : null;
const { main } = await import(pathToFileURL(join(out, 'test/sim/group/main.js')).href);
const cores = await import(pathToFileURL(join(out, 'test/sim/core/main.js')).href);
// What the group simulator enters is not to be mixed with it.
const coresFailed = coverage === null ? cores.main(args) : 0;
process.exitCode = (await main(args)) || coresFailed;
if (coverage !== null) {
  const files = await takeCoverage(coverage, `${pathToFileURL(join(out, 'src')).href}/`);
  const table = coverageTables(files);
  process.stdout.write(`\n${table}\n`);
  const missing = neverEntered(files);
  for (const file of missing) process.stdout.write(`never entered: src/${file}.ts\n`);
  if (missing.length > 0) process.exitCode = 1;
  if (args.includes('--evidence')) {
    const command = `npm run sim -- ${args.join(' ')}`;
    writeCoverage(table, { command, passed: process.exitCode === 0 });
    process.stdout.write(`written: ${PAGE}\n`);
  }
}
