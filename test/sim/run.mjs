/**
 * `npm run sim -- [--seeds N] [--first S] [--seed S] [--storm SECONDS]`: runs the group simulator outside Jest
 * on transpiled sources and prints each seed. A failing seed ends with status 1 and replays exactly with
 * `--seed`.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformFileSync } from '@swc/core';

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
const { main } = await import(pathToFileURL(join(out, 'test/sim/group/main.js')).href);
process.exitCode = await main(process.argv.slice(2));
