/**
 * Transpiles the rooms a group needs and the tests into a temporary directory that plain Node
 * runs, outside Jest's sandbox. Patches change single source files on the way: that is how a mutant
 * is made without touching the repository.
 */
import { transformSync } from '@swc/core';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const ROOMS = [
  ...['common', 'config', 'logging', 'machine', 'raft', 'reads', 'storage'],
  'coordinators/retention',
];
const TESTS = ['test/support', 'test/durability', 'test/storage/wal'];
const TREES = [...ROOMS.map((room) => `src/${room}`), ...TESTS];
const OPTIONS = {
  swcrc: false,
  jsc: {
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true },
    target: 'es2022',
  },
  module: { type: 'es6' },
};

function transpiled(file, text) {
  return transformSync(text, { ...OPTIONS, filename: file }).code;
}

/** Builds everything; answers the directory. Removed when this process ends. */
export function buildTree() {
  const out = mkdtempSync(join(tmpdir(), 'queen-durability-build-'));
  process.on('exit', () => rmSync(out, { recursive: true, force: true }));
  for (const tree of TREES) {
    for (const name of readdirSync(join(ROOT, tree), { recursive: true })) {
      if (!name.endsWith('.ts') || name.endsWith('.spec.ts') || name.endsWith('.d.ts')) continue;
      const file = join(tree, name);
      const target = join(out, file.replace(/\.ts$/, '.js'));
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, transpiled(file, readFileSync(join(ROOT, file), 'utf8')));
    }
  }
  writeFileSync(join(out, 'package.json'), '{"type":"module"}');
  symlinkSync(join(ROOT, 'node_modules'), join(out, 'node_modules'));
  return out;
}

/** Puts another text of one source file into a built tree; the result puts the true one back. */
export function plant(out, file, text) {
  const target = join(out, file.replace(/\.ts$/, '.js'));
  const original = readFileSync(target);
  writeFileSync(target, transpiled(file, text));
  return () => writeFileSync(target, original);
}
