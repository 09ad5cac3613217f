/**
 * `npm run crash -- --kills 50 --seed 7 [--evidence]`: the long form of sigkill.spec.ts. Exit 1 on a violation,
 * and when a run of full length did not do all that it is to do.
 * `--evidence` writes the table with commit and date into docs/evidence/crash.md.
 */
import { parseArgs } from 'node:util';
import { writeEvidence } from '../support/evidence.js';
import { CrashRun, outcomeText, outcomeTable, problemsOf } from './crash-run.js';

const ABOUT = `Last printed result of \`npm run crash\`. Six producers, three consumers in each of two groups, 60
partitions, and a queue with retention beside them: three producers, a consumer that files dead letters,
messages cut off after 2 s, log segments of 1 MiB that the collector unlinks and rewrites. The log is read
after every kill: acknowledged messages exactly once and in order, but for those old enough to be cut off,
cursors and leases as answered, transactionIds recognised, dead letters with their messages.

Planted bugs (\`--kills 6 --seed 3\`, in a copy of \`dist\`, at commit 934a85c): 2 % of the cursor rows never
reach the store: 5 violations. 2 % of the append index rows never reach the store: found at the first kill.
Pushes answered 40 ms before the log is written: the broker refuses its next start.`;

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    'load-ms': { type: 'string', default: '2500' },
    evidence: { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const seed = Number(values.seed);
say(`seed ${seed}`);
const outcome = await new CrashRun({
  ...{ kills: Number(values.kills), seed, maxLoadMs: Number(values['load-ms']), say, keep: true },
}).run();
say(outcomeText(outcome));
const problems = problemsOf(outcome);
for (const problem of problems) say(problem);
if (values.evidence) {
  writeEvidence({
    path: 'docs/evidence/crash.md',
    title: 'SIGKILL under load',
    about: ABOUT,
    command: `npm run crash -- ${process.argv.slice(2).join(' ')}`,
    table: outcomeTable(outcome),
    passed: problems.length === 0,
  });
}
if (outcome.ledger.violations.count > 0) say(`the data directory is kept: ${outcome.directory}`);
if (problems.length > 0) process.exitCode = 1;
