/**
 * Runs the mutants of mutants.mjs: each patched source goes into a built copy, the suite named for it
 * runs until the first broken promise. Prints a table; exits 1 when a mutant survives that is not known
 * to be equivalent, or no longer fits.
 *
 *   node test/mutation/durability/run.mjs [--only <text>] [--part <i>/<n>] [--seeds 100] [--jobs 1]
 *                                         [--evidence] [--known]
 *
 * The seed that killed a mutant before comes first; what no seed can reach is killed by a spec named in
 * killers.json. `--known`: for the quick run of npm test, only mutants that a seed or a damage kills.
 */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildTree, plant, ROOT } from '../../durability/support/build-tree.mjs';
import { recordSection, tableOf } from '../../support/evidence-sections.mjs';
import { isNoticed, removeSandboxes, sandbox } from '../spec-sandbox.mjs';
import { durabilityMutants } from './mutants.mjs';

const KILLERS = join(dirname(fileURLToPath(import.meta.url)), 'killers.json');
const EVIDENCE = join(ROOT, 'docs/evidence/mutation-durability.md');
const PAGE = {
  title: 'Mutants of the durability suites',
  about:
    'Last printed table of `npm run mutation -- --durability`: every sync of log, store and wiring made a ' +
    'no-op, one at a time, and bugs written by hand.',
};
const TIMEOUT_MS = 400_000;
const DEFAULT_SEEDS = 100;
/** Enough to see that the reason given for an equivalent one is not plainly wrong. */
const EQUIVALENT_SEEDS = 12;
const LOG_SUITE = 'of the log alone';
const LOG_RUN = ['power-loss/log-main.js', '300'];
const SPEC_NEEDS = ['src', 'test/support'];

function option(name) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}

const has = (name) => process.argv.includes(`--${name}`);
const { equivalent, specs, seeds: killers } = JSON.parse(readFileSync(KILLERS, 'utf8'));

/** Programs to run, cheapest first: the log's own suite for what no group reaches. */
function runsFor(mutant) {
  if (mutant.suite === 'damage') return [damageRun(mutant)];
  const known = killers[mutant.name];
  const wanted =
    mutant.name in equivalent ? EQUIVALENT_SEEDS : Number(option('seeds') ?? DEFAULT_SEEDS);
  const count = mutant.seeds ?? wanted;
  const first = typeof known === 'number' ? [known] : [];
  const others = Array.from({ length: count }, (_, i) => i + 1).filter((seed) => seed !== known);
  const whole = ['power-loss/main.js', [...first, ...others].join(','), '--bail'];
  if (mutant.file === undefined) return [whole];
  if (known === LOG_SUITE) return [LOG_RUN];
  const isOfLog = known === undefined && mutant.file.startsWith('src/raft/wal/');
  return isOfLog ? [LOG_RUN, whole] : [whole, LOG_RUN];
}

function damageRun({ room }) {
  return ['damage/main.js', '1', '3', '--quick', '--bail', ...(room ? ['--room', room] : [])];
}

function runProgram(out, [main, ...args]) {
  const script = join(out, 'test/durability', main);
  return new Promise((done) => {
    const child = spawn(process.execPath, ['--enable-source-maps', script, ...args]);
    const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_MS);
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (bytes) => (stdout += bytes));
    child.stderr.on('data', (bytes) => (stderr += bytes));
    child.on('close', (status) => {
      clearTimeout(timer);
      done({ status, stdout, stderr });
    });
  });
}

/** What the suites said about the tree as it is. */
async function verdictOf(out, mutant) {
  for (const run of runsFor(mutant)) {
    const [main] = run;
    const { status, stdout, stderr } = await runProgram(out, run);
    if (status === 0) continue;
    const suite = main.split('/')[0];
    const line = stdout.trim().split('\n').at(-1) ?? '';
    if (!line.startsWith('{')) return { killed: true, suite, by: 'the process ended', why: stderr };
    const [failure] = JSON.parse(line).failures;
    const by = main === LOG_RUN[0] ? LOG_SUITE : (failure.seed ?? failure.file);
    return { killed: true, suite, by, why: failure.why };
  }
  return { killed: false };
}

async function tryMutant(out, mutant) {
  const { name } = mutant;
  if (mutant.patched === undefined) return { text: 'DOES NOT FIT', why: '', failed: true };
  if (specs[name] !== undefined) return trySpec(mutant, specs[name]);
  const undo = plant(out, mutant.file, mutant.patched);
  try {
    const { killed, suite, by, why } = await verdictOf(out, mutant);
    if (!killed && name in equivalent) {
      return { text: 'equivalent', why: equivalent[name], failed: false };
    }
    if (!killed) return { text: 'SURVIVED', why: '', failed: true };
    if (suite === 'power-loss') killers[name] = by;
    return { text: `killed by ${suite} ${by}`, why: firstLine(why), failed: false };
  } finally {
    undo();
  }
}

async function trySpec({ file, patched }, spec) {
  const folder = sandbox(SPEC_NEEDS);
  writeFileSync(join(folder, file), patched);
  const failed = !(await isNoticed(folder, spec));
  return { text: failed ? 'SURVIVED' : `killed by ${spec}`, why: '', failed };
}

function firstLine(why = '') {
  const line = why.split('\n')[0] ?? '';
  return line.replace(/\/dev\/shm\/[\w-]+|\/tmp\/[\w-]+/g, '').slice(0, 160);
}

function canBeKilled({ name, suite }) {
  return suite === 'damage' || name in killers;
}

function chosen() {
  const only = option('only');
  const [part, parts] = (option('part') ?? '1/1').split('/').map(Number);
  return durabilityMutants()
    .filter((mutant) => only === undefined || mutant.name.includes(only))
    .filter((mutant) => !has('known') || canBeKilled(mutant))
    .filter((_, i) => i % parts === part - 1);
}

const mutants = chosen();
if (mutants.length === 0) throw new Error('no mutant is named like that');
const trees = Array.from({ length: Number(option('jobs') ?? 1) }, buildTree);
const verdicts = new Map();
// The quick run stands beside the suites themselves.
for (const suite of new Set(has('known') ? [] : mutants.map((mutant) => mutant.suite))) {
  const healthy = await verdictOf(trees[0], { name: '', suite, seeds: 12 });
  if (!healthy.killed) continue;
  process.stdout.write(`${suite} fails without any mutant: ${healthy.why}\n`);
  process.exit(2);
}
const waiting = [...mutants];
const worker = async (out) => {
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
    const verdict = await tryMutant(out, mutant);
    verdicts.set(mutant, verdict);
    process.stdout.write(`${verdict.text.padEnd(26)} ${mutant.name}  ${verdict.why}\n`);
  }
};
await Promise.all(trees.map(worker));
removeSandboxes();
const failures = mutants.filter((mutant) => verdicts.get(mutant).failed).length;
const summary = `${mutants.length} mutants, ${failures} not killed`;
process.stdout.write(`${summary}\n`);
if (!has('known')) {
  writeFileSync(KILLERS, `${JSON.stringify({ equivalent, specs, seeds: killers }, null, 2)}\n`);
}
if (has('evidence')) {
  const rows = mutants.map((mutant) => {
    const { text, why } = verdicts.get(mutant);
    return [mutant.name, text, why].map((cell) => cell.replaceAll('|', '\\|'));
  });
  const table = tableOf(['mutant', 'verdict', 'what broke, or why it is equivalent'], rows);
  const command = `npm run mutation -- --durability ${process.argv.slice(2).join(' ')}`;
  recordSection(EVIDENCE, PAGE, {
    title: 'Verdicts',
    command,
    note: summary,
    table,
    passed: failures === 0,
  });
}
process.exitCode = failures === 0 ? 0 : 1;
