/**
 * The lists of planted bugs: compiled from their TypeScript, for scripts that run without a loader. Each
 * mutant with its whole text, undefined when its place is not found exactly once.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformFileSync } from '@swc/core';

const here = dirname(fileURLToPath(import.meta.url));
export const ROOT = resolve(here, '../..');

/** `sources`: where files of the list lie. `copied`: what its specs need. */
export const ROOMS = {
  core: {
    title: 'Consensus core',
    list: ['core-mutants', 'CORE_MUTANTS'],
    sources: 'src/raft/core',
    copied: [
      ...['src/common', 'src/raft/core'],
      ...['test/conformance', 'test/scenarios', 'test/sim/core'],
    ],
    flags: [],
  },
  group: {
    title: 'Group and cluster driver',
    list: ['group-mutants', 'GROUP_MUTANTS'],
    sources: 'src',
    copied: ['src', 'test/support', 'test/sim'],
    flags: ['--forceExit'],
  },
  collector: {
    title: 'Retention and collector of log segments',
    list: ['collector-mutants', 'COLLECTOR_MUTANTS'],
    sources: 'src',
    copied: ['src', 'test/support'],
    flags: ['--forceExit'],
  },
};

export async function loadMutants(room) {
  const { list, sources } = ROOMS[room];
  const folder = mkdtempSync(join(tmpdir(), 'queen-mutant-list-'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  try {
    for (const name of readdirSync(here).filter((file) => file.endsWith('.ts'))) {
      const { code } = transformFileSync(join(here, name), {
        jsc: { parser: { syntax: 'typescript' }, target: 'es2022' },
        module: { type: 'es6' },
        swcrc: false,
      });
      writeFileSync(join(folder, name.replace(/\.ts$/, '.js')), code);
    }
    const [module, name] = list;
    const mutants = (await import(pathToFileURL(join(folder, `${module}.js`)).href))[name];
    return mutants.map((mutant) => ({ ...mutant, ...patched(join(sources, mutant.file), mutant) }));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function patched(file, { find, replace }) {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const fits = text.split(find).length === 2;
  return { file, patched: fits ? text.replace(find, () => replace) : undefined };
}
