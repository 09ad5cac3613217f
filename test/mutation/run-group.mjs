/**
 * Runs the planted bugs of group-mutants.ts: for each, a copy of the sources with the patch is tested by the
 * specs named for it. Prints a table; exits 1 when a mutant survives or a patch no longer fits.
 *
 *   node test/mutation/run-group.mjs [--only <text>] [--part <i>/<n>] [--with <jest pattern>]
 *
 * `--with test/sim/group` asks whether the simulator alone would notice.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
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
import { fileURLToPath, pathToFileURL } from 'node:url';
import { transformFileSync } from '@swc/core';

const here = dirname(fileURLToPath(import.meta.url));
const root = resolve(here, '../..');
const COPIED = ['src', 'test/support', 'test/sim'];

/** The list is TypeScript; it is compiled aside, since this script runs without a loader. */
async function loadMutants() {
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
    const list = await import(pathToFileURL(join(folder, 'group-mutants.js')).href);
    return list.GROUP_MUTANTS;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function sandbox() {
  const folder = mkdtempSync(join(tmpdir(), 'queen-mutants-'));
  for (const part of COPIED) {
    mkdirSync(dirname(join(folder, part)), { recursive: true });
    cpSync(join(root, part), join(folder, part), { recursive: true });
  }
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  const base = JSON.stringify(pathToFileURL(join(root, 'jest.config.mjs')).href);
  writeFileSync(
    join(folder, 'jest.config.mjs'),
    `import base from ${base};\nexport default { ...base, roots: ['<rootDir>/src', '<rootDir>/test'] };\n`,
  );
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** True when the specs fail, that is, the bug is noticed. */
function isNoticed(folder, pattern) {
  const jest = join(root, 'node_modules/jest/bin/jest.js');
  const run = spawnSync(
    process.execPath,
    [jest, pattern, '--maxWorkers=1', '--bail', '--silent', '--forceExit'],
    {
      cwd: folder,
      encoding: 'utf8',
      env: {
        ...process.env,
        QUEEN_GROUP_SIM_MILLIS: process.env.QUEEN_GROUP_SIM_MILLIS ?? '20000',
      },
    },
  );
  if (run.stderr.includes('No tests found')) throw new Error(`no tests match ${pattern}`);
  return run.status !== 0;
}

function tryMutant(folder, mutant) {
  const path = join(folder, 'src', mutant.file);
  const original = readFileSync(path, 'utf8');
  if (original.split(mutant.find).length !== 2) return 'does not fit';
  writeFileSync(
    path,
    original.replace(mutant.find, () => mutant.replace),
  );
  try {
    const killer = mutant.killedBy.find((pattern) => isNoticed(folder, pattern));
    return killer === undefined ? 'SURVIVED' : `killed by ${killer}`;
  } finally {
    writeFileSync(path, original);
  }
}

function option(name) {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

function chosen(mutants) {
  const only = option('--only');
  const [part, parts] = (option('--part') ?? '1/1').split('/').map(Number);
  const pattern = option('--with');
  return mutants
    .map((mutant) => (pattern === undefined ? mutant : { ...mutant, killedBy: [pattern] }))
    .filter((mutant) => only === undefined || mutant.name.includes(only))
    .filter((_, i) => i % parts === part - 1);
}

/** A suite that fails by itself would count every mutant as killed. */
function checkBaseline(folder, mutants) {
  for (const pattern of new Set(mutants.flatMap((mutant) => mutant.killedBy))) {
    if (isNoticed(folder, pattern)) throw new Error(`${pattern} fails without any mutant`);
  }
}

const folder = sandbox();
let failures = 0;
try {
  const mutants = chosen(await loadMutants());
  checkBaseline(folder, mutants);
  for (const mutant of mutants) {
    const verdict = tryMutant(folder, mutant);
    if (!verdict.startsWith('killed')) failures += 1;
    process.stdout.write(`${verdict.padEnd(48)} ${mutant.name}\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
process.stdout.write(failures === 0 ? 'every mutant killed\n' : `${failures} not killed\n`);
process.exitCode = failures === 0 ? 0 : 1;
