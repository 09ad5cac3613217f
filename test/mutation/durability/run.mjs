/**
 * Runs the mutants of mutants.mjs: each patched source goes into a built copy, the suite named for it
 * runs until the first broken promise. Prints a table; exits 1 when a mutant survives that is not known
 * to be equivalent, or no longer fits.
 *
 *   node test/mutation/durability/run.mjs [--only <text>] [--part <i>/<n>] [--seeds 100] [--evidence]
 *                                         [--known]
 *
 * The seed that killed a mutant before comes first. `--known`: for the quick run of npm test, only mutants
 * that can be killed.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildTree, plant, ROOT } from '../../durability/support/build-tree.mjs';
import { durabilityMutants } from './mutants.mjs';

const KILLERS = join(dirname(fileURLToPath(import.meta.url)), 'killers.json');
const EVIDENCE = join(ROOT, 'docs/evidence/mutation-durability.md');
const TIMEOUT_MS = 400_000;
const DEFAULT_SEEDS = 100;
const LOG_SUITE = 'of the log alone';
const LOG_RUN = ['power-loss/log-main.js', '300'];

function option(name) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? undefined : process.argv[at + 1];
}

const has = (name) => process.argv.includes(`--${name}`);
const { equivalent, seeds: killers } = JSON.parse(readFileSync(KILLERS, 'utf8'));

/** Programs to run, cheapest first: the log's own suite for what no group reaches. */
function runsFor(mutant) {
  if (mutant.suite === 'damage') return [damageRun(mutant)];
  const known = killers[mutant.name];
  const count = mutant.seeds ?? Number(option('seeds') ?? DEFAULT_SEEDS);
  const first = typeof known === 'number' ? [known] : [];
  const others = Array.from({ length: count }, (_, i) => i + 1).filter((seed) => seed !== known);
  const whole = ['power-loss/main.js', [...first, ...others].join(','), '--bail'];
  if (mutant.file === undefined) return [whole];
  return known === LOG_SUITE ? [LOG_RUN] : [whole, LOG_RUN];
}

function damageRun({ room }) {
  return ['damage/main.js', '1', '3', '--quick', '--bail', ...(room ? ['--room', room] : [])];
}

/** What the suites said about the tree as it is. */
function verdictOf(out, mutant) {
  for (const [main, ...args] of runsFor(mutant)) {
    const script = join(out, 'test/durability', main);
    const options = { encoding: 'utf8', timeout: TIMEOUT_MS };
    const run = spawnSync(process.execPath, ['--enable-source-maps', script, ...args], options);
    if (run.status === 0) continue;
    const suite = main.split('/')[0];
    const line = run.stdout.trim().split('\n').at(-1) ?? '';
    if (!line.startsWith('{'))
      return { killed: true, suite, by: 'the process ended', why: run.stderr };
    const [failure] = JSON.parse(line).failures;
    const by = main === LOG_RUN[0] ? LOG_SUITE : (failure.seed ?? failure.file);
    return { killed: true, suite, by, why: failure.why };
  }
  return { killed: false };
}

function tryMutant(out, mutant) {
  if (mutant.patched === undefined) return { text: 'DOES NOT FIT', failed: true };
  const undo = plant(out, mutant.file, mutant.patched);
  try {
    const { killed, suite, by, why } = verdictOf(out, mutant);
    if (!killed) {
      const reason = equivalent[mutant.name];
      if (reason !== undefined) return { text: 'equivalent', why: reason, failed: false };
      return { text: 'SURVIVED', why: '', failed: true };
    }
    if (suite === 'power-loss') killers[mutant.name] = by;
    return { text: `killed by ${suite} ${by}`, why: firstLine(why), failed: false };
  } finally {
    undo();
  }
}

function firstLine(why = '') {
  const line = why.split('\n')[0] ?? '';
  return line.replace(/\/dev\/shm\/[\w-]+|\/tmp\/[\w-]+/g, '').slice(0, 160);
}

function canBeKilled({ name, suite, chance }) {
  return suite === 'damage' ? chance !== true : name in killers;
}

function chosen() {
  const only = option('only');
  const [part, parts] = (option('part') ?? '1/1').split('/').map(Number);
  return durabilityMutants()
    .filter((mutant) => only === undefined || mutant.name.includes(only))
    .filter((mutant) => !has('known') || canBeKilled(mutant))
    .filter((_, i) => i % parts === part - 1);
}

function writeEvidence(rows, summary) {
  const git = (...args) => spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout.trim();
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const head = `# Mutants of the durability suites\n\n\`npm run mutation -- --durability\`, commit ${git('rev-parse', '--short', 'HEAD')}, ${date} UTC: ${summary}\n`;
  const lines = rows.map((row) => `| ${row.join(' | ')} |`);
  const table = [
    '| mutant | verdict | what broke, or why it is equivalent |',
    '| --- | --- | --- |',
  ];
  mkdirSync(dirname(EVIDENCE), { recursive: true });
  writeFileSync(EVIDENCE, `${head}\n${[...table, ...lines].join('\n')}\n`);
}

const out = buildTree();
const mutants = chosen();
const rows = [];
let failures = 0;
// The quick run stands beside the suites themselves.
for (const suite of new Set(has('known') ? [] : mutants.map((mutant) => mutant.suite))) {
  const healthy = verdictOf(out, { name: '', suite, seeds: 12 });
  if (!healthy.killed) continue;
  process.stdout.write(`${suite} fails without any mutant: ${healthy.why}\n`);
  process.exit(2);
}
for (const mutant of mutants) {
  const { text, why, failed } = tryMutant(out, mutant);
  if (failed) failures += 1;
  rows.push([mutant.name, text, why ?? '']);
  process.stdout.write(`${text.padEnd(26)} ${mutant.name}  ${why ?? ''}\n`);
}
const summary = `${mutants.length} mutants, ${failures} not killed`;
process.stdout.write(`${summary}\n`);
if (!has('known') && existsSync(KILLERS)) {
  writeFileSync(KILLERS, `${JSON.stringify({ equivalent, seeds: killers }, null, 2)}\n`);
}
if (has('evidence')) writeEvidence(rows, summary);
process.exitCode = failures === 0 ? 0 : 1;
