/**
 * The durability suites at full length, with a table at the end; exits 1 when anything failed.
 *
 *   npm run durability -- [power-loss] [damage] [--seeds 1000] [--first 1] [--places 20] [--load 600]
 *                         [--jobs 1] [--evidence]
 *
 * Without a name both run. `--load`: seconds of load before the damage. `--evidence` writes the tables
 * with commit and date into docs/evidence/durability.md.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildTree, ROOT } from './support/build-tree.mjs';

const CHUNK = 20;
const SHOWN_FAILURES = 20;
const EVIDENCE = join(ROOT, 'docs/evidence/durability.md');

function option(name, fallback) {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? fallback : Number(process.argv[at + 1]);
}

/** Runs one program of the built tree; answers its last line as JSON. */
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
        done(JSON.parse(output.trim().split('\n').at(-1) ?? ''));
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
  return { title: 'Power loss', table: tableOf(['what', 'number'], rows), failures };
}

async function damage(out) {
  const args = [String(option('load', 600)), String(option('places', 20))];
  const report = await runMain(out, 'damage/main.js', args);
  const rows = (report.rows ?? []).map((row) => Object.values(row));
  const head = ['variant', 'files of kind', 'damage', 'cases', 'refused', 'repaired', 'found'];
  return { title: 'Damage', table: tableOf(head, rows), failures: report.failures };
}

function tableOf(head, rows) {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function record(section) {
  const git = (...args) => spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout.trim();
  const commit = git('rev-parse', '--short', 'HEAD');
  const date = new Date().toISOString().slice(0, 16).replace('T', ' ');
  const command = `npm run durability -- ${process.argv.slice(2).join(' ')}`;
  const text = `## ${section.title}\n\n\`${command}\`, commit ${commit}, ${date} UTC\n\n${section.table}\n`;
  let file = '# Durability\n\nLast printed tables of `npm run durability`.\n';
  try {
    file = readFileSync(EVIDENCE, 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  const others = file
    .split(/\n(?=## )/)
    .filter((part) => !part.startsWith(`## ${section.title}\n`));
  mkdirSync(join(ROOT, 'docs/evidence'), { recursive: true });
  writeFileSync(EVIDENCE, [...others.map((part) => part.trimEnd()), text].join('\n\n'));
}

const suites = { 'power-loss': powerLoss, damage };
const named = Object.keys(suites).filter((name) => process.argv.includes(name));
const out = buildTree();
let failed = 0;
for (const name of named.length > 0 ? named : Object.keys(suites)) {
  const section = await suites[name](out);
  process.stdout.write(`\n${section.title}\n\n${section.table}\n`);
  for (const { seed, file, damage: how, why } of section.failures.slice(0, SHOWN_FAILURES)) {
    process.stdout.write(`FAILED ${seed ?? `${file}, ${how}`}: ${String(why).slice(0, 600)}\n`);
  }
  failed += section.failures.length;
  if (process.argv.includes('--evidence')) record(section);
}
process.exitCode = failed === 0 ? 0 : 1;
