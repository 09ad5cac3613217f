/**
 * The durability suites at full length, with a table at the end; exits 1 when anything failed.
 *
 *   npm run durability -- [power-loss] [damage] [--seeds 1000] [--first 1] [--places 20] [--load 600]
 *                         [--jobs 1] [--evidence]
 *
 * Without a name both run. `--load`: seconds of load before the damage. `--evidence` writes the tables
 * with commit and date into docs/evidence/durability.md.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { recordSection, tableOf } from '../support/evidence-sections.mjs';
import { buildTree, ROOT } from './support/build-tree.mjs';

const CHUNK = 20;
const SHOWN_FAILURES = 20;
const EVIDENCE = join(ROOT, 'docs/evidence/durability.md');
const PAGE = { title: 'Durability', about: 'Last printed tables of `npm run durability`.' };

/** A word in the place of a number would run nothing, and pass. */
function option(name, fallback) {
  const at = process.argv.indexOf(`--${name}`);
  const value = at < 0 ? fallback : Number(process.argv[at + 1]);
  if (!(value > 0)) throw new Error(`--${name} wants a number`);
  return value;
}

/** Runs one program of the built tree; answers its last line as JSON, or how it ended if that is no good. */
function runMain(out, main, args) {
  return new Promise((done) => {
    const script = join(out, 'test/durability', main);
    const child = spawn(process.execPath, ['--enable-source-maps', script, ...args]);
    let output = '';
    let errors = '';
    child.stdout.on('data', (bytes) => (output += bytes));
    child.stderr.on('data', (bytes) => (errors += bytes));
    child.on('close', (code, signal) => {
      try {
        const report = JSON.parse(output.trim().split('\n').at(-1) ?? '');
        if (code !== 0 && report.failures.length === 0) throw new Error('it says that all is well');
        done(report);
      } catch {
        const why = `ended with ${code ?? signal}: ${errors.slice(-2000)}`;
        done({ failures: [{ seed: args[0], why }] });
      }
    });
  });
}

function add(total, report) {
  for (const [name, value] of Object.entries(report)) {
    if (typeof value === 'number') total[name] = (total[name] ?? 0) + value;
  }
}

async function powerLoss(out) {
  const count = option('seeds', 1000);
  const first = option('first', 1);
  const seeds = Array.from({ length: count }, (_, i) => first + i);
  const chunks = [];
  while (seeds.length > 0) chunks.push(seeds.splice(0, CHUNK));
  const total = {};
  const startMs = performance.now();
  const failures = [];
  const worker = async () => {
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
      const report = await runMain(out, 'power-loss/main.js', [chunk.join(',')]);
      add(total, report);
      failures.push(...report.failures);
      for (const { seed, why } of report.failures) process.stderr.write(`${seed}: ${why}\n`);
      process.stderr.write(`seeds up to ${chunk.at(-1)}: ${failures.length} failed\n`);
    }
  };
  await Promise.all(Array.from({ length: option('jobs', 1) }, worker));
  const rows = [
    ['seeds', total.seeds],
    ['requests answered', total.answers],
    ['crashes', total.crashes],
    ['… with power loss', total.powerLosses],
    ['… while starting', total.crashesInStart],
    ['starts that replayed the log', total.replayed],
    ['starts that cut a torn tail of the log', total.cutTails],
    ['logs LevelDB began under load', total.newLogs],
    ['messages cut off by retention', total.trimmed],
    ['log segments unlinked for it', total.unlinked],
    ['log segments rewritten for it', total.rewritten],
    ['seeds failed', failures.length],
  ];
  const note = `${Math.round((performance.now() - startMs) / 1000)} s`;
  return { title: 'Power loss', note, table: tableOf(['what', 'number'], rows), failures };
}

async function damage(out) {
  const jobs = ['--jobs', String(option('jobs', 1))];
  const args = [String(option('load', 600)), String(option('places', 20)), ...jobs];
  const report = await runMain(out, 'damage/main.js', args);
  const rows = (report.rows ?? []).map((row) => Object.values(row));
  const head = ['variant', 'files of kind', 'damage', 'cases', 'refused', 'repaired', 'found'];
  const cases = (report.rows ?? []).reduce((sum, row) => sum + row.cases, 0);
  const note =
    `${report.answers} answers in ${report.loadSeconds} s, ${report.trimmed} messages cut off by ` +
    `retention, ${report.unlinked} log segments unlinked, ${report.rewritten} rewritten; then ${cases} ` +
    `cases in ${report.caseSeconds} s, ${report.failures.length} not acceptable`;
  return { title: 'Damage', note, table: tableOf(head, rows), failures: report.failures };
}

const suites = { 'power-loss': powerLoss, damage };
const named = Object.keys(suites).filter((name) => process.argv.includes(name));
const out = buildTree();
let failed = 0;
for (const name of named.length > 0 ? named : Object.keys(suites)) {
  const section = await suites[name](out);
  process.stdout.write(`\n${section.title}: ${section.note}\n\n${section.table}\n`);
  for (const { seed, file, damage: how, why } of section.failures.slice(0, SHOWN_FAILURES)) {
    process.stdout.write(`FAILED ${seed ?? `${file}, ${how}`}: ${String(why).slice(0, 600)}\n`);
  }
  failed += section.failures.length;
  const command = `npm run durability -- ${process.argv.slice(2).join(' ')}`;
  if (process.argv.includes('--evidence')) {
    const passed = section.failures.length === 0;
    recordSection(EVIDENCE, PAGE, { command, passed, ...section });
  }
}
process.exitCode = failed === 0 ? 0 : 1;
