/**
 * Runs the planted bugs of one list: for each, a copy of the sources with the patch is tested by the
 * specs named for it. Prints a table; exits 1 when a mutant survives or a patch no longer fits.
 *
 *   node test/mutation/run-specs.mjs <core|group|collector> [--only <text>] [--part <i>/<n>]
 *                                    [--with <jest pattern>] [--jobs 1] [--evidence]
 *
 * `--with test/sim/core` asks whether the simulator alone would notice.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { recordSection, tableOf } from '../support/evidence-sections.mjs';
import { loadMutants, ROOMS, ROOT } from './lists.mjs';
import { isNoticed, removeSandboxes, sandbox } from './spec-sandbox.mjs';

const EVIDENCE = join(ROOT, 'docs/evidence/mutation.md');
const PAGE = {
  title: 'Planted bugs',
  about:
    'Last printed tables of `npm run mutation -- --core`, `--group` and `--collector`: each bug, and the ' +
    'spec that fails when it is in. Those of the durability suites: [mutation-durability.md](mutation-durability.md).',
};
const room = process.argv[2];
const { title, copied, flags } = ROOMS[room];

async function verdictOf(folder, mutant) {
  if (mutant.patched === undefined) return 'does not fit';
  const path = join(folder, mutant.file);
  const original = readFileSync(path, 'utf8');
  writeFileSync(path, mutant.patched);
  try {
    for (const pattern of mutant.killedBy) {
      if (await isNoticed(folder, pattern, flags)) return `killed by ${pattern}`;
    }
    return 'SURVIVED';
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
async function checkBaseline(folder, mutants) {
  for (const pattern of new Set(mutants.flatMap((mutant) => mutant.killedBy))) {
    if (await isNoticed(folder, pattern, flags))
      throw new Error(`${pattern} fails without any mutant`);
  }
}

const mutants = chosen(await loadMutants(room));
if (mutants.length === 0) throw new Error('no mutant is named like that');
const folders = Array.from({ length: Number(option('--jobs') ?? 1) }, () => sandbox(copied));
const verdicts = new Map();
try {
  await checkBaseline(folders[0], mutants);
  const waiting = [...mutants];
  const worker = async (folder) => {
    for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
      const verdict = await verdictOf(folder, mutant);
      verdicts.set(mutant, verdict);
      process.stdout.write(`${verdict.padEnd(56)} ${mutant.name}\n`);
    }
  };
  await Promise.all(folders.map(worker));
} finally {
  removeSandboxes();
}
const failures = mutants.filter((mutant) => !verdicts.get(mutant).startsWith('killed')).length;
const summary = `${mutants.length} mutants, ${failures} not killed`;
process.stdout.write(`${summary}\n`);
if (process.argv.includes('--evidence')) {
  const command = `npm run mutation -- --${process.argv.slice(2).join(' ')}`;
  const table = tableOf(
    ['bug', 'verdict'],
    mutants.map((mutant) => [mutant.name, verdicts.get(mutant)]),
  );
  recordSection(EVIDENCE, PAGE, { title, command, note: summary, table, passed: failures === 0 });
}
process.exitCode = failures === 0 ? 0 : 1;
