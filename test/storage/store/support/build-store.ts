/**
 * Compiles src/storage into plain ES modules in a temporary directory, so that a child process can
 * run the real store and be killed. Replacements in the text plant bugs; a replacement that finds
 * nothing fails the build, so that a planted bug cannot rot away unseen.
 */
import { transformSync } from '@swc/core';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

export interface PlantedBug {
  /** File below src/storage. */
  file: string;
  find: string;
  replace: string;
}

const ROOT = resolve(__dirname, '../../../..');
const SOURCE = join(ROOT, 'src/storage');

const builds: string[] = [];

/** Answers the directory of the build, there until `removeBuilds`; `store.js` in it is the entry. */
export function buildStore(bugs: PlantedBug[] = []): string {
  const target = mkdtempSync(join(tmpdir(), 'queen-store-build-'));
  builds.push(target);
  writeFileSync(join(target, 'package.json'), '{"type":"module"}');
  symlinkSync(join(ROOT, 'node_modules'), join(target, 'node_modules'));
  for (const name of readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.ts') || name.endsWith('.spec.ts') || name.startsWith('id-index')) continue;
    let text = readFileSync(join(SOURCE, name), 'utf8');
    for (const bug of bugs.filter(({ file }) => file === name)) {
      if (!text.includes(bug.find))
        throw new Error(`planted bug finds nothing in ${name}: ${bug.find}`);
      text = text.replaceAll(bug.find, bug.replace);
    }
    const { code } = transformSync(text, {
      filename: name,
      swcrc: false,
      jsc: {
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
        target: 'es2022',
      },
      module: { type: 'es6' },
    });
    const out = join(target, name.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(out), { recursive: true });
    writeFileSync(out, code);
  }
  return target;
}

/** Jest tells nobody that its process ends. */
export function removeBuilds(): void {
  for (const build of builds.splice(0)) rmSync(build, { recursive: true, force: true });
}
